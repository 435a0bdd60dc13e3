package cli

import (
	"bufio"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
)

func TestDemo_WhoseReaderLeavesLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l, temp := newLab(t), t.TempDir()
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	demo := l.call("demo", "--researches", "1")
	demo.Stdout = written
	demo.Env = slices.DeleteFunc(demo.Env, func(v string) bool { return v == "KTRDR_DATA="+l.data }) // a folder to be kept
	demo.Env = labtest.WithEnv(demo.Env, "TMPDIR="+temp)
	p := labtest.Start(t, demo)
	_ = written.Close()
	if line, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Errorf("the demo said %q: %v", line, err)
	}
	_ = read.Close()
	if code := p.Exit(time.Minute); code != exitUnread {
		t.Errorf("the demo ended with exit code %d, want %d", code, exitUnread)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v; want nothing", left, err)
	}
}
