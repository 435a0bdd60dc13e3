package designer

import (
	"slices"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// lesson is what to try next when a design was refused for a reason.
type lesson struct {
	codes []string // of the reasons that it answers
	why   string   // for the notes
	apply func(f *frame, g *Genome, r *num.Rand)
}

// lessons is the table: the first that fits a reason is learnt. Codes are those
// of the gates and of the verdict.
var lessons = []lesson{
	{
		[]string{"too_few_trades", "trades", "no_trades"},
		"it traded too rarely: a lower threshold, a shorter horizon, no pause",
		func(f *frame, g *Genome, _ *num.Rand) {
			g.Caution--
			g.Horizon = step(f.horizons, g.Horizon, -1)
			g.Pause, g.Short = 0, true
		},
	},
	{
		[]string{"costs", "cost_share", "cost", "too_many_trades", "net_return_negative"},
		"costs ate it: a higher threshold, a longer horizon, a pause between trades",
		func(f *frame, g *Genome, _ *num.Rand) {
			g.Caution++
			g.Horizon = step(f.horizons, g.Horizon, 1)
			g.Pause = step(pauses, g.Pause, 2)
		},
	},
	{
		[]string{"collapsed", "collapse"},
		"the network gave one answer: other labels, narrower ones, a faster rate",
		func(_ *frame, g *Genome, r *num.Rand) {
			g.Label = other(drawn, g.Label, r)
			g.Width = 0.4
			g.Rate, g.Dropout = step(rates, g.Rate, 2), step(dropouts, g.Dropout, -1)
		},
	},
	{
		[]string{"accuracy_below_threshold", "directional_accuracy_below_threshold", "loss_too_high", "insufficient_loss_decrease", "label_mix"},
		"the network learnt nothing: another question, another input",
		func(f *frame, g *Genome, r *num.Rand) {
			g.Label = other(drawn, g.Label, r)
			changeReading(f, g, r)
			g.Hidden = slices.Clone(layers[min(len(layers)-1, 3+pick(r, 3))])
		},
	},
	{
		[]string{"decay", "out_of_sample_decay", "overfit", "more_weights_than_samples", "holdout"},
		"it did not last out of sample: a smaller network, fewer inputs, more dropout",
		func(f *frame, g *Genome, r *num.Rand) {
			g.Hidden = slices.Clone(layers[pick(r, 2)])
			g.Dropout = step(dropouts, g.Dropout, 2)
			if len(g.Inputs) > 1 {
				dropReading(f, g, r)
			}
		},
	},
	{
		[]string{"drawdown_too_high", "drawdown", "ruin"},
		"it fell too deep: a smaller position and a stop",
		func(_ *frame, g *Genome, _ *num.Rand) {
			g.Size = step(sizes, g.Size, -1)
			g.Stop = 3
		},
	},
	{
		[]string{"win_rate_too_low"},
		"it won too rarely: take profits sooner",
		func(_ *frame, g *Genome, r *num.Rand) { g.Target = targets[1+pick(r, 2)] },
	},
	{
		[]string{"buy_and_hold", "benchmark"},
		"holding did better: long only, a longer horizon",
		func(f *frame, g *Genome, _ *num.Rand) {
			g.Short = false
			g.Horizon = step(f.horizons, g.Horizon, 2)
		},
	},
	{
		[]string{"deflated_sharpe", "significance"},
		"luck earns as much: another window, a position only while the signal lasts, nothing that is not needed",
		func(f *frame, g *Genome, r *num.Rand) {
			changePeriod(f, g, r)
			changeExit(f, g, r)
			if len(g.Inputs) > 2 {
				dropReading(f, g, r)
			}
		},
	},
	{
		[]string{"sharpe_too_low", "sharpe"},
		"it did not earn its risk: another reading, another window",
		func(f *frame, g *Genome, r *num.Rand) {
			changeReading(f, g, r)
			changePeriod(f, g, r)
		},
	},
}

// other is one of a list, but not this one.
func other(list []strategy.LabelSource, not strategy.LabelSource, r *num.Rand) strategy.LabelSource {
	rest := slices.DeleteFunc(slices.Clone(list), func(x strategy.LabelSource) bool { return x == not })
	return rest[pick(r, len(rest))]
}

// lesson is what to try next on an experiment: what it asks for and has not been
// tried, and else what its outcome teaches.
func (e *Experiment) lesson() *lesson {
	if l := firstLesson(e.Open); l != nil {
		return l
	}
	return lessonOf(e.Outcome)
}

// lessonOf is what an outcome teaches; nil if nothing. What is seen in the
// figures counts as a reason too, behind those that were given.
func lessonOf(o Outcome) *lesson {
	codes := text.Map(o.Reasons, func(r Refusal) string { return r.Code })
	if o.Collapsed {
		codes = append(codes, "collapsed")
	}
	if o.Sharpe != nil && o.Trades < leastTrades {
		codes = append(codes, "too_few_trades")
	}
	if o.CostShare > 0.5 {
		codes = append(codes, "costs")
	}
	return firstLesson(codes)
}

// firstLesson is the first that a reason asks for, by its code.
func firstLesson(codes []string) *lesson {
	for _, code := range codes {
		for i := range lessons {
			if slices.Contains(lessons[i].codes, code) {
				return &lessons[i]
			}
		}
	}
	return nil
}
