package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// Flaw names what is wrong with a bundle.
type Flaw string

// The codes.
const (
	WrongChain   Flaw = "ledger"   // the chain is broken
	WrongHead    Flaw = "head"     // it does not go through a head that was published
	WrongOrder   Flaw = "order"    // trials were moved
	WrongLooks   Flaw = "looks"    // a look was dropped, or not paid for
	DroppedTrial Flaw = "trial"    // a trial was dropped
	WrongSpec    Flaw = "spec"     // another spec than the ledger names
	WrongSeed    Flaw = "seed"     // the same for the seed
	WrongCosts   Flaw = "costs"    // and the costs
	WrongBars    Flaw = "bars"     // and the bars of the research
	WrongHoldout Flaw = "holdout"  // and those of the holdout
	WrongText    Flaw = "strategy" // and the strategy
	WrongResult  Flaw = "result"   // it is computed differently
	WrongLook    Flaw = "look"     // the look shows something else
	NoClaim      Flaw = "claim"    // the look claims nothing
	NoBars       Flaw = "no bars"  // they are neither in the bundle nor here
)

// Refusal is one thing that is wrong.
type Refusal struct {
	Code Flaw   `json:"code"`
	Text string `json:"text"`
}

// Verification is the result of a check.
type Verification struct {
	Verified bool              `json:"verified"`
	Claim    ktrdr.OperationID `json:"claim,omitempty"`
	Research ktrdr.OperationID `json:"research_operation_id,omitempty"`
	Strategy string            `json:"strategy_name,omitempty"`
	Passed   []string          `json:"passed"`
	Refused  []Refusal         `json:"refused"`
	Warnings []string          `json:"not_excluded"` // what cannot be excluded
}

// Options are what a check knows besides the bundle.
type Options struct {
	Heads   []Head
	Bars    BarsSource // for bars that are not in the bundle; nil: there are none
	Runners Runners    // that compute again; without them the ledger alone is checked
}

type verification struct {
	Verification
	run      string     // of the research
	size     int        // of the run's generations
	unlisted []unlisted // claims that new holdouts leave out
	unnamed  int        // new holdouts that leave out claims too
}

func (v *verification) pass(format string, args ...any) {
	v.Passed = append(v.Passed, fmt.Sprintf(format, args...))
}

func (v *verification) warn(text string) { v.Warnings = append(v.Warnings, text) }

// mostRefusals bounds the number of refusals of a bundle.
const mostRefusals = 20

func (v *verification) refuse(code Flaw, format string, args ...any) {
	if len(v.Refused) < mostRefusals {
		v.Refused = append(v.Refused, Refusal{code, ktrdr.ToPrintable(fmt.Sprintf(format, args...))})
	}
}

// Verify checks a bundle. Its error is only the end of ctx: everything else that is
// wrong is a refusal.
//
//	ledger link by link ──▶ heads ──▶ specs against the ledger ──▶ computed again
func Verify(ctx context.Context, b *Bundle, o Options) (Verification, error) {
	v := &verification{Verification: Verification{
		Claim: b.Manifest.Claim, Research: b.Manifest.Research, Strategy: b.Verdict.Strategy,
		Passed: []string{}, Refused: []Refusal{}, Warnings: []string{},
	}}
	err := v.verify(ctx, b, o)
	v.Verified = err == nil && len(v.Refused) == 0
	return v.Verification, err
}

func (v *verification) verify(ctx context.Context, b *Bundle, o Options) error {
	spec, err := ktrdr.ParseSpec[research.Spec](b.Spec)
	if err != nil {
		v.refuse(WrongSpec, "%s: %v", specFile, err)
		return nil
	}
	confirm, err := ktrdr.ParseSpec[research.ConfirmSpec](b.Confirm)
	if err != nil {
		v.refuse(WrongSpec, "%s: %v", confirmFile, err)
		return nil
	}
	v.run, v.size = spec.Run, spec.Size
	l := v.readLedgers(b)
	if l == nil {
		return nil
	}
	c := v.claim(l, b)
	if c == nil {
		return nil
	}
	v.checkHeads(l, o.Heads, c.places)
	v.checkFacts(c.trial, b, &spec)
	v.checkLook(c, b, &confirm)
	wrong := slices.ContainsFunc(v.Refused, func(r Refusal) bool { return r.Code != WrongHead })
	if wrong || o.Runners == nil {
		return nil
	}
	return v.computeAgain(ctx, b, c, &spec, o)
}

