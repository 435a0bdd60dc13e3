package research

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
)

// Null says how a permuted copy of bars is made.
//
//	Flips   each bar goes up or down by a fair coin: its move from the last close is
//	        mirrored, with high and low exchanged. Size, time and volume of every
//	        move stay. Lost: direction, drift, skew, and that falls raise volatility.
//	Blocks  weeks change places with weeks that have bars at the same hours; series of
//	        days and longer: runs of 20 bars. All stays that happens within a week,
//	        so an edge that is shorter than a week stays too. Lost: what goes from
//	        one week into another.
//	Both    blocks, then flips.
type Null string

// The nulls.
const (
	Flips  Null = "flips"
	Blocks Null = "blocks"
	Both   Null = "both"
)

// Nulls lists them. The first is the usual one.
var Nulls = []Null{Flips, Blocks, Both}

// MaxTested bounds the researches of a run that is tested: each copy is searched as often.
const MaxTested = 1000

// FactoryTestSpec is all that the test of a run on permuted copies needs.
type FactoryTestSpec struct {
	Search     Spec       `json:"search"` // of the run, with the research part of the market; the holdout is no part of it
	Researches []Tested   `json:"researches"`
	Null       Null       `json:"null"`
	Before     int        `json:"tests_before"` // runs on the same market before this one that have a test too, made or not
	Seed       uint64     `json:"seed"`         // copy i is made from it and i
	Copies     CopyCounts `json:"copies"`
	Version    string     `json:"factory_version"`
}

// Tested is a research of a run that is tested.
type Tested struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Hash      ktrdr.Hash        `json:"result_hash"` // the same search of the same bars must give it
	Others    int               `json:"trials_of_others"`
}

// CopyCounts is how many copies a test searches; both are fixed before the first.
type CopyCounts struct {
	Most int `json:"most"`
	Stop int `json:"stop_after"` // copies that reach the real score
}

// FactoryPartSpec is some of the searches of a test: that of the real bars, or those of
// copies.
type FactoryPartSpec struct {
	FactoryTestSpec
	Real bool `json:"real,omitempty"`
	From int  `json:"from"` // the first copy
	To   int  `json:"to"`   // the first that is left to another part
}

// Validate says what is wrong with the spec.
func (s FactoryTestSpec) Validate() error {
	return errors.Join(
		require(s.Search.Run != "", "it names no run"),
		require(len(s.Researches) >= 1 && len(s.Researches) <= MaxTested, "the run has %d researches; it must have 1 to %d", len(s.Researches),
			MaxTested),
		require(len(s.Search.Bars) > 0 && len(s.Search.Holdout) == 0,
			"it names %d series of bars and %d of the holdout; the holdout is no part of it", len(s.Search.Bars), len(s.Search.Holdout)),
		require(s.Search.Model == Builtin, "model is %q; copies are searched by the built-in designer only", s.Search.Model),
		require(s.Before >= 0, "tests_before is %d; it counts from 0", s.Before),
		require(s.Copies.Stop >= 1 && s.Copies.Most >= s.Copies.Stop,
			"copies is %+v; it stops after 1 or more, and has at least as many", s.Copies),
		require(s.Version == FactoryVersion, "factory_version is %s, and this program has %s", s.Version, FactoryVersion),
		s.Null.Validate(), s.Search.Gates.Validate(), s.Search.Rules.Validate(),
	)
}

// Validate says what is wrong with the spec.
func (s FactoryPartSpec) Validate() error {
	return errors.Join(s.FactoryTestSpec.Validate(), require(s.Real && s.From == 0 && s.To == 0 ||
		!s.Real && s.From >= 0 && s.From < s.To && s.To <= s.Copies.Most, "it has the copies from %d to %d of %d", s.From, s.To, s.Copies.Most))
}

// Validate refuses what is no null.
func (n Null) Validate() error {
	if slices.Contains(Nulls, n) {
		return nil
	}
	return wrong("there is no null %.40q: use %s", string(n), text.Join(Nulls))
}

// Threshold is the largest p-value of a test that passes.
func (s FactoryTestSpec) Threshold() float64 { return evidence.FactoryThreshold(s.Before) }

// CopySeed is the seed of a copy.
func (s FactoryTestSpec) CopySeed(copied int) uint64 { return num.Mix(s.Seed, uint64(copied)) }

