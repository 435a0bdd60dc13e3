package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/market"
)

// Series is bars of a symbol.
type Series struct {
	Symbol    string     `json:"symbol"`
	Timeframe string     `json:"timeframe"`
	Hash      ktrdr.Hash `json:"bars_hash,omitzero"`
	Bars      int        `json:"bars"`
	First     time.Time  `json:"first,omitzero"` // opening of the first bar
	Last      time.Time  `json:"last,omitzero"`
	Size      int64      `json:"size"`              // of its file, in bytes
	Origin    string     `json:"origin,omitempty"`  // file, synth, resample, rename, or folder of an earlier version
	Source    string     `json:"source,omitempty"`  // the files, the series or the folder that it was made of
	MadeUp    *bool      `json:"made_up"`           // its bars, or some of them, were made up; null: not known
	AddedAt   time.Time  `json:"added_at,omitzero"` // when it became current
	Problem   string     `json:"problem,omitempty"` // why it cannot be read; the rest is then unknown

	Market         string    `json:"market,omitempty"`          // empty while it is undecided
	MarketReason   string    `json:"market_reason,omitempty"`   // why it belongs there
	MarketQuestion string    `json:"market_question,omitempty"` // what the user must decide, and how
	HoldoutFrom    time.Time `json:"holdout_from,omitzero"`     // of the market; bars that close after this are its holdout
	Trials         int       `json:"trials"`                    // on the market
	Looks          int       `json:"looks"`                     // at its holdout
}

// seriesOf is a series of the library and its market.
func seriesOf(e Entry, p Placement) Series {
	return Series{
		Symbol: e.Symbol, Timeframe: string(e.Timeframe), Hash: e.Hash, Bars: e.Bars,
		First: instant(e.First), Last: instant(e.Last), Size: e.Size, Origin: string(e.Origin), Source: e.Source, MadeUp: e.MadeUp,
		AddedAt: e.AddedAt,
		Market:  p.Market.ID, MarketReason: p.Reason, MarketQuestion: p.Question,
		HoldoutFrom: p.Market.HoldoutFrom, Trials: p.Market.Trials, Looks: p.Market.Looks,
	}
}

// Series lists the current series of the library with their markets, and why one
// cannot be read if that is so.
func (d *Desk) Series(ctx context.Context) ([]Series, error) {
	entries, err := d.cfg.Library.List(ctx)
	if err != nil {
		return nil, err
	}
	return d.shown(ctx, entries)
}

func (d *Desk) shown(ctx context.Context, entries []Entry) ([]Series, error) {
	list := make([]Series, len(entries))
	for i, e := range entries {
		p, err := d.cfg.Markets.Describe(ctx, e)
		if err != nil {
			return nil, err
		}
		list[i] = seriesOf(e, p)
		if list[i].Problem, err = d.cfg.Library.Problem(ctx, e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// MarketRequest says to which market a series of the library belongs. Without
// an answer its prices decide, if they can.
type MarketRequest struct {
	Symbol       string `json:"symbol"`
	Timeframe    string `json:"timeframe"`
	SameMarketAs string `json:"same_market_as,omitempty"` // a symbol or a market
	NewMarket    bool   `json:"new_market,omitempty"`
}

// DecideMarket assigns a series of the library to a market.
func (d *Desk) DecideMarket(ctx context.Context, r MarketRequest) (Series, error) {
	tf, err := market.ParseTimeframe(r.Timeframe)
	if err != nil {
		return Series{}, wrong("timeframe: %w", err)
	}
	e, p, err := d.cfg.Markets.PlaceSeries(ctx, d.cfg.Library, r.Symbol, tf, Choice{SameAs: r.SameMarketAs, New: r.NewMarket})
	switch {
	case errors.Is(err, market.ErrNoData):
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s: GET /api/v1/data lists what there is", tf, r.Symbol)
	case err != nil && ktrdr.CodeOf(err) == ktrdr.CodeInternal: // the library does not take the name
		err = wrong("%w", err)
	}
	return seriesOf(e, p), err
}

// DeletedSeries says what was deleted.
type DeletedSeries struct {
	Symbol    string `json:"symbol"`
	Timeframe string `json:"timeframe"`
	Series    int    `json:"series_deleted"` // the current one and those that it replaced
}

// DeleteSeries deletes a series and those that it replaced; CodeNotFound.
func (d *Desk) DeleteSeries(ctx context.Context, symbol, timeframe string) (DeletedSeries, error) {
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return DeletedSeries{}, wrong("timeframe: %w", err)
	}
	gone, err := d.cfg.Library.Delete(ctx, symbol, tf)
	return DeletedSeries{Symbol: symbol, Timeframe: timeframe, Series: len(gone)}, err
}

// RenameRequest gives the series of a symbol another one.
type RenameRequest struct {
	Symbol    string `json:"symbol"`
	NewSymbol string `json:"new_symbol"`
}

// RenameSeries gives all series of a symbol another symbol; CodeNotFound, and
// CodeConflict where that has one of them.
func (d *Desk) RenameSeries(ctx context.Context, r RenameRequest) ([]Series, error) {
	entries, err := d.cfg.Markets.RenameSeries(ctx, d.cfg.Library, r.Symbol, r.NewSymbol)
	if err != nil {
		return nil, err
	}
	return d.shown(ctx, entries)
}

// StrategyRequest gives the lab a strategy.
type StrategyRequest struct {
	Name     string `json:"name,omitempty"` // empty means the name in the text
	Strategy string `json:"strategy_yaml"`
	Replace  bool   `json:"replace,omitempty"` // take the place of one with the same name
}

// AddStrategy gives the lab a strategy; CodeConflict.
func (d *Desk) AddStrategy(ctx context.Context, r StrategyRequest) (Strategy, error) {
	return d.cfg.Library.AddStrategy(ctx, NewStrategy{Name: r.Name, Text: r.Strategy, Source: "request", Replace: r.Replace})
}

// DeleteStrategy deletes a strategy of the lab; CodeNotFound.
func (d *Desk) DeleteStrategy(ctx context.Context, name string) error {
	return d.cfg.Library.DeleteStrategy(ctx, name)
}

// Indicators describes the indicators that strategies may use.
func (d *Desk) Indicators() []indicator.Description {
	var list []indicator.Description
	for _, def := range indicator.Definitions() {
		list = append(list, indicator.Describe(def))
	}
	return list
}
