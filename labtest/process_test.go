package labtest_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
)

func shell(script string) labtest.Program {
	return labtest.Program{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func TestRun_KeepsAllThatIsPrinted(t *testing.T) {
	t.Parallel()
	a := labtest.Run(t, shell(`i=0
		while [ $i -lt 6000 ]; do echo 0123456789012345678901234567890123456789012345678901234567890123; i=$((i+1)); done
		echo wrong >&2; exit 7`))
	if len(a.Out) != 6000*65 || a.Err != "wrong\n" || a.Code != 7 {
		t.Errorf("%d bytes, %q, exit %d; want %d bytes, the error and exit 7", len(a.Out), a.Err, a.Code, 6000*65)
	}
}

func TestProcess_IsReadyWithItsFirstJSON(t *testing.T) {
	t.Parallel()
	p := labtest.Start(t, shell(`echo log >&2; echo '{"url":'; echo '"here"}'; exec sleep 600`))
	var ready struct{ URL string }
	p.Ready(&ready)
	if ready.URL != "here" || p.Err() != "log\n" || !strings.Contains(p.Log(), "log") || !p.Alive() {
		t.Errorf("ready %+v, log %q, alive %v", ready, p.Log(), p.Alive())
	}
	if code := p.End(syscall.SIGTERM); code != -1 {
		t.Errorf("exit code %d after a signal, want -1", code)
	}
}

func TestStart_EndsTheProcessWithItsTest(t *testing.T) {
	t.Parallel()
	var p *labtest.Process
	t.Run("starts", func(t *testing.T) {
		p = labtest.Start(t, shell("exec sleep 600"))
		p.Stop() // also one that is stopped
	})
	if p.Alive() {
		t.Errorf("process %d outlives the test that started it", p.PID())
	}
}

// A test that is killed runs no cleanup: the kernel ends its processes.
func TestStart_EndsTheProcessOfAKilledTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the processes of a killed test")
	}
	if note := os.Getenv("LABTEST_KILLED"); note != "" {
		p := labtest.Start(t, shell("exec sleep 600"))
		if err := os.WriteFile(note, []byte(strconv.Itoa(p.PID())), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	t.Parallel()
	note := t.TempDir() + "/note"
	labtest.Run(t, labtest.Program{
		Path: os.Args[0], Args: []string{"-test.run", "^" + t.Name() + "$"},
		Env: append(os.Environ(), "LABTEST_KILLED="+note),
	})
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	labtest.Eventually(t, 10*time.Second, "the end of the process", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestAddress_IsGivenOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 200 {
		addr := labtest.Address(t)
		if seen[addr] {
			t.Fatalf("%s was given twice", addr)
		}
		seen[addr] = true
	}
}
