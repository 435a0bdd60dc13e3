package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

// ExaminationState is what an examination came to.
type ExaminationState string

// The states. Only a fragile finalist and one whose examination failed are refused the look.
const (
	Robust  ExaminationState = "robust"
	Fragile ExaminationState = "fragile"
	FewBars ExaminationState = "too_few_bars" // not examined: too few bars for the folds
	TooLong ExaminationState = "too_long"     // not examined: its trainings would take too long
	Failed  ExaminationState = "failed"       // the examination failed for good
)

// ExaminationStates lists them.
var ExaminationStates = []ExaminationState{Robust, Fragile, FewBars, TooLong, Failed}

// The checks of an examination, in the order in which they are made.
const (
	WalkForwardEarns  Code = "walk_forward_earns"
	PerturbationsEarn Code = "perturbations_earn"
	DecisionsKeep     Code = "decisions_keep"
	ParametersKeep    Code = "parameters_keep"
)

// Refuses says that a finalist in this state gets no look.
func (s ExaminationState) Refuses() bool { return s == Fragile || s == Failed }

// Examination is the judgement of a finalist by more bars that its networks were not
// trained on. All figures are of the research bars and net of costs; it never sees the holdout.
type Examination struct {
	State   ExaminationState `json:"state"`
	Summary string           `json:"summary"`
	Reasons []Reason         `json:"reasons"` // the checks; empty if it was not examined

	Bars     int      `json:"bars"`     // at which decisions are possible
	Groups   int      `json:"groups"`   // of the combinatorial cross-validation
	Splits   int      `json:"splits"`   // each trains one ensemble
	Ensemble int      `json:"ensemble"` // networks of an ensemble
	Paths    []Path   `json:"paths"`
	Pooled   *Path    `json:"pooled"` // mean of the returns of all paths, bar by bar
	Score    *float64 `json:"score"`  // the weaker of the two z-values of the pooled path

	Seeds        []*float64     `json:"seed_sharpes"` // Sharpe ratio of each network of the ensembles alone, over all paths
	WalkForward  *Path          `json:"walk_forward"`
	Perturbed    []Perturbation `json:"perturbations"`
	PositiveRate *float64       `json:"positive_share"`     // share of the perturbations that leave a Sharpe ratio above 0
	KeptDecision *float64       `json:"kept_decision"`      // share of the Sharpe ratio that the median change of a decision leaves
	KeptTrained  *float64       `json:"kept_parameter"`     // and that of a parameter which the networks read
	LivesOn      []string       `json:"lives_on,omitempty"` // settings of a fragile finalist whose change takes the edge away
	Undefined    string         `json:"undefined,omitempty"`
}

// Path is one sequence of returns over the research bars, each bar traded by networks
// that were not trained on it.
type Path struct {
	Bars    int      `json:"bars"`
	Sharpe  *float64 `json:"sharpe_ratio"` // per year where a year is known
	SharpeZ *float64 `json:"sharpe_z"`
	Alpha   *float64 `json:"alpha"` // per bar
	AlphaZ  *float64 `json:"alpha_z"`
	Trades  int      `json:"trades"`
}

// PathOf measures returns beside those of buy-and-hold.
func PathOf(returns, hold []float64, barsPerYear float64, trades int) Path {
	c := Versus(returns, hold, barsPerYear)
	return Path{Bars: len(returns), Sharpe: c.Sharpe.Ratio(), SharpeZ: c.Sharpe.Z, Alpha: c.Alpha, AlphaZ: c.AlphaZ, Trades: trades}
}

// PerturbationKind is what was changed.
type PerturbationKind string

// The kinds.
const (
	PerturbCosts     PerturbationKind = "costs"
	PerturbLate      PerturbationKind = "late_entry"
	PerturbNoise     PerturbationKind = "price_noise"
	PerturbDecision  PerturbationKind = "decision"  // a threshold of the decision, or an exit
	PerturbParameter PerturbationKind = "parameter" // networks are trained again
	PerturbSymbol    PerturbationKind = "related_symbol"
)

// Perturbation is the walk-forward with one thing changed.
type Perturbation struct {
	Kind      PerturbationKind `json:"kind"`
	Name      string           `json:"name"`              // costs x1.5, rsi_14.period 14 -> 16
	Setting   string           `json:"setting,omitempty"` // what a finalist lives on that does not live through the change
	Sharpe    *float64         `json:"sharpe_ratio"`
	Kept      *float64         `json:"kept"` // Sharpe ratio divided by that without the change
	Trades    int              `json:"trades"`
	Undefined string           `json:"undefined,omitempty"` // why there is no Sharpe ratio
}

// Counts says whether the rule for fragile reads it. A related symbol is shown and not
// counted: an edge may belong to one market.
func (p *Perturbation) Counts() bool { return p.Kind != PerturbSymbol && p.Undefined == "" }

// ExaminationRules are the limits of the checks that an examination makes. A field that is
// 0 means its default, which stands beside it.
type ExaminationRules struct {
	MinPositive float64 `json:"min_positive"` // 0.7: share of the perturbations that must leave a Sharpe ratio above 0
	MinKept     float64 `json:"min_kept"`     // 0.4: share of the Sharpe ratio that the median change of a parameter must leave
}

