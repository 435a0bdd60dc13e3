//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
)

// deployed is a file of deploy/.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// service is the values of a key in a unit file.
func service(t *testing.T, file, key string) (values []string) {
	t.Helper()
	for line := range strings.Lines(deployed(t, file)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			values = append(values, strings.Fields(value)...)
		}
	}
	return values
}

// restarted says what systemd does, by a unit's own words, after such an end
// (see systemd.service(5), Restart=).
func restarted(t *testing.T, file string, end syscall.WaitStatus) bool {
	t.Helper()
	clean := end.Exited() && end.ExitStatus() == 0 ||
		end.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE}, end.Signal())
	never := end.Exited() && slices.Contains(service(t, file, "RestartPreventExitStatus"), strconv.Itoa(end.ExitStatus()))
	switch how := strings.Join(service(t, file, "Restart"), " "); how {
	case "on-failure":
		return !clean && !never
	case "always":
		return !never
	default:
		t.Fatalf("Restart=%s: this test does not know what that means", how)
		return false
	}
}

// noCores keeps a program that crashes from leaving a file, as the units do.
func noCores(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
}

// The real program ends in every way, and the unit that supervises it is asked
// what it makes of that.
func TestUnits_AFinishIsNoCrashAndACrashIs(t *testing.T) {
	t.Parallel()
	noCores(t)
	for file, begin := range map[string]func(l *lab) *labtest.Process{
		"ktrdr.service":        func(l *lab) *labtest.Process { p, _ := l.serve("--workers", "1"); return p },
		"ktrdr-worker.service": func(l *lab) *labtest.Process { l.serve("--workers", "0"); return l.worker() },
	} {
		for name, c := range map[string]struct {
			signal syscall.Signal
			want   bool
		}{
			"stopped by its supervisor": {syscall.SIGTERM, false},
			"stopped by hand":           {syscall.SIGINT, false},
			"killed":                    {syscall.SIGKILL, true},
			"crashed":                   {syscall.SIGQUIT, true}, // ends as a panic does
		} {
			t.Run(file+" "+name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, service(t, file, "Environment")...)
				p := begin(l)
				p.End(c.signal)
				end, ok := p.State().Sys().(syscall.WaitStatus)
				if got := ok && restarted(t, file, end); got != c.want {
					t.Errorf("ended with %v: restarted is %v, want %v", p.State(), got, c.want)
				}
			})
		}
	}
}

func TestUnits_WrongSettingsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{
		"ktrdr.service":        {"serve", "--addr", "nowhere"},
		"ktrdr-worker.service": {"worker", "--types", "nonsense"},
	} {
		a := newLab(t, service(t, file, "Environment")...).run(args...)
		if restarted(t, file, syscall.WaitStatus(a.code<<8)) {
			t.Errorf("%s: after %v it is started again, and will end so again", file, a)
		}
	}
}

func TestUnits_AreFineWithSystemd(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	for _, file := range []string{"ktrdr.service", "ktrdr-worker.service"} {
		copied := filepath.Join(t.TempDir(), file) // systemd looks whether the program is there
		text := strings.ReplaceAll(deployed(t, file), "/usr/local/bin/ktrdr", labtest.Binary(t))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", copied).CombinedOutput()
		if err != nil || strings.Contains(string(out), file) {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
