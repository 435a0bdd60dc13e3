package cli

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"testing"
)

func TestDemo_WhoseReaderLeavesLeavesNothingBehind(t *testing.T) {
	l, temp := newLab(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, "demo", "--researches", "1")
	for _, v := range l.env {
		if v != "KTRDR_DATA="+l.data { // which would be a folder to be kept
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the demo said %q: %v", line, err)
	}
	_ = out.Close()
	err = cmd.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() != exitUnread {
		t.Errorf("the demo ended with %v, want exit code %d", err, exitUnread)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v; want nothing", left, err)
	}
}