// Others are the trials of others that count against each research.
func (s FactoryTestSpec) Others() []int {
	return text.Map(s.Researches, func(r Tested) int { return r.Others })
}

// FactoryPart is what a part ends with.
type FactoryPart struct {
	Summary string     `json:"summary"`
	Real    *RealScore `json:"real,omitempty"`
	From    int        `json:"from"`
	Scores  []*float64 `json:"scores,omitempty"` // of the copies, in their order; null: no finalist
}

// RealScore is what the search of the real bars came to.
type RealScore struct {
	Score *float64 `json:"score"` // null: there is no finalist
	Best  int      `json:"best"`  // the research that has it
}

// FactoryTest is what the test of a run ends with.
type FactoryTest struct {
	Summary   string            `json:"summary"`
	Run       string            `json:"run"`
	P         float64           `json:"p"`
	Threshold float64           `json:"threshold"` // 0.05/((r+1)(r+2)) with r = tests_before
	Before    int               `json:"tests_before"`
	Passed    bool              `json:"passed"`
	Copies    int               `json:"copies"`  // that count; a worker may have searched a few more
	Reached   int               `json:"reached"` // of them, with at least the real score
	Most      int               `json:"most_copies"`
	Score     *float64          `json:"score"` // of the real bars; null: there is no finalist
	Best      ktrdr.OperationID `json:"best,omitempty"`
	Luckiest  *float64          `json:"luckiest_copy"` // the highest score of a copy; null: none has a finalist
	Null      Null              `json:"null"`
	Version   string            `json:"factory_version"`
	Hash      ktrdr.Hash        `json:"result_hash"`
}

// result ranks the real score among those of the copies that were drawn.
func (s FactoryTestSpec) result(found RealScore, scores []*float64, rank evidence.Sequential) (*FactoryTest, error) {
	t := &FactoryTest{
		Run: s.Search.Run, P: 1, Threshold: s.Threshold(), Before: s.Before, Copies: rank.Copies, Reached: rank.Reached, Most: s.Copies.Most,
		Score: found.Score, Null: s.Null, Version: s.Version,
	}
	scores = scores[:rank.Copies]
	for _, x := range scores {
		if x != nil && (t.Luckiest == nil || *x > *t.Luckiest) {
			t.Luckiest = x
		}
	}
	if p := rank.P(); found.Score != nil && p != nil {
		t.P = *p
		t.Best = s.Researches[found.Best].Operation
		t.Passed = t.P <= t.Threshold && *found.Score > 0
	}
	t.Summary = t.sentence()
	var err error
	t.Hash, err = hashJSON(struct {
		Spec   FactoryTestSpec `json:"spec"`
		Real   RealScore       `json:"real"`
		Scores []*float64      `json:"scores"`
	}{s.withoutPlaces(), found, scores})
	return t, err
}

// withoutPlaces is the spec without what another lab would name otherwise.
func (s FactoryTestSpec) withoutPlaces() FactoryTestSpec {
	s.Search.Run, s.Search.Horizon, s.Search.Markets, s.Search.ContextMarkets = "", "", nil, nil
	s.Search.Data, s.Search.DataWarnings = nil, nil
	all := make([]Tested, len(s.Researches))
	for i, r := range s.Researches {
		all[i] = Tested{Hash: r.Hash, Others: r.Others}
	}
	s.Researches = all
	return s
}

func (t *FactoryTest) sentence() string {
	if t.Score == nil {
		return "The run has no finalist, so there is nothing to compare with copies: p = 1."
	}
	said := fmt.Sprintf("%d of %s without an edge came to a score of at least %.2f: "+
		"p = %.3g, and at most %.3g is allowed for run %d without memory of this market",
		t.Reached, text.Counted(t.Copies, "copy", "copies"), *t.Score, t.P, t.Threshold, t.Before+1)
	if t.Passed {
		return said + ". Something was there in these years."
	}
	return said + ". The search finds as much by luck."
}

// tested is what the row of the run keeps of a test.
func tested(op ktrdr.Operation) ktrdr.LedgerEntry {
	t, err := resultOf[FactoryTest](&op)
	if err != nil {
		return ktrdr.LedgerEntry{}
	}
	return ktrdr.LedgerEntry{Tested: &ktrdr.RunTested{Run: t.Run, RunTestResult: ktrdr.RunTestResult{
		P: &t.P, Threshold: t.Threshold, Copies: t.Copies, Best: t.Best, Passed: t.Passed,
	}}}
}
