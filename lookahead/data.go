package lookahead

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// Synthetic makes up a market for each symbol of the strategy.
func Synthetic(s *strategy.Strategy, bars int, seed uint64) ([]train.Series, error) {
	var list []train.Series
	for i, symbol := range s.Data.Symbols {
		base := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: s.Data.Base, Bars: bars, Seed: seed + uint64(i), Edge: 0.2})
		one := train.Series{Symbol: symbol}
		for _, tf := range s.Data.Timeframes {
			b, err := market.Resample(base, tf)
			if err != nil {
				return nil, fmt.Errorf("synthetic market: %w", err)
			}
			one.Bars = append(one.Bars, b)
		}
		list = append(list, one)
	}
	var context []*market.Bars
	for i, c := range s.ContextSeries() {
		base := market.Synth(market.SynthConfig{
			Symbol: c.Symbol, Timeframe: s.Data.Base, Bars: bars, Seed: seed + uint64(len(list)+i), Edge: 0.2,
		})
		b, err := market.Resample(base, c.Timeframe)
		if err != nil {
			return nil, fmt.Errorf("synthetic market: %w", err)
		}
		context = append(context, b)
	}
	for i := range list {
		list[i].Context = context
	}
	return list, nil
}

// FromLibrary opens the bars of a symbol: of the base timeframe the first, at most
// half of them, of the others those of the same time. The holdout is part of the
// second half, and what a model does there is not shown without being counted.
// Longer bars that the library does not have are made of those of the timeframe of.
func FromLibrary(
	ctx context.Context, l *local.Lab, s *strategy.Strategy, symbol string, bars int, of market.Timeframe,
) (train.Series, error) {
	one := train.Series{Symbol: symbol}
	_, base, err := l.Open(ctx, local.Name{Symbol: symbol, Timeframe: s.Data.Base})
	if err != nil {
		return one, err
	}
	base = base.Slice(0, min(bars, base.Len()/2))
	if base.Len() == 0 {
		return one, fmt.Errorf("there are fewer than 2 bars of %s %s: import more", symbol, s.Data.Base)
	}
	for _, tf := range s.Data.Timeframes {
		b := base
		if tf != s.Data.Base {
			if b, err = longerBars(ctx, l, local.Name{Symbol: symbol, Timeframe: tf}, of); err != nil {
				return one, err
			}
			b = during(b, base)
		}
		one.Bars = append(one.Bars, b)
	}
	for _, c := range s.ContextSeries() {
		b, err := longerBars(ctx, l, local.Name(c), of)
		if err != nil {
			return one, err
		}
		if b = during(b, base); b.Len() == 0 {
			return one, fmt.Errorf("the bars of %s and the %s bars of the context symbol %s are of different times: import bars of the same time",
				symbol, c.Timeframe, c.Symbol)
		}
		one.Context = append(one.Context, b)
	}
	return one, nil
}

// longerBars opens the library's bars of a timeframe, or makes them of shorter ones where that was asked for.
func longerBars(ctx context.Context, l *local.Lab, n local.Name, of market.Timeframe) (*market.Bars, error) {
	_, err := l.Library.Info(ctx, n.Symbol, n.Timeframe)
	switch {
	case err == nil:
		_, b, err := l.Open(ctx, n)
		return b, err
	case !errors.Is(err, market.ErrNoData):
		return nil, err
	case of == "":
		return nil, fmt.Errorf("there are no bars of %s: import them, or make them of shorter ones with --timeframe", n)
	}
	_, b, err := l.Open(ctx, local.Name{Symbol: n.Symbol, Timeframe: of})
	if err != nil {
		return nil, err
	}
	return market.Resample(b, n.Timeframe)
}

// during leaves out the bars that open before the first of base or close after the last.
func during(b, base *market.Bars) *market.Bars {
	first, end := base.Time[0], base.Timeframe.End(base.Time[base.Len()-1])
	i := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= first })
	j := sort.Search(b.Len(), func(j int) bool { return j >= i && b.Timeframe.End(b.Time[j]) > end })
	return b.Slice(i, j)
}
