package doctor

import (
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestDoctor_EveryProblemOfTheServerSaysWhatToDo(t *testing.T) {
	d := &doctor{}
	d.server(ktrdr.Health{Status: "degraded", Problems: []string{
		"only 3 MB of disk are free, and new work is refused below 1024 MB; free some space",
		"something without advice",
	}})
	want := []CheckResult{
		{Check: "server", Detail: "only 3 MB of disk are free, and new work is refused below 1024 MB", Fix: "free some space"},
		{Check: "server", Detail: "something without advice", Fix: "look into the backend's log"},
	}
	for i, f := range want {
		if d.findings[i] != f {
			t.Errorf("finding %+v, want %+v", d.findings[i], f)
		}
	}
}

func TestDoctor_OnlyOperationsGoBackToAnEarlierCheckpoint(t *testing.T) {
	const op = "op_dummy_20260101_000000_abcdef01"
	for _, c := range []struct {
		owners []string
		want   string
	}{
		{[]string{op}, "restore the file from a backup; without it a resume uses the checkpoint before"},
		{[]string{"chat 1"}, "restore the file from a backup; without it the thread's checkpoints that hold it cannot be read"},
		{[]string{""}, "restore the file from a backup"},
	} {
		if got := withoutBlob(c.owners); got != c.want {
			t.Errorf("%q: %q, want %q", c.owners, got, c.want)
		}
	}
}
