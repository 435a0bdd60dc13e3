package bench_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/client"
)

// build builds the product.
func build(b *testing.B) (bin string) {
	b.Helper()
	bin = filepath.Join(b.TempDir(), "ktrdr")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", bin, "../cmd/ktrdr").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// installation is a data folder and the processes on it.
type installation struct {
	b      *testing.B
	bin    string
	dir    string
	env    []string
	addr   string
	pid    int // of the backend
	client *client.Client
	ends   []func()
}

// install makes a data folder.
func install(b *testing.B, bin string) *installation {
	b.Helper()
	in := &installation{b: b, bin: bin, dir: b.TempDir()}
	var lc net.ListenConfig
	ln, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	in.addr = ln.Addr().String()
	_ = ln.Close()
	in.env = append(os.Environ(), "KTRDR_AUTH=none", "KTRDR_DATA="+filepath.Join(in.dir, "data"), "KTRDR_URL=http://"+in.addr)
	return in
}

// run runs a command to its end.
func (in *installation) run(args ...string) {
	in.b.Helper()
	cmd := exec.CommandContext(in.b.Context(), in.bin, args...)
	cmd.Env = in.env
	if out, err := cmd.CombinedOutput(); err != nil {
		in.b.Fatalf("ktrdr %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// begin starts a process that lives until stop.
func (in *installation) begin(args ...string) (pid int) {
	in.b.Helper()
	cmd := exec.CommandContext(in.b.Context(), in.bin, args...)
	cmd.Env = in.env
	if err := cmd.Start(); err != nil {
		in.b.Fatal(err)
	}
	in.ends = append(in.ends, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// serve starts the backend and waits until it is healthy.
func (in *installation) serve(args ...string) {
	in.b.Helper()
	in.pid = in.begin(append([]string{"serve", "--addr", in.addr}, args...)...)
	var err error
	if in.client, err = client.New("http://"+in.addr, "", client.Options{}); err != nil {
		in.b.Fatal(err)
	}
	in.ends = append(in.ends, in.client.Close)
	for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		if _, err := in.client.Health(in.b.Context()); err == nil {
			return
		}
		if time.Now().After(deadline) {
			in.b.Fatal("the backend did not become healthy")
		}
	}
}

// get asks the backend and throws the answer away.
func (in *installation) get(path string) {
	in.b.Helper()
	req, err := http.NewRequestWithContext(in.b.Context(), http.MethodGet, "http://"+in.addr+path, nil)
	if err != nil {
		in.b.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		in.b.Fatalf("%s: %s %v", path, res.Status, err)
	}
}

// stop kills all processes.
func (in *installation) stop() {
	for _, end := range in.ends {
		end()
	}
	in.ends = nil
}

// memory returns the backend's anonymous memory in kB.
func (in *installation) memory() int {
	in.b.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", in.pid))
	if err != nil {
		in.b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "Anonymous:"); ok {
			var kb int
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				in.b.Fatal(err)
			}
			return kb
		}
	}
	in.b.Fatal("no Anonymous line in smaps_rollup")
	return 0
}
