package research

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

// LadderFacts is all that a ladder is made of. A fact that is not known is nil.
type LadderFacts struct {
	Finalist bool             // every check on the test part passed
	Figures  *BacktestFigures // of the test part
	Factory  *FactoryFact
	Look     *ktrdr.Look // the confirmation, once it has ended
	Looks    int         // at the market until now
	MaxP     float64     // largest adjusted p-value of a claim
	Claim    *ktrdr.LivingClaim
}

// FactoryFact is the test of a strategy's run on permuted copies of the bars.
type FactoryFact struct {
	Run      string
	Test     ktrdr.RunTest // ReservedAt is zero: the run was not tested
	Best     bool          // the score of this strategy was compared
	Positive bool          // its net Sharpe ratio and its alpha are above 0
}

// Ladder is where a strategy stands:
//
//	nothing → finalist → candidate → confirmed → living → retired
type Ladder struct {
	Rung  string       `json:"rung"` // the highest that was reached
	Rungs []LadderRung `json:"rungs"`
}

// LadderRung is one rung.
type LadderRung struct {
	Rung     string   `json:"rung"`
	Reached  bool     `json:"reached"`
	P        *float64 `json:"p,omitempty"`       // nil where it has none
	EValue   *float64 `json:"e_value,omitempty"` // likewise
	Means    string   `json:"means"`
	NotMeans string   `json:"does_not_mean"`
	Next     string   `json:"next,omitempty"` // what would reach it; empty where it is reached or nothing is known
}

// LadderOf makes the ladder of a strategy.
func LadderOf(f LadderFacts) Ladder {
	l := Ladder{Rung: RungNothing, Rungs: []LadderRung{f.finalist(), f.candidate(), f.confirmed(), f.living(), f.retired()}}
	for _, r := range l.Rungs {
		if r.Reached {
			l.Rung = r.Rung
		}
	}
	return l
}

func (f *LadderFacts) finalist() LadderRung {
	r := LadderRung{
		Rung: ktrdr.RungFinalist, Reached: f.Finalist, Means: "Every check on the test part passed. It may be opened on the holdout.",
		NotMeans: "That there is an edge: it was chosen among trials on the same bars.",
	}
	if f.Figures != nil && f.Figures.Deflated != nil {
		r.P = new(1 - *f.Figures.Deflated)
	}
	if !r.Reached {
		r.Next = "All nine checks must pass; the verdict names those that failed."
	}
	return r
}

func (f *LadderFacts) candidate() LadderRung {
	r := LadderRung{
		Rung:     "candidate",
		Means:    "The whole search found more here than on permuted copies of the bars: something was there in these years.",
		NotMeans: "That it is still there, or that this strategy is the one that found it.",
	}
	t := f.Factory
	switch {
	case t == nil:
		r.Next = "It belongs to no run: only the search of a whole run is tested."
	case t.Test.ReservedAt.IsZero():
		r.Next = fmt.Sprintf("The run was not tested: ktrdr runs test %s tests it, if it started with --fresh.", ktrdr.ShortRun(t.Run))
	case t.Test.EndedAt.IsZero():
		r.Next = "The test of its run has not ended. `ktrdr ops --type factory_test` shows it; `ktrdr resume` continues one that stopped."
	case !t.Best && t.Test.Best == "":
		r.P = t.Test.P
		r.Next = "The run has no finalist, so nothing was compared with copies."
	case !t.Best:
		r.Next = fmt.Sprintf("The test of its run compared the score of %s, its best strategy.", t.Test.Best.Tail())
	default:
		r.P, r.Reached = t.Test.P, f.Finalist && t.Test.Passed && t.Positive
		r.Means += fmt.Sprintf(" %s were searched; p may be at most %.3g for run %d without memory of this market.",
			text.Counted(t.Test.Copies, "copy", "copies"), t.Test.Threshold, t.Test.Before+1)
		if !r.Reached {
			r.Next = "A run is tested once. Another run with new ideas or new bars may come further; its test may spend less."
		}
	}
	return r
}

