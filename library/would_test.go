package library

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// imports imports bars. What was said before it, and stored nothing, must be what it does.
func (o *lab) imports(im Import) Imported {
	o.t.Helper()
	blobs := len(o.blobs)
	list, _ := o.store.Series(o.t.Context())
	would, err := o.library.WouldImport(o.t.Context(), im)
	if err != nil {
		o.t.Fatal(err)
	}
	if again, _ := o.store.Series(o.t.Context()); len(again) != len(list) || len(o.blobs) != blobs {
		o.t.Errorf("trying an import stored %d series and %d blobs", len(again)-len(list), len(o.blobs)-blobs)
	}
	done, err := o.library.Import(o.t.Context(), im)
	if err != nil {
		o.t.Fatal(err)
	}
	if diff := cmp.Diff(would.Findings, done.Entry.Findings, cmpopts.EquateEmpty()); diff != "" {
		o.t.Errorf("findings before (-) and of the import (+):\n%s", diff)
	}
	if !reflect.DeepEqual(would.Merged, done.Merged) || would.Question != done.Question || would.Same != done.Same {
		o.t.Errorf("before it was said %+v, and the import says %+v", would, done)
	}
	return done
}

// A series that exists is not replaced unasked. Its file is judged all the same.
func TestWouldImport_SaysWhatIsThere(t *testing.T) {
	o := newLab(t)
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4})
	o.imports(Import{Bars: b, Origin: ktrdr.BarsFromFile})
	if w, err := o.library.WouldImport(t.Context(), Import{Bars: b}); err != nil || !w.Same || w.Refused != "" {
		t.Errorf("the same bars: %+v, %v", w, err)
	}
	bad := Import{Bars: scaled(b, 10, 900, 2000)}
	if w, err := o.library.WouldImport(t.Context(), bad); err != nil || w.Was == nil || w.Refused != bad.Mode.Exists(*w.Was).Error() ||
		!slices.Equal(rules(w.Findings), []string{"severe unit-jump"}) {
		t.Errorf("other bars: %+v, %v", w, err)
	}
}
