package engine_test

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestOperation_SaysHowManyWorkersCannotRunIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	for _, step := range []struct {
		worker ktrdr.WorkerID
		says   string
	}{
		{"", "(no worker of any type is live)"},
		{"one", "(the one live worker cannot run it)"},
		{"two", "(none of the 2 live workers can run it)"},
	} {
		if step.worker != "" {
			other := ktrdr.Worker{ID: step.worker, Types: []ktrdr.Type{ktrdr.Training}, Slots: 1}
			if _, err := l.Register(t.Context(), ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: other}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := l.Operation(t.Context(), op.ID); err != nil || !strings.Contains(got.Unschedulable, step.says) {
			t.Errorf("it says %q, %v; want %q", got.Unschedulable, err, step.says)
		}
	}
}

func TestClaim_SaysWhichNumberIsWrong(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for says, free := range map[string]int{"free is the number of free slots, 0 or more, not -1": -1, "names the types": 1} {
		_, err := l.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Free: free})
		if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("free %d: %v, want CodeInvalid that says %q", free, err, says)
		}
	}
}
