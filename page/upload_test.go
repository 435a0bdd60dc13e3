package page

import (
	"testing"

	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

func TestDryRun_SaysWhatAnAppendChanges(t *testing.T) {
	var d dryRun
	d.told(&jobs.LoadResult{DryRun: true, Merged: &market.Merged{Changed: 201, InHoldout: 40}})
	for _, f := range d.Facts {
		if f.Name == "Compared" {
			if want := "0 new bars, 201 change, 40 of them in the holdout"; f.Value != want {
				t.Errorf("it says %q, want %q", f.Value, want)
			}
			return
		}
	}
	t.Errorf("nothing tells what would change: %+v", d.Facts)
}