// WithDefaults returns the rules with every default filled in.
func (r ExaminationRules) WithDefaults() ExaminationRules {
	r.MinPositive = cmp.Or(r.MinPositive, 0.7)
	r.MinKept = cmp.Or(r.MinKept, 0.4)
	return r
}

// Validate says what is wrong with the rules.
func (r ExaminationRules) Validate() error {
	r = r.WithDefaults()
	var wrong []string
	if !(r.MinPositive > 0 && r.MinPositive <= 1) {
		wrong = append(wrong, fmt.Sprintf("min_positive is %v; it is a fraction above 0 and at most 1", r.MinPositive))
	}
	if !(r.MinKept > 0 && r.MinKept <= 1) {
		wrong = append(wrong, fmt.Sprintf("min_kept is %v; it is a fraction above 0 and at most 1", r.MinKept))
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("examination rules: " + strings.Join(wrong, "; "))
}

// Conclude makes the checks of an examination whose figures are there. A finalist that
// fails one is fragile.
func (e *Examination) Conclude(rules ExaminationRules) {
	rules = rules.WithDefaults()
	var made checks
	walk := e.WalkForward
	made.check(WalkForwardEarns, walk.Sharpe, 0, above,
		fmt.Sprintf("the Sharpe ratio is %s on the walk-forward; it must be above 0", show(walk.Sharpe)),
		"the walk-forward has no Sharpe ratio")
	counted, positive := e.counted()
	if counted > 0 {
		e.PositiveRate = num.Finite(float64(positive) / float64(counted))
	}
	made.check(PerturbationsEarn, e.PositiveRate, rules.MinPositive, atLeast,
		fmt.Sprintf("%d of %s leave a Sharpe ratio above 0; at least %v %% must", positive, text.Counted(counted, "perturbation"),
			100*rules.MinPositive), "no perturbation could be measured")
	e.KeptDecision, e.KeptTrained = e.medianKept(PerturbDecision), e.medianKept(PerturbParameter)
	for _, x := range []struct {
		code Code
		of   string
		kept *float64
	}{{DecisionsKeep, "the decision", e.KeptDecision}, {ParametersKeep, "a parameter", e.KeptTrained}} {
		if x.kept != nil {
			made.check(x.code, x.kept, rules.MinKept, atLeast, fmt.Sprintf(
				"the median change of %s keeps %s of the Sharpe ratio; at least %v is needed", x.of, show(x.kept), rules.MinKept), "")
		}
	}
	e.Reasons, e.State = made, Robust
	if made.passed() {
		e.Summary = fmt.Sprintf("Robust: the walk-forward earns, and %d of %s leave a Sharpe ratio above 0.", positive,
			text.Counted(counted, "perturbation"))
		return
	}
	e.State, e.LivesOn = Fragile, e.livesOn(rules)
	e.Summary = fmt.Sprintf("Fragile: %s. It lives on %s.", made.firstFailure(), text.List(e.LivesOn, "and"))
}

// counted is how many perturbations count, and how many of them leave a Sharpe ratio above 0.
func (e *Examination) counted() (all, positive int) {
	for i := range e.Perturbed {
		if p := &e.Perturbed[i]; p.Counts() {
			all++
			if p.Sharpe != nil && *p.Sharpe > 0 {
				positive++
			}
		}
	}
	return all, positive
}

// medianKept is what the median change of a kind leaves of the Sharpe ratio; nil for less than two changes.
func (e *Examination) medianKept(kind PerturbationKind) *float64 {
	var kept []float64
	for i := range e.Perturbed {
		if p := &e.Perturbed[i]; p.Kind == kind && p.Counts() {
			kept = append(kept, orZero(p.Kept))
		}
	}
	if len(kept) < 2 {
		return nil
	}
	return new(middleOf(kept))
}

// mostSettings bounds how many settings a fragile finalist is said to live on.
const mostSettings = 3

// livesOn names the settings of a fragile finalist whose change takes the edge away, that
// which takes the most first.
func (e *Examination) livesOn(rules ExaminationRules) (settings []string) {
	if s := e.WalkForward.Sharpe; s == nil || *s <= 0 {
		return []string{"the bars of its test part"}
	}
	var lost []*Perturbation
	for i := range e.Perturbed {
		if p := &e.Perturbed[i]; p.Counts() && (p.Kept == nil || *p.Kept < rules.MinKept) {
			lost = append(lost, p)
		}
	}
	slices.SortStableFunc(lost, func(a, b *Perturbation) int { return cmp.Compare(orZero(a.Kept), orZero(b.Kept)) })
	for _, p := range lost {
		if len(settings) < mostSettings && !slices.Contains(settings, p.Setting) {
			settings = append(settings, p.Setting)
		}
	}
	return settings
}

// NotExamined is an examination that was not made, with the reason.
func NotExamined(state ExaminationState, why string) Examination {
	return Examination{
		State: state, Summary: "Not examined: " + why + ".", Reasons: []Reason{}, Paths: []Path{}, Seeds: []*float64{},
		Perturbed: []Perturbation{}, Undefined: why,
	}
}

func orZero(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

func middleOf(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	if n%2 == 1 {
		return x[n/2]
	}
	return float64(x[n/2-1]+x[n/2]) / 2
}
