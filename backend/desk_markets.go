package backend

import (
	"context"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// Series implements httpapi.Desk.
func (d desk) Series(ctx context.Context) ([]httpapi.Series, error) {
	entries, err := d.library.List(ctx)
	if err != nil {
		return nil, err
	}
	var list []httpapi.Series
	for _, e := range entries {
		s, err := d.shown(ctx, e)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// shownSeries is a series of the library and its market.
func shownSeries(e jobs.Entry, p jobs.Placement) httpapi.Series {
	return httpapi.Series{
		Symbol: e.Symbol, Timeframe: string(e.Timeframe), Hash: e.Hash, Bars: e.Bars,
		First: instant(e.First), Last: instant(e.Last), Size: e.Size, Origin: string(e.Origin), Source: e.Source, MadeUp: e.MadeUp, AddedAt: e.AddedAt,
		Market: p.Market.ID, MarketReason: p.Reason, MarketQuestion: p.Question,
		HoldoutFrom: p.Market.HoldoutFrom, Trials: p.Market.Trials, Looks: p.Market.Looks,
	}
}

// DecideMarket implements httpapi.Desk.
func (d desk) DecideMarket(ctx context.Context, r httpapi.MarketRequest) (httpapi.Series, error) {
	tf, err := market.ParseTimeframe(r.Timeframe)
	if err != nil {
		return httpapi.Series{}, ktrdr.Errorf(ktrdr.CodeInvalid, "timeframe: %w", err)
	}
	e, p, err := PlaceSeries(ctx, d.markets, d.library, r.Symbol, tf, jobs.Choice{SameAs: r.SameMarketAs, New: r.NewMarket})
	switch {
	case errors.Is(err, market.ErrNoData):
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s: GET /api/v1/data lists what there is", tf, r.Symbol)
	case err != nil && ktrdr.CodeOf(err) == ktrdr.CodeInternal: // the library does not take the name
		err = ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
	}
	return shownSeries(e, p), err
}

// PlaceSeries assigns the current series of a symbol and timeframe.
func PlaceSeries(ctx context.Context, m *jobs.Markets, l *jobs.Library, symbol string, tf market.Timeframe, c jobs.Choice) (jobs.Entry, jobs.Placement, error) {
	e, err := l.Entry(ctx, symbol, tf)
	if err != nil {
		return e, jobs.Placement{}, err
	}
	b, err := l.Open(ctx, e)
	if err != nil {
		return e, jobs.Placement{}, err
	}
	p, err := m.PlaceBeside(ctx, l, b, c)
	return e, p, err
}

// assignMarkets assigns the series of the library that have no market: those
// that were imported while no backend ran. What cannot be decided is logged.
func (b *Backend) assignMarkets(ctx context.Context) {
	err := b.markets.PlaceAll(ctx, b.library, "", func(e jobs.Entry, p jobs.Placement, err error) {
		log := b.Log.With("symbol", e.Symbol, "timeframe", string(e.Timeframe))
		switch {
		case err != nil:
			log.WarnContext(ctx, "market of a series could not be decided", "err", err)
		case p.Question != "":
			log.WarnContext(ctx, "market of a series is undecided", "question", p.Question)
		default:
			log.InfoContext(ctx, "series assigned to a market", "market", p.Market.ID, "reason", p.Reason)
		}
	})
	if err != nil && ctx.Err() == nil {
		b.Log.WarnContext(ctx, "markets of the library could not be decided", "err", err)
	}
}
