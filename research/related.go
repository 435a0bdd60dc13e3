package research

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

const (
	mostRelated   = 2   // symbols that a finalist is also traded on
	mostCompared  = 20  // symbols whose bars are read to find these
	leastInCommon = 0.5 // share of the finalist's bars that a related symbol must have too
)

// Related is the symbols of the same kind that a finalist is traded on before its look.
// The examination is a trial there.
type Related struct {
	Symbols []jobs.RelatedSymbol          // the most correlated first
	Bars    []jobs.Bars                   // their research parts
	Costs   map[string]backtest.Overrides // of each
	Trial   *ktrdr.NewTrial               // nil: there is no such symbol
}

// FindRelated finds the related symbols of a strategy. The zero value finds none.
type FindRelated func(ctx context.Context, spec *Spec, s *strategy.Strategy) (Related, error)

// relative is a symbol that may be related.
type relative struct {
	jobs.RelatedSymbol
	series []*market.Bars // of each timeframe, the research part alone
	madeUp []*bool
	floor  SymbolCosts
	start  parts // where its holdout begins
}

// Related finds the symbols of the library that have the asset class and the timeframes
// of a strategy's first symbol, and enough bars in common with it. The most correlated
// come first, and of equal ones the first by name. A symbol whose market the run searches
// or reads is left out: nothing new would be seen there.
//
// Of each the research part alone is pinned, and of that only bars that have closed where
// the research part of the finalist ends. So a related symbol shows no holdout, neither
// its own nor that of the finalist.
func (d *Desk) Related(ctx context.Context, spec *Spec, s *strategy.Strategy) (r Related, err error) {
	i := slices.IndexFunc(spec.Bars, func(b jobs.Bars) bool { return b.Symbol == s.Data.Symbols[0] && b.Timeframe == s.Data.Base })
	if i < 0 {
		return r, nil
	}
	data, err := library.ReadBlob(ctx, d.cfg.Blobs, spec.Bars[i].Artifact)
	if err != nil {
		return r, fmt.Errorf("bars of %s: %w", spec.Bars[i].Symbol, err)
	}
	own, err := market.Decode(data)
	if err != nil {
		return r, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %w", spec.Bars[i].Name, err)
	}
	all, err := d.relatives(ctx, spec, s, own)
	if err != nil {
		return r, err
	}
	slices.SortStableFunc(all, func(a, b relative) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Correlation), math.Abs(a.Correlation)), strings.Compare(a.Symbol, b.Symbol))
	})
	for _, x := range all {
		same := func(k jobs.RelatedSymbol) bool { return k.Market == x.Market } // its prices under another name
		if len(r.Symbols) == mostRelated || slices.ContainsFunc(r.Symbols, same) {
			continue
		}
		if err := d.take(ctx, &r, x, s); err != nil {
			return r, err
		}
	}
	return r, nil
}

// take pins the bars of a related symbol, and counts it as a trial.
func (d *Desk) take(ctx context.Context, r *Related, x relative, s *strategy.Strategy) error {
	if err := d.fix(ctx, &x.start); err != nil {
		return err
	}
	trial := ktrdr.TrialMarket{Market: x.Market, Symbols: x.Symbol}
	for k, b := range x.series {
		pinned, err := library.PinBars(ctx, d.cfg.Blobs, b, "")
		if err != nil {
			return fmt.Errorf("bars of %s %s: %w", b.Symbol, b.Timeframe, err)
		}
		pinned.MadeUp = x.madeUp[k]
		r.Bars = append(r.Bars, pinned)
		trial.Timeframes = strings.TrimSpace(trial.Timeframes + " " + string(b.Timeframe))
	}
	if r.Trial == nil {
		r.Trial, r.Costs = &ktrdr.NewTrial{Own: 1}, map[string]backtest.Overrides{}
	}
	r.Trial.Markets, r.Trial.MadeUp = append(r.Trial.Markets, trial), jobs.AnyMadeUp(r.Bars)
	r.Symbols = append(r.Symbols, x.RelatedSymbol)
	paid := x.floor
	paid.Costs = costsOf(s).AtLeast(x.floor.Costs)
	r.Costs[x.Symbol] = paid.overrides()
	return nil
}

