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

// day is an instant so many days after another.
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

// opens lets the assessment look at the holdout.
func opens(v any) {
	if a, ok := v.(*Assessment); ok {
		a.HoldoutOpened = true
	}
}

func TestMemory_CountsWhoOpenedTheSameBars(t *testing.T) {
	spec, symbol := spanned(t)
	m := NewMemory(shelf(whole(t, spec, opens).notes))
	for name, c := range map[string]struct {
		at      Place
		holdout []Span
		want    int
	}{
		"the next generation":               {Place{"run_a", 2, 0}, spec.Sealed, 1},
		"its own generation":                {Place{"run_a", 1, 5}, spec.Sealed, 1}, // one at least, after a first
		"the first generation":              {Place{"run_a", 0, 0}, spec.Sealed, 0},
		"more bars have come since":         {Place{"run_a", 2, 0}, []Span{span(symbol, 110, 130, 99)}, 1},
		"the very bars under another name":  {Place{"run_a", 2, 0}, []Span{span("OTHER", 100, 120, 20)}, 1},
		"another symbol at the same time":   {Place{"run_a", 2, 0}, []Span{span("OTHER", 100, 120, 99)}, 1},
		"bars that come after those opened": {Place{"run_a", 2, 0}, []Span{span(symbol, 120, 140, 99)}, 1},
	} {
		if got, err := m.Openings(t.Context(), c.at, c.holdout); err != nil || got != c.want {
			t.Errorf("%s: %d openings, %v, want %d", name, got, err, c.want)
		}
	}
	again := spec
	again.Index = 3
	notes := whole(t, spec, opens).notes
	maps.Copy(notes, whole(t, again, opens).notes)
	for key, n := range whole(t, spec, nil).notes { // this one kept it sealed
		notes["sealed "+key] = n
	}
	m = NewMemory(shelf(notes))
	if got, err := m.Openings(t.Context(), Place{"run_a", 2, 0}, spec.Sealed); err != nil || got != 2 {
		t.Errorf("%d openings, %v, want those of both researches", got, err)
	}
	if got, err := m.Openings(t.Context(), Place{"run_a", 2, 0}, []Span{span(symbol, 120, 140, 99)}); err != nil || got != 1 {
		t.Errorf("%d openings of bars that nobody saw, %v, want the one that a first generation counts as", got, err)
	}
}

func TestMemory_TellsNothingOfExperimentsThatSawTheHoldout(t *testing.T) {
	spec, symbol := spanned(t)
	m := NewMemory(shelf(whole(t, spec, nil).notes))
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
			t.Errorf("%s: %d experiments and %d hypotheses, %v, want %d experiments, and no word of others", name, len(past.Experiments), len(past.Hypotheses), err, c.want)
		}
	}
}

func TestMemory_HypothesesAreOpenUntilSomebodyTestsThem(t *testing.T) {
	spec := someSpec(t)
	notes := whole(t, spec, nil).notes
	past, err := NewMemory(shelf(notes)).Recall(t.Context(), View{Run: "run_a", Generation: 2})
	if err != nil || len(past.Hypotheses) != 1 || past.Hypotheses[0].Text != "try again" || !slices.Equal(past.Experiments[0].Open, []string{"costs"}) {
		t.Fatalf("%+v, %v, want the hypothesis of the assessment, and not the one that was tested", past, err)
	}
	spec.Generation = 2
	maps.Copy(notes, whole(t, spec, func(v any) {
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

func TestNotes_CancelledTrainingsAndBacktestsAreTrials(t *testing.T) {
	for typ, want := range map[ktrdr.Type]int{ktrdr.AgentDesign: 0, ktrdr.Training: 1, ktrdr.Backtesting: 1, ktrdr.AgentAssessment: 1} {
		tr := reach(t, someSpec(t), typ)
		tr.die(ktrdr.Cancelled, ktrdr.CodeCancelled, "enough")
		tr.ask(ktrdr.WhyChild)
		if got := tr.kinds()[NoteTrial]; got != want || tr.parent.Status != ktrdr.Cancelled {
			t.Errorf("cancelled in %s: %d trials noted, want %d", typ, got, want)
		}
	}
}

func TestResult_ShowsWhatWasCounted(t *testing.T) {
	sharpe, sealed, deflated, luck := 1.25, 0.75, 0.6, 0.015
	tr := whole(t, someSpec(t), func(v any) {
		if a, ok := v.(*Assessment); ok {
			a.Figures = &evidence.Figures{Trials: 20, Openings: 9, Deflated: &deflated, Luck: &luck, Holdout: &evidence.Comparison{}}
			a.Figures.Test.Sharpe.Annualized, a.Figures.Holdout.Sharpe.PerBar = &sharpe, &sealed
		}
	})
	f := tr.result().Figures
	if f == nil || *f.TestSharpe != sharpe || *f.HoldoutSharpe != sealed || *f.Deflated != deflated || *f.Luck != luck || f.Trials != 20 || f.Openings != 9 {
		t.Errorf("%+v", f)
	}
	if f := whole(t, someSpec(t), nil).result().Figures; f.HoldoutSharpe != nil || f.Luck != nil {
		t.Errorf("a sealed holdout shows %+v", f)
	}
}
