package backend

import (
	"context"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// DeleteSeries implements httpapi.LibraryDesk.
func (d desk) DeleteSeries(ctx context.Context, symbol, timeframe string) (httpapi.DeletedSeries, error) {
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return httpapi.DeletedSeries{}, ktrdr.Errorf(ktrdr.CodeInvalid, "timeframe: %w", err)
	}
	gone, err := d.library.Delete(ctx, symbol, tf)
	return httpapi.DeletedSeries{Symbol: symbol, Timeframe: timeframe, Series: len(gone)}, err
}

// RenameSeries implements httpapi.LibraryDesk.
func (d desk) RenameSeries(ctx context.Context, r httpapi.RenameRequest) ([]httpapi.Series, error) {
	entries, err := d.library.Rename(ctx, d.markets, r.Symbol, r.NewSymbol)
	if err != nil {
		return nil, err
	}
	list := make([]httpapi.Series, len(entries))
	for i, e := range entries {
		if list[i], err = d.shown(ctx, e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// shown is a series with its market, and why it cannot be read if that is so.
func (d desk) shown(ctx context.Context, e jobs.Entry) (httpapi.Series, error) {
	p, err := d.markets.Describe(ctx, e)
	if err != nil {
		return httpapi.Series{}, err
	}
	s := shownSeries(e, p)
	s.Problem, err = d.library.Problem(ctx, e)
	return s, err
}

// AddStrategy implements httpapi.LibraryDesk.
func (d desk) AddStrategy(ctx context.Context, r httpapi.StrategyRequest) (httpapi.Strategy, error) {
	s, err := d.library.AddStrategy(ctx, jobs.NewStrategy{Name: r.Name, Text: r.Strategy, Source: "request", Replace: r.Replace})
	return httpapi.Strategy(s), err
}

// DeleteStrategy implements httpapi.LibraryDesk.
func (d desk) DeleteStrategy(ctx context.Context, name string) error {
	return d.library.DeleteStrategy(ctx, name)
}
