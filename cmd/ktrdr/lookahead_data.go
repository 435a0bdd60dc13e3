package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// lookaheadData is the data that a strategy is checked on.
func (a *app) lookaheadData(cmd *cobra.Command, s *strategy.Strategy, f lookaheadFlags) ([]train.Series, error) {
	if len(f.symbols) == 0 {
		return madeData(s, f)
	}
	var list []train.Series
	for _, symbol := range f.symbols {
		one, err := a.libraryData(cmd, s, symbol, f)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// madeData makes up a market for each symbol of the strategy.
func madeData(s *strategy.Strategy, f lookaheadFlags) ([]train.Series, error) {
	var list []train.Series
	for i, symbol := range s.Data.Symbols {
		base := market.Synth(market.SynthConfig{
			Symbol: symbol, Timeframe: s.Data.Base, Bars: f.bars, Seed: f.seed + uint64(i), Edge: 0.2,
		})
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
	return list, nil
}

// libraryData opens the bars of a symbol: of the base timeframe the first, at most
// half of them, of the others those of the same time. The holdout is part of the
// second half, and what a model does there is not shown without being counted.
func (a *app) libraryData(cmd *cobra.Command, s *strategy.Strategy, symbol string, f lookaheadFlags) (train.Series, error) {
	open := func(tf market.Timeframe) (*market.Bars, error) {
		_, b, err := a.openSeries(cmd, local.Name{Symbol: symbol, Timeframe: tf})
		return b, err
	}
	one := train.Series{Symbol: symbol}
	base, err := open(s.Data.Base)
	if err != nil {
		return one, err
	}
	base = base.Slice(0, min(f.bars, base.Len()/2))
	if base.Len() == 0 {
		return one, fmt.Errorf("there are fewer than 2 bars of %s: import more", local.Name{Symbol: symbol, Timeframe: s.Data.Base})
	}
	for _, tf := range s.Data.Timeframes {
		b := base
		if tf != s.Data.Base {
			if b, err = a.longerBars(cmd, open, local.Name{Symbol: symbol, Timeframe: tf}, f.timeframe); err != nil {
				return one, err
			}
			b = during(b, base)
		}
		one.Bars = append(one.Bars, b)
	}
	return one, nil
}

// longerBars opens the library's bars of a timeframe, or makes them of shorter
// ones where that was asked for.
func (a *app) longerBars(cmd *cobra.Command, open func(market.Timeframe) (*market.Bars, error), s local.Name, of string) (*market.Bars, error) {
	list, err := a.listLibrary(cmd, func(l *local.Lab) ([]local.Series, error) { return l.List(cmd.Context(), false) })
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(e local.Series) bool { return e.Symbol == s.Symbol && e.Timeframe == s.Timeframe }) {
		return open(s.Timeframe)
	}
	if of == "" {
		return nil, fmt.Errorf("there are no bars of %s: import them, or make them of shorter ones with --timeframe", s)
	}
	b, err := open(market.Timeframe(of))
	if err != nil {
		return nil, err
	}
	return market.Resample(b, s.Timeframe)
}

// during leaves out the bars that open before the first of base or close after the
// last.
func during(b, base *market.Bars) *market.Bars {
	first, end := base.Time[0], base.Timeframe.End(base.Time[base.Len()-1])
	i := 0
	for i < b.Len() && b.Time[i] < first {
		i++
	}
	j := i
	for j < b.Len() && b.Timeframe.End(b.Time[j]) <= end {
		j++
	}
	return b.Slice(i, j)
}
