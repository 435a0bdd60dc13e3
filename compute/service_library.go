package compute

import (
	"context"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
	"github.com/ktrdr/ktrdr/strategy"
)

func seriesOf(e jobs.SeriesInfo, p library.Placement) jobs.LibrarySeries {
	return jobs.LibrarySeries{
		Symbol: e.Symbol, Timeframe: string(e.Timeframe), Hash: e.Hash, Bars: e.Bars,
		First: instant(e.First), Last: instant(e.Last), Size: e.Size, Origin: string(e.Origin), Source: e.Source, MadeUp: e.MadeUp,
		AddedAt: e.AddedAt,
		Market:  p.Market.ID, MarketReason: p.Reason, MarketQuestion: p.Question,
		HoldoutFrom: p.Market.HoldoutFrom, Trials: p.Market.Trials, Looks: p.Market.Looks,
		Record: e.Record, Findings: quality.Seal(e.Findings, p.Market.HoldoutFrom), Accepted: e.Accepted,
		Holdouts: p.Market.Holdouts,
	}
}

// Series lists the current series with their markets and problems.
func (d *Service) Series(ctx context.Context) ([]jobs.LibrarySeries, error) {
	entries, err := d.cfg.Library.List(ctx)
	if err != nil {
		return nil, err
	}
	return d.shown(ctx, entries)
}

func (d *Service) shown(ctx context.Context, entries []jobs.SeriesInfo) ([]jobs.LibrarySeries, error) {
	follows, err := FollowedSeries(ctx, d.cfg.Library, d.cfg.Operations)
	if err != nil {
		return nil, err
	}
	list := make([]jobs.LibrarySeries, len(entries))
	for i, e := range entries {
		p, err := d.cfg.Markets.Describe(ctx, e)
		if err != nil {
			return nil, err
		}
		list[i] = seriesOf(e, p)
		for _, f := range follows {
			if f.As == e.Symbol && f.Timeframe == string(e.Timeframe) {
				list[i].Follow = &f
			}
		}
		if list[i].Problem, err = d.cfg.Library.Problem(ctx, e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// CheckSeries reads a series to its last byte and checks the bars before the
// holdout by the rules of an import; CodeNotFound. The answer is kept as long as
// the series, its holdout and the size of its file stay the same.
func (d *Service) CheckSeries(ctx context.Context, symbol, timeframe string) (jobs.SeriesCheck, error) {
	out := jobs.SeriesCheck{Symbol: symbol, Timeframe: timeframe}
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return out, wrong("timeframe: %w", err)
	}
	e, err := d.cfg.Library.Info(ctx, symbol, tf)
	switch {
	case errors.Is(err, market.ErrNoData):
		return out, ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s: GET /api/v1/data lists what there is", tf, symbol)
	case err != nil:
		return out, err
	}
	p, err := d.cfg.Markets.Describe(ctx, e)
	if err != nil {
		return out, err
	}
	if out, err = d.checks.of(ctx, d, e, p.Market); err == nil {
		out.Accepted = e.Accepted
	}
	return out, err
}

// DecideMarket assigns a series of the library to a market.
func (d *Service) DecideMarket(ctx context.Context, r jobs.MarketRequest) (jobs.LibrarySeries, error) {
	tf, err := market.ParseTimeframe(r.Timeframe)
	if err != nil {
		return jobs.LibrarySeries{}, wrong("timeframe: %w", err)
	}
	e, p, err := d.cfg.Markets.PlaceSeries(ctx, d.cfg.Library, r.Symbol, tf, library.Choice{SameAs: r.SameMarketAs, New: r.NewMarket})
	switch {
	case errors.Is(err, market.ErrNoData):
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s: GET /api/v1/data lists what there is", tf, r.Symbol)
	case err != nil && ktrdr.CodeOf(err) == ktrdr.CodeInternal: // the library does not take the name
		err = wrong("%w", err)
	}
	return seriesOf(e, p), err
}

// AcceptFindings lets research begin on a series in spite of severe findings. by is
// the person who accepts them.
func (d *Service) AcceptFindings(ctx context.Context, r jobs.AcceptRequest, by string) (jobs.LibrarySeries, error) {
	tf, err := market.ParseTimeframe(r.Timeframe)
	if err != nil {
		return jobs.LibrarySeries{}, wrong("timeframe: %w", err)
	}
	e, err := d.cfg.Library.Info(ctx, r.Symbol, tf)
	if errors.Is(err, market.ErrNoData) {
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s: GET /api/v1/data lists what there is", tf, r.Symbol)
	}
	var p library.Placement
	if err == nil {
		p, err = d.cfg.Markets.Describe(ctx, e)
	}
	if err == nil {
		e, err = d.cfg.Library.Accept(ctx, e, p.Market, r.Findings, by)
	}
	return seriesOf(e, p), err
}

// DeleteSeries deletes a series and those that it replaced; CodeNotFound.
func (d *Service) DeleteSeries(ctx context.Context, symbol, timeframe string) (jobs.DeletedSeries, error) {
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return jobs.DeletedSeries{}, wrong("timeframe: %w", err)
	}
	gone, err := d.cfg.Library.Delete(ctx, symbol, tf)
	return jobs.DeletedSeries{Symbol: symbol, Timeframe: timeframe, Series: len(gone)}, err
}

// RenameSeries gives all series of a symbol another one; CodeNotFound, CodeConflict.
func (d *Service) RenameSeries(ctx context.Context, r jobs.RenameRequest) ([]jobs.LibrarySeries, error) {
	entries, err := d.cfg.Markets.RenameSeries(ctx, d.cfg.Library, r.Symbol, r.NewSymbol)
	if err != nil {
		return nil, err
	}
	return d.shown(ctx, entries)
}

// AddStrategy gives the lab a strategy; CodeConflict.
func (d *Service) AddStrategy(ctx context.Context, r jobs.StrategyRequest) (jobs.Strategy, error) {
	return d.cfg.Library.AddStrategy(ctx, library.NewStrategy{Name: r.Name, Text: r.Strategy, Source: "request", Replace: r.Replace})
}

// ValidateStrategy says what is wrong with the text of a strategy. Nothing is stored.
func (*Service) ValidateStrategy(text string) strategy.Validation {
	return strategy.Validate([]byte(text), "strategy")
}

// DeleteStrategy deletes a strategy of the lab; CodeNotFound.
func (d *Service) DeleteStrategy(ctx context.Context, name string) error {
	return d.cfg.Library.DeleteStrategy(ctx, name)
}

// Indicators describes the indicators that strategies may use.
func (d *Service) Indicators() []indicator.Description {
	return text.Map(indicator.Definitions(), indicator.Describe)
}
