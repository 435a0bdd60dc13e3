package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// trader trades a model on the symbols of a research: one account for each with
// the same share of the capital, never rebalanced, judged on the sum.
type trader struct {
	model     *train.TrainedModel
	overrides func(symbol string) backtest.Overrides // of a symbol's account; nil means none
}

// trade runs the model over a span. Bars before the span only warm up the
// indicators.
func (t trader) trade(data []train.Series, span strategy.Span) (evidence.Part, *backtest.Portfolio, error) {
	plans, err := train.NewPlans(t.model, data, span, t.overrides)
	if err != nil {
		return evidence.Part{}, nil, err
	}
	accounts, bars := make([]backtest.Account, len(plans)), make([]*market.Bars, len(plans))
	for i, p := range plans {
		run, err := backtest.Backtest(p.Bars, p.Signals.Signal, p.Config)
		if err != nil {
			return evidence.Part{}, nil, fmt.Errorf("%s: %w", p.Bars.Symbol, err)
		}
		accounts[i], bars[i] = backtest.Account{Symbol: p.Bars.Symbol, Result: run}, p.Bars
	}
	all, err := backtest.Combine(t.model.Strategy.Data.Base, accounts)
	if err != nil {
		return evidence.Part{}, nil, err
	}
	part, err := evidence.PartOfPortfolio(bars, all)
	return part, all, err
}

// inSample trades the bars that the model was made with, which are those before
// its test part. A symbol that has no bars to decide at before the test part is
// left out.
func (t trader) inSample(data []train.Series) (evidence.Part, error) {
	span := strategy.Span{End: at(t.model.Info.Split.Test)}
	for _, d := range data {
		base, err := of(d, t.model.Strategy.Data.Base)
		if err != nil {
			return evidence.Part{}, err
		}
		if first := at(base.Time[0]); span.Start.IsZero() || first.Before(span.Start) {
			span.Start = first
		}
	}
	part, _, err := t.trade(data, span)
	if !errors.Is(err, train.ErrNoDecision) {
		return part, err
	}
	var some []train.Series
	for _, d := range data {
		if _, err := train.NewPlan(t.model, d, span, backtest.Overrides{}); err == nil {
			some = append(some, d)
		} else if !errors.Is(err, train.ErrNoDecision) {
			return part, err
		}
	}
	if len(some) == 0 {
		return part, err
	}
	part, _, err = t.trade(some, span)
	return part, err
}

// holdout trades the bars from an instant on. Those before it, seen by research
// or not, only warm up the indicators.
func (t trader) holdout(seen, sealed []train.Series, from time.Time) (evidence.Part, *backtest.Portfolio, error) {
	all, err := joinAll(seen, sealed)
	if err != nil {
		return evidence.Part{}, nil, err
	}
	span := strategy.Span{Start: from}
	for _, d := range sealed {
		base, err := of(d, t.model.Strategy.Data.Base)
		if err != nil {
			return evidence.Part{}, nil, err
		}
		if last := at(base.Timeframe.End(base.Time[base.Len()-1])); last.After(span.End) {
			span.End = last
		}
	}
	return t.trade(all, span)
}

func (t trader) stored(data []train.Series, file []byte) (evidence.Part, error) {
	run, err := backtest.DecodePortfolio(file)
	if err != nil {
		return evidence.Part{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "%w", err)
	}
	bars := make([]*market.Bars, len(data))
	for i, d := range data {
		if bars[i], err = of(d, t.model.Strategy.Data.Base); err != nil {
			return evidence.Part{}, err
		}
		if i < len(run.Accounts) && len(data) > 1 && run.Accounts[i].Symbol != d.Symbol {
			return evidence.Part{}, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: the bars of %s stand where the backtest traded %s", d.Symbol,
				run.Accounts[i].Symbol)
		}
	}
	return evidence.PartOfPortfolio(bars, run)
}

// symbols brings bars, symbol by symbol in their order.
func (in *inputs) symbols(ctx context.Context, bars []jobs.Bars) ([]train.Series, error) {
	all := make([]*market.Bars, len(bars))
	for i, want := range bars {
		var err error
		if all[i], err = in.bars(ctx, want); err != nil {
			return nil, err
		}
	}
	return train.Arrange(all, func(i int) bool { return bars[i].Context }), nil
}

// joinAll puts what came later behind what came before, symbol by symbol.
func joinAll(before, after []train.Series) ([]train.Series, error) {
	if len(before) != len(after) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: there are bars of %d symbols before the holdout, and of %d in it", len(before),
			len(after))
	}
	all := make([]train.Series, len(before))
	for i, b := range before {
		if b.Symbol != after[i].Symbol {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: the holdout has %s where the bars before it have %s", after[i].Symbol, b.Symbol)
		}
		var err error
		if all[i], err = join(b, after[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
