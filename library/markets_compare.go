package library

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

func nameOf(b *candidate) string { return b.Symbol + " " + string(b.Timeframe) }

func (m *Markets) compare(ctx context.Context, b *candidate, all []ktrdr.MarketSeries) (market.Assignment, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(s ktrdr.MarketSeries) bool { return s.Prices.Size == 0 || !meets(s, b) })
	all, err := m.representatives(ctx, all)
	if err != nil {
		return market.Assignment{}, err
	}
	known := make([]market.Known, 0, len(all))
	for _, s := range all {
		known = append(known, market.Known{
			Market: s.Market, Series: s.Symbol + " " + s.Timeframe,
			Prices: func() (*market.Prices, error) { return m.keptPrices(ctx, s) },
		})
	}
	return market.Decide(b.Prices(), known)
}

func (m *Markets) keptPrices(ctx context.Context, s ktrdr.MarketSeries) (*market.Prices, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if p, known := m.prices.Get(s.Prices.SHA256); known {
		return p, nil
	}
	text, err := ReadBlob(ctx, m.blobs, s.Prices)
	if err == nil {
		var p *market.Prices
		if p, err = market.DecodePrices(text); err == nil {
			m.prices.Put(s.Prices.SHA256, p, p.Size())
			return p, nil
		}
	}
	if code := ktrdr.CodeOf(err); code == ktrdr.CodeUnavailable || ctx.Err() != nil {
		return nil, err
	}
	return nil, ktrdr.Errorf(ktrdr.CodeCorrupt,
		"the kept prices of %s %s cannot be read, and without them no new series can be assigned to a market: "+
			"import %s %s again with `ktrdr data import`, or restore the blob from a backup (`ktrdr doctor` names it): %w", s.Symbol, s.Timeframe,
		s.Symbol, s.Timeframe, err)
}

func (m *Markets) keep(ctx context.Context, b *candidate) (ktrdr.Artifact, error) {
	text := market.EncodePrices(b.Prices())
	a := ktrdr.Artifact{Name: fmt.Sprintf("%s_%s.prices", b.Symbol, b.Timeframe), SHA256: sha256.Sum256(text), Size: int64(len(text))}
	_, err := m.blobs.Stat(ctx, a.SHA256)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		_, err = m.blobs.Put(ctx, a.SHA256, bytes.NewReader(text))
	}
	return a, err
}

// named is the market that a symbol or an id names.
func (m *Markets) named(ctx context.Context, name string, all []ktrdr.MarketSeries) (string, error) {
	var ids, of []string
	for _, s := range all {
		if s.Market == name {
			return name, nil
		}
		if s.Symbol == name && !slices.Contains(ids, s.Market) {
			ids, of = append(ids, s.Market), append(of, s.Timeframe+" is "+s.Market)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		if found, err := m.ledger.Market(ctx, name); err == nil {
			return found.ID, nil // it was merged
		}
		return "", wrong("no series of %q has a market: `ktrdr data list` shows the symbols that have one", name)
	}
	return "", wrong("the series of %s belong to several markets (%s): give the id of one of them instead", name, strings.Join(of, ", "))
}

// meets tells whether a series may share returns with b in some time zone.
func meets(s ktrdr.MarketSeries, b *candidate) bool {
	const margin = 15 * 24 * time.Hour // more than all time zones and the longest bar but a month
	return b.Len() > 0 && !s.First.Add(-margin).After(time.Unix(b.Time[b.Len()-1], 0)) && !s.Last.Add(margin).Before(time.Unix(b.Time[0], 0))
}

// representatives leaves out a series whose prices another one of the same
// market, symbol and timeframe contains. Else a series that is imported again
// every day would be compared with every one of its days. Only prices show
// that one series stands in for another. Neither the word of the user that they
// are one market does, nor the time that they cover.
func (m *Markets) representatives(ctx context.Context, all []ktrdr.MarketSeries) ([]ktrdr.MarketSeries, error) {
	type kind struct{ market, symbol, timeframe string }
	kept := map[kind][]ktrdr.MarketSeries{}
	var out []ktrdr.MarketSeries
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b ktrdr.MarketSeries) int { return cmp.Compare(b.Bars, a.Bars) })
next:
	for _, s := range all {
		k := kind{s.Market, s.Symbol, s.Timeframe}
		for _, longer := range kept[k] {
			contained, err := m.contains(ctx, longer, s)
			if err != nil {
				return nil, err
			}
			if contained {
				continue next
			}
		}
		kept[k], out = append(kept[k], s), append(out, s)
	}
	return out, nil
}

func (m *Markets) contains(ctx context.Context, longer, s ktrdr.MarketSeries) (bool, error) {
	if longer.First.After(s.Last) || longer.Last.Before(s.First) {
		return false, nil
	}
	if longer.Prices.SHA256 == s.Prices.SHA256 {
		return true, nil
	}
	pair := [2]ktrdr.Hash{longer.Prices.SHA256, s.Prices.SHA256}
	if is, known := m.pairs.Get(pair); known {
		return is, nil
	}
	all, err := m.keptPrices(ctx, longer)
	if err != nil {
		return false, err
	}
	part, err := m.keptPrices(ctx, s)
	if err != nil {
		return false, err
	}
	is := market.Contains(all, part)
	m.pairs.Put(pair, is, 1)
	return is, nil
}
