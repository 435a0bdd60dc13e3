package research

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// minBars is how many bars a research needs at least to measure indicators.
const minBars = 1000

// parts are the bars of a research: what it may see, and what comes after.
type parts struct {
	research, holdout []jobs.Bars
	searched, sealed  []Span         // what these are
	markets           []SymbolMarket // of the symbols that are traded
	context           []SymbolMarket // and of the context symbols
	starts            []time.Time    // where the holdouts of all of them begin
	from              time.Time      // trading of the holdout begins here
	renewal                          // of these holdouts, if it was asked for
	spreads           []MeasuredSpread
	data              []SeriesFacts     // of all series
	traded            []jobs.SeriesInfo // those of them that are no context
	library           []jobs.SeriesInfo // all that there is
}

// cut divides the current series of the library where the holdouts of their
// markets begin, and puts both parts into the blob store as files of their own:
// an operation that is given the one cannot read the other.
//
//	research part                      │ warm-up only   │ holdout, traded
//	bars closed by the earliest start  │                │
//	                                earliest          latest start of the markets
//
// With one market both starts are the same. The bars of context symbols are cut at
// the same instants, and have their part in where these are: their holdouts stay closed.
func (d *Desk) cut(ctx context.Context, symbols []string, frames []market.Timeframe, others []strategy.Series,
	renew time.Time,
) (parts, error) {
	v, err := d.divide(ctx, symbols, frames, others, renew, d.cfg.Markets.Of)
	if err != nil {
		return parts{}, err
	}
	p := v.parts
	if err := d.fix(ctx, &p); err != nil {
		return p, err
	}
	for k, b := range v.series {
		i := v.cuts[k]
		for _, half := range []struct {
			bars *market.Bars
			kind string
			to   *[]jobs.Bars
			span *[]Span
		}{{b.Slice(0, i), "", &p.research, &p.searched}, {b.Slice(i, b.Len()), "_holdout", &p.holdout, &p.sealed}} {
			pinned, err := library.PinBars(ctx, d.cfg.Blobs, half.bars, half.kind)
			if err != nil {
				return p, fmt.Errorf("bars of %s %s: %w", b.Symbol, b.Timeframe, err)
			}
			pinned.MadeUp, pinned.Context = v.madeUp[k], k >= len(v.series)-len(others)
			*half.to, *half.span = append(*half.to, pinned), append(*half.span, SpanOf(half.bars))
		}
	}
	return p, nil
}

// marketOf says which market the bars of a series belong to.
type marketOf func(context.Context, *market.Bars) (ktrdr.Market, error)

// divided are series of the library and the index in each where its holdout begins.
type divided struct {
	parts
	series []*market.Bars
	madeUp []*bool
	cuts   []int
}

// divide finds where the holdouts begin. renew is where new ones are asked to begin; zero
// if none are. It stores nothing, unless of does.
func (d *Desk) divide(ctx context.Context, symbols []string, frames []market.Timeframe, others []strategy.Series, renew time.Time,
	of marketOf,
) (v divided, err error) {
	var infos []jobs.SeriesInfo
	if v.series, infos, err = d.open(ctx, symbols, frames, others); err != nil {
		return v, err
	}
	v.madeUp, v.data = text.Map(infos, func(e jobs.SeriesInfo) *bool { return e.MadeUp }), text.Map(infos, factsOf)
	v.traded = infos[:len(infos)-len(others)]
	if v.library, err = d.cfg.Library.List(ctx); err != nil {
		return v, err
	}
	v.renewal.from = renew
	at, err := d.starts(ctx, &v.parts, v.series, len(v.series)-len(others), of)
	if err == nil {
		err = v.renewal.check()
	}
	if err != nil {
		return v, err
	}
	var searched []*market.Bars
	for k, b := range v.series {
		i := CutAt(b, at)
		traded := b.Time[b.Len()-1] >= v.from.Unix()
		if i == 0 || i == b.Len() || !traded {
			return v, wrong("the %s bars of %s are all on one side of %s, where the holdout begins: import bars from before and after it for "+
				"every symbol and timeframe",
				b.Timeframe, b.Symbol, time.Unix(at, 0).UTC().Format("2006-01-02 15:04"))
		}
		v.cuts = append(v.cuts, i)
		if k < len(v.series)-len(others) {
			searched = append(searched, b.Slice(0, i))
		}
	}
	v.spreads = MeasuredSpreads(searched)
	return v, nil
}

// CutAt is the number of bars that a research may see of a series: those that have
// closed where the earliest holdout of its markets begins, Unix seconds.
func CutAt(b *market.Bars, earliest int64) int {
	return sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > earliest })
}