func (f *LadderFacts) confirmed() LadderRung {
	r := LadderRung{
		Rung:     string(ktrdr.ClaimConfirmed),
		Means:    "One look at bars that no search has seen succeeded, after adjustment for all looks at the market.",
		NotMeans: "That the future is like the past.",
	}
	if f.Look != nil && !f.Look.EndedAt.IsZero() {
		r.P, r.Reached = f.Look.Adjusted, f.Look.Claim
	}
	if !r.Reached {
		r.Next = f.moreBars()
	}
	return r
}

// moreBars says how many years would confirm a Sharpe ratio: its minimum track record length at the
// p-value that the next look needs.
func (f *LadderFacts) moreBars() string {
	maxP := f.MaxP
	if maxP == 0 {
		maxP = evidence.Rules{}.WithDefaults().MaxAdjustedP
	}
	needed := -evidence.NormQuantile(maxP / float64(evidence.LookFactor(f.Looks)))
	var c Confirmation
	if f.Look != nil && json.Unmarshal(f.Look.Result, &c) == nil {
		h := &c.Look.Holdout
		z := evidence.WeakerZ(h.Sharpe.Z, h.AlphaZ)
		if z == nil || *z <= 0 || h.Sharpe.Annualized == nil || h.Sharpe.PerBar == nil || *h.Sharpe.PerBar == 0 {
			return "The holdout does not earn more than the market: more bars like it would not confirm it."
		}
		year := *h.Sharpe.Annualized / *h.Sharpe.PerBar
		years := float64(h.Sharpe.Bars) / float64(year*year)
		ratio := needed / *z
		more := years * max(float64(ratio*ratio)-1, 0)
		if more == 0 {
			return otherChecks(c.Look.Reasons)
		}
		return fmt.Sprintf("At the Sharpe ratio of its holdout about %s more years of bars would confirm it; they must come after all looks.",
			inYears(more))
	}
	g := f.Figures
	if g == nil || g.TestSharpe == nil || g.SharpeZ == nil || g.AlphaZ == nil || !(min(*g.TestSharpe, *g.SharpeZ, *g.AlphaZ) > 0) {
		return "It must earn more than the market after costs first."
	}
	share := *g.SharpeZ / min(*g.SharpeZ, *g.AlphaZ)
	ratio := float64(needed * share / *g.TestSharpe)
	return fmt.Sprintf("At the Sharpe ratio of the test part a holdout of about %s years would confirm it in look %d.",
		inYears(ratio*ratio), f.Looks+1)
}

// otherChecks says why a look whose p-value was small enough claims nothing.
func otherChecks(reasons []evidence.Reason) string {
	var failed []string
	for _, r := range reasons {
		if !r.Passed && r.Code != evidence.HoldoutConfirms {
			failed = append(failed, r.Text)
		}
	}
	return "Its p-value is small enough, but the look failed another check: " + strings.Join(failed, "; ") + "."
}

func inYears(y float64) string { return fmt.Sprintf("%.1f", math.Ceil(y*10)/10) }

func (f *LadderFacts) living() LadderRung {
	r := LadderRung{
		Rung:     string(ktrdr.ClaimLiving),
		Means:    "Bars that came after the claim show an edge by themselves, whenever you look (e ≥ 20, or p ≤ 0.05).",
		NotMeans: "That it earns as much as was claimed.",
	}
	c := f.Claim
	if c == nil {
		r.Next = "There is no claim to follow."
		return r
	}
	r.EValue, r.Reached = &c.E, !c.Detected.IsZero()
	switch {
	case r.Reached:
		r.Means += " Detected at the bar of " + text.Minute(c.Detected.Unix()) + "."
	case c.Hold != ktrdr.ClaimFollowed:
		r.Next = "Not followed: " + c.Reason + "."
	case c.Bars == 0:
		r.Next = "Import or append the bars that came after the claim."
	case c.E > 1:
		more := float64(c.Bars) * (num.Log(evidence.Crosses)/num.Log(c.E) - 1)
		r.Next = fmt.Sprintf("%s so far; at this growth about %.0f more would show it.", text.Counted(c.Bars, "bar"), math.Ceil(more))
	default:
		r.Next = fmt.Sprintf("%s so far, and the e-value has not grown.", text.Counted(c.Bars, "bar"))
	}
	return r
}

