package labtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Times are the engine's times in a lab. The zero value means the product's
// defaults, which are longer than most tests.
type Times struct {
	Timeout, Interval, Heartbeat time.Duration
}

// Quick is for tests in which workers die. Calm is for tests in which no worker
// may be declared dead because the machine is busy.
var (
	Quick = Times{Timeout: 1500 * time.Millisecond, Interval: 500 * time.Millisecond, Heartbeat: 250 * time.Millisecond}
	Calm  = Times{Timeout: 10 * time.Second, Interval: 500 * time.Millisecond, Heartbeat: 250 * time.Millisecond}
)

// Environment is the environment of processes that use a data folder. It holds
// no setting of the person who runs the tests. Later entries win.
func Environment(t testing.TB, data string, times Times, more ...string) []string {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "KTRDR_DATA=" + data}
	if times != (Times{}) {
		env = append(env,
			fmt.Sprintf("ORPHAN_TIMEOUT_SECONDS=%g", times.Timeout.Seconds()),
			fmt.Sprintf("ORPHAN_CHECK_INTERVAL_SECONDS=%g", times.Interval.Seconds()),
			fmt.Sprintf("HEARTBEAT_INTERVAL_SECONDS=%g", times.Heartbeat.Seconds()))
	}
	return WithEnv(env, more...)
}

// WithEnv returns a copy of an environment with some variables replaced.
func WithEnv(env []string, more ...string) []string {
	out := slices.Clone(env)
	for _, kv := range more {
		key, _, _ := strings.Cut(kv, "=")
		out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, key+"=") })
		out = append(out, kv)
	}
	return out
}

// Ports below those that systems give out by themselves: a lab's port stays its
// own while its backend is dead.
const firstPort, ports = 20_000, 12_000

// Address returns an address that no other lab gets while the test runs, also in
// other processes: its port is taken for UDP, which no backend uses.
func Address(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(ports))) //nolint:gosec // any port is as good
		taken, err := lc.ListenPacket(t.Context(), "udp", addr)
		if err != nil {
			continue
		}
		ln, err := lc.Listen(t.Context(), "tcp", addr)
		if err != nil {
			_ = taken.Close()
			continue
		}
		_ = ln.Close()
		t.Cleanup(func() { _ = taken.Close() })
		return addr
	}
	t.Fatalf("100 ports from %d to %d are taken", firstPort, firstPort+ports)
	return ""
}