// claimed are the entries of the claim in the ledger.
type claimed struct {
	trial  *ktrdr.TrialEntry
	look   *ktrdr.LookEntry
	result *ktrdr.ResultEntry
	places []place // of the result
}

func (v *verification) claim(l *ledger, b *Bundle) *claimed {
	key := string(b.Manifest.Claim)
	c := &claimed{trial: l.trialOf(b.Manifest.Research)}
	looks, results := l.looksOf(key), l.resultsOf(key)
	switch {
	case c.trial == nil:
		v.refuse(DroppedTrial, "the ledger has no trial of %.80s, the research that is claimed", b.Manifest.Research)
		return nil
	case len(looks) == 0:
		v.refuse(WrongLooks, "the ledger has no look %.80s", key)
		return nil
	case len(results) != len(looks):
		v.refuse(WrongLooks, "the ledger has %d entries of the look %.80s and %d of its result", len(looks), key, len(results))
		return nil
	}
	c.look, c.result = looks[0], results[0]
	for i := range looks {
		here := l.at[results[i]]
		c.places = append(c.places, here)
		if looks[i].Before != c.look.Before || looks[i].Spec != c.look.Spec || looks[i].Research != b.Manifest.Research {
			v.refuse(WrongLooks, "%v and %v tell different things of one look", l.at[c.look], l.at[looks[i]])
		}
		if !sameResult(results[i], c.result) {
			v.refuse(WrongLook, "%v and %v tell different results of one look", l.at[c.result], here)
		}
	}
	for i, m := range looks {
		if l.at[results[i]].market == l.at[m].market && l.at[results[i]].position < l.at[m].position {
			v.refuse(WrongOrder, "%v, the result of a look, comes before the look", l.at[results[i]])
		}
	}
	if !c.result.Claim || !b.Verdict.Look.Claim {
		v.refuse(NoClaim, "the look %.80s claims no edge", key)
	}
	v.pass("the claim is %v, after %s at its market", c.places[0], plural(c.look.Before, "look", "looks"))
	return c
}

func sameResult(a, b *ktrdr.ResultEntry) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// difference is one fact that two entries tell differently.
type difference struct {
	code Flaw
	text string
}

// differences are the facts in which a trial was edited.
func differences(was, is *ktrdr.TrialEntry) (all []difference) {
	add := func(code Flaw, format string, args ...any) {
		all = append(all, difference{code, fmt.Sprintf(format, args...)})
	}
	for i, c := range was.Costs {
		switch {
		case i >= len(is.Costs):
			add(WrongCosts, "the costs of %.40s are missing", c.Symbol)
		case c != is.Costs[i]:
			add(WrongCosts, "its costs were edited from %s to %s", costText(c), costText(is.Costs[i]))
		}
	}
	if len(is.Costs) > len(was.Costs) {
		add(WrongCosts, "costs were added: %s", costText(is.Costs[len(was.Costs)]))
	}
	if was.Seed != nil && is.Seed != nil && *was.Seed != *is.Seed {
		add(WrongSeed, "its seed was edited from %d to %d", *was.Seed, *is.Seed)
	}
	if !slices.Equal(was.Bars, is.Bars) {
		add(WrongBars, "its bars were swapped: the ledger names %s, here they are %s", barsText(was.Bars), barsText(is.Bars))
	}
	if was.StrategyYAML != is.StrategyYAML {
		add(WrongText, "its strategy was edited: sha256 %.12s in the ledger, %.12s here", was.StrategyYAML, is.StrategyYAML)
	}
	if was.KernelClass != is.KernelClass {
		add(WrongSpec, "its class of arithmetic was edited from %q to %.40q", was.KernelClass, is.KernelClass)
	}
	if len(all) == 0 && was.Spec != is.Spec {
		add(WrongSpec, "its spec was edited: sha256 %.12s in the ledger, %.12s here", was.Spec, is.Spec)
	}
	if len(all) == 0 && was.TrialFigures.Hash != is.TrialFigures.Hash {
		add(WrongResult, "its result was edited: result hash %.12s and %.12s", was.TrialFigures.Hash, is.TrialFigures.Hash)
	}
	if len(all) == 0 {
		add(WrongResult, "its figures were edited")
	}
	return all
}

