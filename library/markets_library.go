package library

import (
	"context"
	"errors"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// Describe returns where a series belongs, as far as that is known. A series
// that has no market and about which nothing was asked has an empty Placement.
func (m *Markets) Describe(ctx context.Context, e jobs.SeriesInfo) (Placement, error) {
	known, err := m.ledger.SeriesOf(ctx, e.Symbol, string(e.Timeframe), e.Hash)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		m.mu.Lock()
		defer m.mu.Unlock()
		return Placement{Question: m.asked[e.Hash].question}, nil
	}
	if err != nil {
		return Placement{}, err
	}
	return m.placed(ctx, known)
}

// together is the markets that a new series goes to as one, with the earliest of their
// holdouts. Where the user must decide, they are all that share its time.
func (m *Markets) together(ctx context.Context, b *candidate, s *ktrdr.NewSeries, question string) (one ktrdr.Market, err error) {
	var ids []string
	if s != nil {
		ids = append(slices.Clone(s.Same), s.Market)
	} else if question != "" {
		all, err := m.ledger.Series(ctx)
		if err != nil {
			return one, err
		}
		for _, other := range all {
			if meets(other, b) {
				ids = append(ids, other.Market)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if id == "" {
			continue // a new market
		}
		is, err := m.ledger.Market(ctx, id)
		if err != nil {
			return one, err
		}
		one.Series = append(one.Series, is.Series...)
		if from := is.HoldoutFrom; !from.IsZero() && (one.HoldoutFrom.IsZero() || from.Before(one.HoldoutFrom)) {
			one.HoldoutFrom = from
		}
	}
	return one, nil
}

// PlaceAll assigns the current series of a library that have no market, of one
// symbol or, for "", of all. It reports each. A series that cannot be read
// is skipped. It stops when ctx ends.
func (m *Markets) PlaceAll(ctx context.Context, l *Library, symbol string, tell func(e jobs.SeriesInfo, p Placement, err error)) error {
	entries, err := l.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if symbol != "" && e.Symbol != symbol {
			continue
		}
		_, err := m.ledger.SeriesOf(ctx, e.Symbol, string(e.Timeframe), e.Hash)
		if err == nil {
			continue
		}
		var p Placement
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			p, err = m.placeStored(ctx, l, e)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tell(e, p, err)
	}
	return nil
}

func (m *Markets) placeStored(ctx context.Context, l *Library, e jobs.SeriesInfo) (Placement, error) {
	b, err := l.Open(ctx, e)
	if err != nil {
		return Placement{}, err
	}
	return m.Place(ctx, b, Choice{})
}

// PlaceBeside is Place. A symbol that the choice names is assigned first.
func (m *Markets) PlaceBeside(ctx context.Context, l *Library, b *market.Bars, c Choice) (Placement, error) {
	if err := m.placeNamed(ctx, l, c); err != nil {
		return Placement{}, err
	}
	return m.Place(ctx, b, c)
}

// placeNamed assigns the series of the symbol that a choice names.
func (m *Markets) placeNamed(ctx context.Context, l *Library, c Choice) error {
	if c.SameAs == "" {
		return nil
	}
	var undecided error
	err := m.PlaceAll(ctx, l, c.SameAs, func(_ jobs.SeriesInfo, p Placement, err error) {
		if err == nil && p.Question != "" {
			err = ktrdr.Errorf(ktrdr.CodeConflict, "%s", p.Question)
		}
		undecided = errors.Join(undecided, err)
	})
	return errors.Join(err, undecided)
}

// renamed puts a series under a new symbol into its market; nil if that is undecided.
func (m *Markets) renamed(ctx context.Context, b *market.Bars, to string) (*ktrdr.NewSeries, error) {
	old, err := m.Place(ctx, b, Choice{})
	if err != nil || old.Question != "" {
		return nil, err
	}
	copied := *b
	copied.Symbol = to
	named := candidateOf(&copied)
	s := newSeries(named, "renamed from "+b.Symbol)
	s.Same = []string{old.Market.ID}
	s.Prices, err = m.keep(ctx, named)
	return &s, err
}

// PlaceSeries assigns the current series of a symbol and timeframe.
func (m *Markets) PlaceSeries(ctx context.Context, l *Library, symbol string, tf market.Timeframe,
	c Choice,
) (jobs.SeriesInfo, Placement, error) {
	e, err := l.Info(ctx, symbol, tf)
	if err != nil {
		return e, Placement{}, err
	}
	b, err := l.Open(ctx, e)
	if err != nil {
		return e, Placement{}, err
	}
	p, err := m.PlaceBeside(ctx, l, b, c)
	return e, p, err
}

// RenameSeries gives all series of a symbol another one, in their markets.
func (m *Markets) RenameSeries(ctx context.Context, l *Library, from, to string) ([]jobs.SeriesInfo, error) {
	return l.Rename(ctx, m, from, to)
}