func (f *LadderFacts) retired() LadderRung {
	r := LadderRung{
		Rung: string(ktrdr.ClaimRetired), Means: "Bars that came after the claim speak against even half of what was claimed (e ≥ 20).",
		NotMeans: "That it loses money, or that there never was an edge.",
	}
	if c := f.Claim; c != nil {
		r.EValue, r.Reached = &c.RetireE, !c.Retired.IsZero()
		if r.Reached {
			r.Means += " Detected at the bar of " + text.Minute(c.Retired.Unix()) + "."
		}
	}
	return r
}

// Seal takes out what assistants and designers must not know: figures of the holdout, and all of what
// came after a claim.
func (l *Ladder) Seal() {
	for i := range l.Rungs {
		r := &l.Rungs[i]
		switch r.Rung {
		case string(ktrdr.ClaimConfirmed):
			r.Next = ""
		case string(ktrdr.ClaimLiving), string(ktrdr.ClaimRetired):
			*r = LadderRung{Rung: r.Rung, Means: "An assistant is not told what came after a claim.", NotMeans: "Anything."}
		}
	}
	if l.Rung == string(ktrdr.ClaimLiving) || l.Rung == string(ktrdr.ClaimRetired) {
		l.Rung = string(ktrdr.ClaimConfirmed)
	}
}

// LadderStore is where the facts of ladders are read.
type LadderStore interface {
	Trials(ctx context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error)
	Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error)
	ClaimOf(ctx context.Context, id ktrdr.OperationID) (ktrdr.LivingClaim, error)
	FindRun(ctx context.Context, id string) (ktrdr.Run, error)
}

// Ladder is where a research stands; nil before it has ended.
func (v Views) Ladder(ctx context.Context, op ktrdr.Operation) (*Ladder, error) {
	return ReadLadder(ctx, v.Engine, op)
}

// ReadLadder is the same of a store.
func ReadLadder(ctx context.Context, store LadderStore, op ktrdr.Operation) (*Ladder, error) {
	if op.Type != ktrdr.AgentResearch || op.Status != ktrdr.Completed {
		return nil, nil
	}
	result, err := resultOf[Result](&op)
	if err != nil {
		return nil, nil //nolint:nilerr // of an earlier version: it has no ladder
	}
	f := LadderFacts{Finalist: result.Rung == ktrdr.RungFinalist, Figures: result.Figures}
	if spec, err := ktrdr.ParseSpec[Spec](op.Spec); err == nil {
		f.MaxP = spec.Rules.WithDefaults().MaxAdjustedP
	}
	if f.Factory, err = factoryFact(ctx, store, &op, result.Figures); err != nil {
		return nil, err
	}
	trials, err := store.Trials(ctx, ktrdr.TrialQuery{Of: []ktrdr.OperationID{op.ID}, Limit: 1})
	if err != nil {
		return nil, err
	}
	for _, t := range trials.Trials {
		f.Looks = t.MarketLooks
	}
	looks, err := store.Looks(ctx, ktrdr.LookQuery{Research: op.ID})
	if err != nil {
		return nil, err
	}
	for i := range looks.Looks {
		if l := &looks.Looks[i]; l.Kind == ktrdr.LookConfirmation && !l.EndedAt.IsZero() {
			f.Look = l
		}
	}
	if f.Look != nil && f.Look.Claim {
		c, err := store.ClaimOf(ctx, f.Look.Operation)
		if err == nil {
			f.Claim = &c
		} else if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return nil, err
		}
	}
	l := LadderOf(f)
	return &l, nil
}

// factoryFact is what the test of the run of a research came to; nil: it has no run.
func factoryFact(ctx context.Context, store LadderStore, op *ktrdr.Operation, g *BacktestFigures) (*FactoryFact, error) {
	if op.Queue == nil {
		return nil, nil
	}
	run, err := store.FindRun(ctx, op.Queue.Run)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil, nil
	}
	return &FactoryFact{
		Run: run.ID, Test: run.Test, Best: run.Test.Best == op.ID,
		Positive: g != nil && g.Sharpe != nil && g.Alpha != nil && *g.Sharpe > 0 && *g.Alpha > 0,
	}, err
}
