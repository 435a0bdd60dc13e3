//go:build unix

package compute

import (
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ktrdr/ktrdr/jobs"
)

// TestDesk_DoesNotWaitForAPipe would hang where it does.
func TestDesk_DoesNotWaitForAPipe(t *testing.T) {
	o := newOffice(t, 500, "EURUSD")
	o.file("strategies/mine.yaml", small())
	if err := unix.Mkfifo(filepath.Join(o.dir, "strategies", "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := o.desk.Training(t.Context(), jobs.TrainingRequest{StrategyName: "pipe"})
	o.refused(t, err, "is not a regular file")
	list, err := o.desk.Strategies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(list, func(s jobs.Strategy) bool { return s.Name == "pipe" }); i < 0 || len(list[i].Problems) != 1 {
		t.Errorf("the list does not say what is wrong with the pipe: %+v", list)
	}
}
