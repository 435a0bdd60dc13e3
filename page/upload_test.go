package page

import (
	"testing"

	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

func TestDryRun_SaysWhatAnAppendChanges(t *testing.T) {
	var d dryRun
	d.told(&jobs.LoadResult{DryRun: true, Merged: &market.Merged{Added: 30, AddedInHoldout: 12, Changed: 201, InHoldout: 40}})
	for _, f := range d.Facts {
		if f.Name == "Compared" {
			if want := "30 new bars (12 after the holdout begins), 201 change, 40 of them in the holdout"; f.Value != want {
				t.Errorf("it says %q, want %q", f.Value, want)
			}
			return
		}
	}
	t.Errorf("nothing tells what would change: %+v", d.Facts)
}
