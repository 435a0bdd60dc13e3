package research

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// minBars is how many bars a research needs at least to measure indicators.
const minBars = 1000

// parts are the bars of a research: what it may see, and what comes after.
type parts struct {
	research, holdout []jobs.Bars
	searched, sealed  []Span // what these are
	markets           []SymbolMarket
	starts            []time.Time // where their holdouts begin
	from              time.Time   // trading of the holdout begins here
}

// cut divides the current series of the library where the holdouts of their
// markets begin, and puts both parts into the blob store as files of their own:
// an operation that is given the one cannot read the other.
//
//	research part                      │ warm-up only   │ holdout, traded
//	bars closed by the earliest start  │                │
//	                                earliest          latest start of the markets
//
// With one market both starts are the same.
func (d *Desk) cut(ctx context.Context, symbols []string, frames []market.Timeframe) (parts, error) {
	v, err := d.divide(ctx, symbols, frames, d.cfg.Markets.Of)
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
			pinned.MadeUp = v.madeUp[k]
			*half.to, *half.span = append(*half.to, pinned), append(*half.span, spanOf(half.bars))
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

// divide finds where the holdouts begin. It stores nothing, unless of does.
func (d *Desk) divide(ctx context.Context, symbols []string, frames []market.Timeframe, of marketOf) (v divided, err error) {
	if v.series, v.madeUp, err = d.open(ctx, symbols, frames); err != nil {
		return v, err
	}
	at, err := d.starts(ctx, &v.parts, v.series, of)
	if err != nil {
		return v, err
	}
	for _, b := range v.series {
		i := sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > at })
		traded := b.Time[b.Len()-1] >= v.from.Unix()
		if i == 0 || i == b.Len() || !traded {
			return v, wrong("the %s bars of %s are all on one side of %s, where the holdout begins: import bars from before and after it for "+
				"every symbol and timeframe",
				b.Timeframe, b.Symbol, time.Unix(at, 0).UTC().Format("2006-01-02 15:04"))
		}
		v.cuts = append(v.cuts, i)
	}
	return v, nil
}

// starts finds the markets of the series and where their holdouts begin. It
// returns the earliest start, Unix seconds, which ends the research part. A market
// that has no holdout start yet gets one when nothing else is wrong: see fix.
func (d *Desk) starts(ctx context.Context, p *parts, series []*market.Bars, of marketOf) (earliest int64, err error) {
	var latest int64
	for _, b := range series {
		m, err := of(ctx, b)
		if err != nil {
			return 0, err
		}
		i := slices.IndexFunc(p.markets, func(known SymbolMarket) bool { return known.Symbol == b.Symbol })
		if i >= 0 && p.markets[i].Market != m.ID {
			return 0, wrong("the bars of %s belong to several markets, one for each timeframe: import them again from one source, "+
				"or use one timeframe", b.Symbol)
		}
		if i >= 0 {
			continue
		}
		from := m.HoldoutFrom
		if from.IsZero() {
			from = library.HoldoutStart(shortestOf(series, b.Symbol), m, d.cfg.Holdout)
		}
		p.markets, p.starts = append(p.markets, SymbolMarket{b.Symbol, m.ID}), append(p.starts, from)
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
	for i, m := range p.markets {
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

// open opens the current series and says which are made up.
func (d *Desk) open(ctx context.Context, symbols []string, frames []market.Timeframe) (series []*market.Bars, madeUp []*bool, err error) {
	infos, series, err := d.cfg.Library.OpenAll(ctx, symbols, frames, func(symbol string, tf market.Timeframe) error {
		known, err := d.known(ctx)
		return errors.Join(noData(known, symbol, tf), err)
	})
	if err != nil {
		return nil, nil, err
	}
	for _, e := range infos {
		madeUp = append(madeUp, e.MadeUp)
	}
	base := shortest(series).Timeframe
	for _, b := range series {
		if b.Timeframe == base && b.Len() < minBars {
			return nil, nil, wrong("there are only %d %s bars of %s, and a research needs %d: import more", b.Len(), b.Timeframe, b.Symbol, minBars)
		}
	}
	return series, madeUp, nil
}

// shortest is the series of the first symbol that decisions are made at.
func shortest(series []*market.Bars) *market.Bars { return shortestOf(series, series[0].Symbol) }

func shortestOf(series []*market.Bars, symbol string) (best *market.Bars) {
	for _, b := range series {
		if b.Symbol == symbol && (best == nil || b.Timeframe.End(0) < best.Timeframe.End(0)) {
			best = b
		}
	}
	return best
}
