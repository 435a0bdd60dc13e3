package evidence

import (
	"slices"
	"strings"
	"testing"
)

// perturbed is an examination with a walk-forward and what changes leave of it.
func perturbed(walk float64, list ...Perturbation) *Examination {
	for i := range list {
		if p := &list[i]; p.Kept != nil {
			p.Sharpe = new(*p.Kept * walk)
		}
	}
	return &Examination{WalkForward: &Path{Sharpe: &walk}, Perturbed: list}
}

func kept(kind PerturbationKind, setting string, share float64) Perturbation {
	return Perturbation{Kind: kind, Name: setting + " changed", Setting: setting, Kept: &share}
}

func TestExamination_SaysWhatAFragileFinalistLivesOn(t *testing.T) {
	well := []Perturbation{
		kept(PerturbCosts, "costs", 0.9), kept(PerturbCosts, "costs", 0.8), kept(PerturbLate, "next open", 0.9),
		kept(PerturbNoise, "no noise", 0.9), kept(PerturbNoise, "no noise", 0.9), kept(PerturbNoise, "no noise", 0.9),
	}
	for name, c := range map[string]struct {
		walk float64
		more []Perturbation
		says string // "" if it is robust
		on   []string
	}{
		"everything keeps": {2, []Perturbation{kept(PerturbParameter, "a 8", 0.9), kept(PerturbParameter, "a 8", 1.2)}, "", nil},
		"one of several parameters loses": {
			2, []Perturbation{kept(PerturbParameter, "a 8", 0.9), kept(PerturbParameter, "b 9", -1), kept(PerturbParameter, "b 9", 0.9)}, "", nil,
		},
		"both parameters lose": {
			2,
			[]Perturbation{
				kept(PerturbParameter, "a 8", 0.3), kept(PerturbParameter, "a 8", 0.9), kept(PerturbParameter, "b 9", -1),
				kept(PerturbParameter, "b 9", 0.1),
			},
			"the median change of a parameter keeps 0.2",
			[]string{"b 9", "a 8"},
		},
		"the decision loses": {
			2,
			[]Perturbation{kept(PerturbDecision, "threshold", 0.3), kept(PerturbDecision, "threshold", 0.1)},
			"the median change of the decision keeps 0.2",
			[]string{"threshold"},
		},
		"too many lose": {
			2,
			[]Perturbation{kept(PerturbNoise, "luck", -0.1), kept(PerturbNoise, "luck", -0.3), kept(PerturbLate, "delay", -0.2)},
			"6 of 9 perturbations leave a Sharpe ratio above 0; at least 70 % must",
			[]string{"luck", "delay"},
		},
		"the walk-forward loses": {
			-0.5, []Perturbation{}, "the Sharpe ratio is -0.5 on the walk-forward", []string{"the bars of its test part"},
		},
		"a related symbol does not count": {
			2, []Perturbation{kept(PerturbSymbol, "", -1), kept(PerturbSymbol, "", -1), kept(PerturbSymbol, "", -1)}, "", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := perturbed(c.walk, append(slices.Clone(well), c.more...)...)
			e.Conclude(ExaminationRules{})
			if (e.State == Robust) != (c.says == "") || !strings.Contains(e.Summary, c.says) || !slices.Equal(e.LivesOn, c.on) {
				t.Errorf("it is %s, lives on %q: %s", e.State, e.LivesOn, e.Summary)
			}
			for _, on := range c.on {
				if !strings.Contains(e.Summary, on) {
					t.Errorf("the summary does not name %q: %s", on, e.Summary)
				}
			}
		})
	}
}