// starts finds the markets of the series and where their holdouts begin. It
// returns the earliest start, Unix seconds, which ends the research part. A market
// that has no holdout start yet gets one when nothing else is wrong: see fix.
// The first series are traded, the others those of context symbols.
func (d *Desk) starts(ctx context.Context, p *parts, series []*market.Bars, traded int, of marketOf) (earliest int64, err error) {
	var latest int64
	for k, b := range series {
		m, err := of(ctx, b)
		if err != nil {
			return 0, err
		}
		list := &p.markets
		if k >= traded {
			list = &p.context
		}
		i := slices.IndexFunc(*list, func(known SymbolMarket) bool { return known.Symbol == b.Symbol })
		if i >= 0 && (*list)[i].Market != m.ID {
			return 0, wrong("the bars of %s belong to several markets, one for each timeframe: import them again from one source, "+
				"or use one timeframe", b.Symbol)
		}
		if i >= 0 {
			continue
		}
		from := m.HoldoutFrom
		if !p.renewal.from.IsZero() {
			if from, err = p.renewal.of(ShortestOf(series, b.Symbol), &m); err != nil {
				return 0, err
			}
		}
		if from.IsZero() {
			from = library.HoldoutStart(ShortestOf(series, b.Symbol), m, d.cfg.Holdout)
		}
		*list, p.starts = append(*list, SymbolMarket{b.Symbol, m.ID}), append(p.starts, from)
		if at := from.Unix(); earliest == 0 || at < earliest {
			earliest = at
		}
		latest = max(latest, from.Unix())
	}
	p.from = time.Unix(latest, 0).UTC()
	return earliest, nil
}

// fix stores the holdout starts of the markets when nothing else is wrong.
func (d *Desk) fix(ctx context.Context, p *parts) error {
	if len(p.renewal.holdouts) > 0 {
		if err := d.cfg.Markets.RenewHoldouts(ctx, p.renewal.holdouts); err != nil {
			return err
		}
	}
	for i, m := range slices.Concat(p.markets, p.context) {
		from, err := d.cfg.Markets.FixHoldout(ctx, m.Market, p.starts[i])
		if err != nil {
			return err
		}
		if !from.Equal(p.starts[i]) {
			return ktrdr.Errorf(ktrdr.CodeConflict, "another request has just set the start of the holdout of %s to %s: send this request again",
				m.Symbol, from.UTC().Format("2006-01-02 15:04"))
		}
	}
	return nil
}

// open opens the current series. Those with severe findings are refused.
func (d *Desk) open(ctx context.Context, symbols []string, frames []market.Timeframe, others []strategy.Series) (
	series []*market.Bars, all []jobs.SeriesInfo, err error,
) {
	add := func(symbols []string, frames []market.Timeframe, context bool) error {
		infos, more, err := d.cfg.Library.OpenAll(ctx, symbols, frames, func(symbol string, tf market.Timeframe) error {
			known, err := d.known(ctx)
			missing := noData(known, symbol, tf)
			if context {
				missing = fmt.Errorf("%s is a context symbol, and %w; the library has %s", symbol, missing, known.Names())
			}
			return errors.Join(missing, err)
		})
		if err == nil {
			err = d.usable(ctx, infos, more)
		}
		series, all = append(series, more...), append(all, infos...)
		return err
	}
	errs := []error{add(symbols, frames, false)}
	for _, c := range others {
		errs = append(errs, add([]string{c.Symbol}, []market.Timeframe{c.Timeframe}, true))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	base := shortest(series).Timeframe
	for _, b := range series[:len(series)-len(others)] {
		if b.Timeframe == base && b.Len() < minBars {
			return nil, nil, wrong("there are only %d %s bars of %s, and a research needs %d: import more", b.Len(), b.Timeframe, b.Symbol, minBars)
		}
	}
	return series, all, nil
}

// usable refuses series with severe findings that no person accepts. A series without a
// market is judged as one without a holdout yet.
func (d *Desk) usable(ctx context.Context, infos []jobs.SeriesInfo, series []*market.Bars) error {
	return d.cfg.Library.Usable(ctx, infos, series, d.cfg.Holdout, func(ctx context.Context, b *market.Bars) (ktrdr.Market, error) {
		m, err := d.cfg.Markets.Known(ctx, b)
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			err = nil
		}
		return m, err
	})
}

// shortest is the series of the first symbol that decisions are made at.
func shortest(series []*market.Bars) *market.Bars { return ShortestOf(series, series[0].Symbol) }

// ShortestOf is the series of a symbol that its holdout is a share of.
func ShortestOf(series []*market.Bars, symbol string) (best *market.Bars) {
	for _, b := range series {
		if b.Symbol == symbol && (best == nil || b.Timeframe.End(0) < best.Timeframe.End(0)) {
			best = b
		}
	}
	return best
}
