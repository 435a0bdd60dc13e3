package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

func TestStrategy_TheExaminationShowsPathsNetworksAndChanges(t *testing.T) {
	f := judged(evidence.Promising)
	if s := f.view(true, false); s.Examined != nil {
		t.Errorf("a strategy that was not examined shows %+v", s.Examined)
	}
	f.examined = &jobs.ExaminationResult{Examination: evidence.Examination{
		Summary: "Fragile: it lives on costs.",
		Reasons: []evidence.Reason{{Text: "the walk-forward earns", Passed: true}, {Text: "3 of 9 changes earn"}},
		Bars:    12_626, Splits: 15, Ensemble: 5,
		Paths:  []evidence.Path{{Sharpe: new(2.07), Trades: 210}, {}},
		Pooled: &evidence.Path{Sharpe: new(2.13), SharpeZ: new(3.03), AlphaZ: new(2.9)},
		Seeds:  []*float64{new(2.09), nil, new(1.84), new(2.31)}, WalkForward: &evidence.Path{Sharpe: new(2.24), Trades: 1215},
		Perturbed: []evidence.Perturbation{
			{Name: "costs x2", Sharpe: new(-0.83), Kept: new(-0.371), Trades: 215},
			{Name: "distance.period 48 -> 36", Undefined: "too few bars"},
		},
	}}
	s := f.view(true, false)
	x := s.Examined
	if len(x.Checks) != 2 || x.Checks[0].Mark != "p" || x.Checks[1].Mark != "f" {
		t.Errorf("checks %+v", x.Checks)
	}
	want := []outOfSample{
		{"Path 1", "2.07", "210 trades"},
		{"Path 2", missing, "0 trades"},
		{"All paths", "2.13", "z 3.03, z of the alpha 2.90"},
		{"Each network alone", "1.84 to 2.31", "the same design with 4 seeds"},
		{"Walk-forward", "2.24", "1,215 trades"},
	}
	for i, w := range want {
		if i >= len(x.Paths) || x.Paths[i] != w {
			t.Fatalf("paths %+v, want %+v", x.Paths, want)
		}
	}
	if c := x.Changes; len(c) != 2 || c[0].Name != "costs x2" || c[0].Sharpe != "−0.83" || c[0].Kept != "−37.1 %" ||
		!strings.Contains(string(c[0].Margin), "mg f") {
		t.Errorf("changes %+v", c)
	}
	if c := x.Changes[1]; c.Name != "distance.period 48 → 36" || c.Sharpe != missing || c.Trades != missing || c.Margin != "" ||
		c.Why != "not made: too few bars" {
		t.Errorf("a change that was not made: %+v", c)
	}
	if !strings.Contains(x.Members, "12,626 bars") || !strings.Contains(x.Members, "15 splits") {
		t.Errorf("members %q", x.Members)
	}
	if !slices.ContainsFunc(s.Sections, func(l link) bool { return l.Text == "Examination" }) {
		t.Error("no link to the examination")
	}
}