func costText(c ktrdr.TrialCosts) string {
	return fmt.Sprintf("%.40s=%v/%v/%v", c.Symbol, c.Commission, c.Slippage, c.Spread)
}

func barsText(all []ktrdr.TrialBars) string {
	if len(all) == 0 {
		return "no bars"
	}
	var parts []string
	for _, b := range all {
		parts = append(parts, fmt.Sprintf("%.40s %.10s (hash %.12s)", b.Symbol, b.Timeframe, b.Hash))
	}
	return strings.Join(parts, " ")
}

// checkFacts compares the spec and the strategy with what the ledger says of them.
func (v *verification) checkFacts(t *ktrdr.TrialEntry, b *Bundle, spec *research.Spec) {
	is := *t
	facts := research.MadeFrom(b.Spec, string(b.Strategy))
	is.TrialFacts = facts
	if t.Run != spec.Run || t.Generation != spec.Generation || t.Index != spec.Index {
		v.refuse(WrongSpec, "the ledger says that the research is trial %s, and its spec that it is %d/%d of %.40s", nameOf(t), spec.Generation,
			spec.Index, spec.Run)
	}
	x, err := json.Marshal(t.TrialFacts)
	y, err2 := json.Marshal(facts)
	if err == nil && err2 == nil && bytes.Equal(x, y) {
		v.pass("strategy, seed, costs and bars of the research are those of the ledger")
		return
	}
	for _, d := range differences(t, &is) {
		v.refuse(d.code, "trial %s: %s", nameOf(t), d.text)
	}
}

// checkLook compares the spec of the look and the verdict with the ledger.
func (v *verification) checkLook(c *claimed, b *Bundle, confirm *research.ConfirmSpec) {
	was := spanHashes(c.look.Spans)
	for _, h := range confirm.Holdout {
		if !slices.Contains(was, h.Hash) {
			v.refuse(WrongHoldout, "the look is at %.40s %.10s bars with the hash %.12s; the ledger reserved it for others: the holdout was swapped",
				h.Symbol, h.Timeframe, h.Hash)
		}
	}
	if confirm.From.Before(c.look.Holdout) {
		v.refuse(WrongHoldout, "the look trades from %s, and the ledger counts it at the holdout that begins at %s",
			confirm.From.UTC().Format(time.RFC3339), c.look.Holdout.UTC().Format(time.RFC3339))
	}
	if confirm.Research != b.Manifest.Research || confirm.ResultHash != c.trial.TrialFigures.Hash {
		v.refuse(WrongResult, "the look confirms result %.12s of %.80s, and the ledger says %.12s", confirm.ResultHash, confirm.Research,
			c.trial.TrialFigures.Hash)
	}
	if sum := ktrdr.Hash(sha256.Sum256(b.Confirm)); len(v.Refused) == 0 && sum != c.look.Spec {
		v.refuse(WrongSpec, "the spec of the look was edited: sha256 %.12s in the ledger, %.12s here", c.look.Spec, sum)
	}
	told := &ktrdr.ResultEntry{
		Key: c.result.Key, P: b.Verdict.Look.P, Adjusted: b.Verdict.Look.Adjusted, Claim: b.Verdict.Look.Claim, Hash: b.Verdict.LookHash,
	}
	if !sameResult(told, c.result) {
		v.refuse(WrongLook, "the verdict says adjusted p = %s, look hash %.12s; the ledger says %s, %.12s", number(told.Adjusted), told.Hash,
			number(c.result.Adjusted), c.result.Hash)
	}
	if b.Verdict.ResultHash != c.trial.TrialFigures.Hash {
		v.refuse(WrongResult, "the verdict has the result hash %.12s, and the ledger %.12s", b.Verdict.ResultHash, c.trial.TrialFigures.Hash)
	}
}

func number(x *float64) string {
	if x == nil {
		return "undefined"
	}
	return fmt.Sprintf("%.4g", *x)
}