// relatives are the symbols that may be related, with their correlations.
func (d *Desk) relatives(ctx context.Context, spec *Spec, s *strategy.Strategy, own *market.Bars) (all []relative, err error) {
	costs := costSources{settings: d.cfg.Costs}
	if d.cfg.Instruments != nil {
		if costs.file, err = d.cfg.Instruments(ctx); err != nil {
			return nil, fmt.Errorf("instruments: %w", err)
		}
	}
	kind := costs.of(own.Symbol)
	if kind.ClassSource == ClassGuess {
		return nil, nil // nothing is known of its kind
	}
	entries, err := d.cfg.Library.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, symbol := range spanning(entries, spec, own) {
		floor := costs.of(symbol)
		if floor.Class != kind.Class || floor.ClassSource == ClassGuess || len(all) == mostCompared {
			continue
		}
		x, err := d.relative(ctx, symbol, spec, s, own)
		if err != nil {
			return nil, err
		}
		if x != nil {
			x.floor = floor
			all = append(all, *x)
		}
	}
	return all, nil
}

// spanning lists the symbols that the run does not name and whose bars may have enough
// in common with a series: those that span the most of it first.
func spanning(entries []jobs.SeriesInfo, spec *Spec, own *market.Bars) (symbols []string) {
	first, last := own.Time[0], own.Time[own.Len()-1]
	type candidate struct {
		symbol string
		shared int64
	}
	var list []candidate
	for _, e := range entries {
		shared := min(e.Last, last) - max(e.First, first)
		named := slices.ContainsFunc(spec.Bars, func(b jobs.Bars) bool { return b.Symbol == e.Symbol })
		if e.Timeframe == own.Timeframe && !named && float64(shared) >= float64(leastInCommon*float64(last-first)) {
			list = append(list, candidate{e.Symbol, shared})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), strings.Compare(a.symbol, b.symbol))
	})
	for _, x := range list {
		symbols = append(symbols, x.symbol)
	}
	return symbols
}

// relative compares a symbol with a series; nil: it is not related. Bars that cannot be
// read, or whose market a person has to decide, do not keep a finalist from its look.
func (d *Desk) relative(ctx context.Context, symbol string, spec *Spec, s *strategy.Strategy, own *market.Bars) (*relative, error) {
	infos, series, err := d.cfg.Library.OpenAll(ctx, []string{symbol}, s.Data.Timeframes, func(symbol string, tf market.Timeframe) error {
		return fmt.Errorf("there are no %s bars of %s", tf, symbol)
	})
	if err == nil {
		err = d.usable(ctx, infos, series)
	}
	if code := ktrdr.CodeOf(err); code == ktrdr.CodeInvalid || code == ktrdr.CodeConflict {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x := &relative{}
	ends, err := d.starts(ctx, &x.start, series, len(series), d.cfg.Markets.Of)
	if code := ktrdr.CodeOf(err); code == ktrdr.CodeConflict || code == ktrdr.CodeInvalid {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x.Symbol, x.Market = symbol, x.start.markets[0].Market
	known := func(m SymbolMarket) bool { return m.Market == x.Market }
	if slices.ContainsFunc(spec.Markets, known) || slices.ContainsFunc(spec.ContextMarkets, known) {
		return nil, nil
	}
	ends = min(ends, own.Timeframe.End(own.Time[own.Len()-1]))
	for k, b := range series {
		from := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= own.Time[0] })
		to := CutAt(b, ends)
		if from >= to {
			return nil, nil
		}
		part := b.Slice(from, to)
		x.series, x.madeUp = append(x.series, part), append(x.madeUp, infos[k].MadeUp)
		if b.Timeframe == own.Timeframe {
			x.Shared, x.Correlation = market.InCommon(own, part)
		}
	}
	if float64(x.Shared) < float64(leastInCommon*float64(own.Len())) {
		return nil, nil
	}
	return x, nil
}
