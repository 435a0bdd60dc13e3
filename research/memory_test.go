package research

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
)

// day is n days after the first of January.
func day(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

func span(symbol string, from, to int, h byte) Span {
	return Span{symbol, market.H1, day(from), day(to), mark(h)}
}

// spanned is a spec whose bars have a time: a hundred days, and twenty sealed.
func spanned(t *testing.T) (Spec, string) {
	spec := someSpec(t)
	symbol := spec.Bars[0].Symbol
	spec.Searched, spec.Sealed = []Span{span(symbol, 0, 100, 10)}, []Span{span(symbol, 100, 120, 20)}
	return spec, symbol
}

func TestMemory_TellsNothingOfExperimentsThatSawTheHoldout(t *testing.T) {
	spec, symbol := spanned(t)
	m := NewMemory(shelf(assessed(t, spec, nil).notes))
	for name, c := range map[string]struct {
		view View
		want int
	}{
		"cut where it was cut before":  {View{Run: "b", Horizon: "z", Symbols: []string{symbol}, Sealed: day(100)}, 1},
		"cut later":                    {View{Run: "b", Horizon: "z", Symbols: []string{symbol}, Sealed: day(110)}, 1},
		"cut within what was searched": {View{Run: "b", Horizon: "z", Symbols: []string{symbol}, Sealed: day(99)}, 0},
		"of another symbol":            {View{Run: "b", Horizon: "z", Symbols: []string{"OTHER"}, Sealed: day(99)}, 1},
		"its own run":                  {View{Run: "run_a", Generation: 2, Symbols: []string{symbol}, Sealed: day(99)}, 1},
	} {
		past, err := m.Recall(t.Context(), c.view)
		if err != nil || len(past.Experiments) != c.want || (len(past.Hypotheses) > 0) != (c.want > 0) {
			t.Errorf("%s: %d experiments and %d hypotheses, %v, want %d experiments, and no word of others", name, len(past.Experiments),
				len(past.Hypotheses), err, c.want)
		}
	}
}

func TestMemory_HypothesesAreOpenUntilTested(t *testing.T) {
	spec := someSpec(t)
	notes := assessed(t, spec, nil).notes
	past, err := NewMemory(shelf(notes)).Recall(t.Context(), View{Run: "run_a", Generation: 2})
	if err != nil || len(past.Hypotheses) != 1 || past.Hypotheses[0].Text != "try again" ||
		!slices.Equal(past.Experiments[0].Open, []string{"costs"}) {
		t.Fatalf("%+v, %v, want the hypothesis of the assessment, and not the one that was tested", past, err)
	}
	spec.Generation = 2
	maps.Copy(notes, assessed(t, spec, func(v any) {
		if d, ok := v.(*Design); ok {
			d.Tests = &past.Hypotheses[0]
		}
	}).notes)
	later, err := NewMemory(shelf(notes)).Recall(t.Context(), View{Run: "run_a", Generation: 3})
	if err != nil || len(later.Hypotheses) != 1 || later.Hypotheses[0].Source != "run_a/2/2" || len(later.Experiments[0].Open) != 0 {
		t.Errorf("%+v, %v, want only the new one to be open", later, err)
	}
	same, err := NewMemory(shelf(notes)).Recall(t.Context(), View{Run: "run_a", Generation: 2})
	if err != nil || len(same.Hypotheses) != 1 || same.Hypotheses[0].Source != "run_a/1/2" {
		t.Errorf("asked again: %+v, %v, want what it was told before", same, err)
	}
	var h HypothesisNote
	err = json.Unmarshal(notes[NoteHypothesis+" run_a/2/2/tests"].Data, &h)
	if err != nil || h.ID != past.Hypotheses[0].ID || h.TestedBy != "run_a/2/2" || h.Status != Inconclusive || h.Source != "run_a/1/2" {
		t.Errorf("%+v, %v, want it to be known who tested it", h, err)
	}
}

func TestResult_ShowsWhatWasCounted(t *testing.T) {
	perBar, sharpe, deflated, sharpeZ, alphaZ, alpha := 0.0125, 1.25, 0.6, 3.0, 2.0, 0.0001
	tr := assessed(t, someSpec(t), func(v any) {
		if a, ok := v.(*Assessment); ok {
			a.Finalist, a.Figures = true, &evidence.Figures{Trials: 20, Deflated: &deflated, SharpeZ: &sharpeZ, AlphaZ: &alphaZ}
			a.Figures.Test.Sharpe.Annualized, a.Figures.Test.Sharpe.PerBar, a.Figures.Test.Alpha = &sharpe, &perBar, &alpha
		}
	})
	f := tr.result().Figures
	if f == nil || *f.TestSharpe != sharpe || *f.Deflated != deflated || *f.SharpeZ != sharpeZ || *f.AlphaZ != alphaZ || f.Trials != 20 {
		t.Fatalf("%+v", f)
	}
	if perYear := *f.Alpha; perYear < 0.99 || perYear > 1.01 { // 10,000 bars make a year
		t.Errorf("alpha %v a year, want 1", perYear)
	}
	if tr.parent.Rung != ktrdr.RungFinalist || tr.parent.Score == nil || *tr.parent.Score != alphaZ {
		t.Errorf("rung %q, score %v, want a finalist scored by the weaker z", tr.parent.Rung, tr.parent.Score)
	}
	if other := assessed(t, someSpec(t), nil); other.parent.Rung != RungNothing || other.parent.Score != nil {
		t.Errorf("rung %q, score %v without figures", other.parent.Rung, other.parent.Score)
	}
}
