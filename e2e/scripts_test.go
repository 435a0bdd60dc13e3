package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// The scripts hold the curl lines that the product's users wrote first, without
// a token. They are for people; here they are run as people run them.
func TestScripts_Pass(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is missing: install it to run the scripts", tool)
		}
	}
	t.Parallel()
	for _, script := range []string{"error-isolation.sh", "orphan-detection.sh", "backend-local.sh"} {
		for _, kind := range []labtest.StoreKind{labtest.SQLite, labtest.Postgres} {
			t.Run(script+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), "bash", script)
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "KTRDR=" + labtest.Binary(t)}
				if kind == labtest.Postgres {
					cmd.Env = append(cmd.Env, "KTRDR_DB="+pgtest.URL(t))
				}
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that all it started ends with it
				cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "=== PASSED ===\n") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
