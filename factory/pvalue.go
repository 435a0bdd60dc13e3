package factory

import (
	"cmp"
	"context"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/research"
)

// StatisticName names what is compared: see SearchOutcome.Statistic.
const StatisticName = "examined score"

// Best is the value of a search that real bars and copies are compared by, and the
// research that has it: the highest score of the examinations. A finalist that could not be
// examined counts with its score on the test part. Nil: there is no finalist.
func (o *SearchOutcome) Best() (research int, score *float64) {
	for _, g := range o.Generations {
		for _, x := range g.Examined {
			if s := cmp.Or(x.Score, o.Researches[x.Research].Score); score == nil || *s > *score {
				research, score = x.Research, s
			}
		}
	}
	return research, score
}

// Statistic is the score of Best.
func (o *SearchOutcome) Statistic() *float64 {
	_, score := o.Best()
	return score
}

// Test is a factory test of a run, as far as it is done.
type Test struct {
	Real   *float64            `json:"real"`   // the statistic on the real bars; nil: no research was judged
	Scores []*float64          `json:"scores"` // of the copies, in their order
	Rank   evidence.Sequential `json:"rank"`
}

// Continue draws copies until the test is done. It searches each copy with the spec of
// the run, as the run searched the real bars. Copy i depends on the seed and i alone, so
// a test that continues after a restart ends with the same numbers. saved is called after
// each copy; its error ends the test.
func (t *Test) Continue(
	ctx context.Context, w World, spec research.Spec, s Settings, null research.Null, seed uint64, saved func() error,
) error {
	for t.Real != nil && !t.Rank.Done() {
		out, err := SearchCopy(ctx, w, spec, s, null, num.Mix(seed, uint64(t.Rank.Copies)))
		if err != nil {
			return err
		}
		score := out.Statistic()
		t.Scores = append(t.Scores, score)
		t.Rank.Draw(evidence.Reached(score, t.Real))
		if err := saved(); err != nil {
			return err
		}
	}
	return nil
}

// P is the p-value of a test that is done. A run of which no research was judged has 1.
func (t *Test) P() *float64 {
	if t.Real == nil {
		return new(1.0)
	}
	return t.Rank.P()
}

// SearchCopy searches a permuted copy of the bars of a world. It makes no look.
func SearchCopy(ctx context.Context, w World, spec research.Spec, s Settings, null research.Null, seed uint64) (SearchOutcome, error) {
	bars, err := Copy(w.Bars, null, seed)
	if err != nil {
		return SearchOutcome{}, err
	}
	return SearchAs(ctx, World{Bars: bars, From: w.From}, spec, s)
}
