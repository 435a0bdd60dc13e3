package library

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/cache"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// MarketLedger is what Markets needs of the store.
type MarketLedger interface {
	Series(ctx context.Context) ([]ktrdr.MarketSeries, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
	SeriesOf(ctx context.Context, symbol, timeframe string, hash ktrdr.Hash) (ktrdr.MarketSeries, error)
	AddSeries(ctx context.Context, s ktrdr.NewSeries) (ktrdr.MarketSeries, error)
	FixHoldout(ctx context.Context, market string, from time.Time) (time.Time, error)
	RenewHoldouts(ctx context.Context, renew []ktrdr.NewHoldout) error
}

// Markets says which market the bars of a series belong to. A market is its
// prices, whatever they are called:
//
//	symbol, timeframe and hash are known ───────────▶ their market
//	a new series ──compared with all that are known
//	               ├─ the same as one ──────────────▶ that market
//	               ├─ the same as several ──────────▶ they are merged
//	               ├─ alike over too few returns ───▶ undecided: the user says
//	               └─ like none ────────────────────▶ a new market
//
// The prices of every series are kept as a blob, so that a market is still
// recognised when its bars are gone. It is safe for concurrent use.
type Markets struct {
	ledger MarketLedger
	blobs  Blobs
	prices *cache.Cache[ktrdr.Hash, *market.Prices] // decoded, by the hash of their blob
	pairs  *cache.Cache[[2]ktrdr.Hash, bool]        // whether the first prices contain the second
	turn   chan struct{}                            // one series at a time is compared

	mu    sync.Mutex
	asked map[ktrdr.Hash]asked
}

// asked is a question that stands as long as no series is added.
type asked struct {
	seen     int
	question string
}

const (
	cacheBytes = 32 << 20 // 15 million closes; a series that has more is read each time
	cachePairs = 100_000
)

// NewMarkets makes Markets.
func NewMarkets(l MarketLedger, b Blobs) *Markets {
	return &Markets{
		ledger: l, blobs: b, turn: make(chan struct{}, 1), asked: map[ktrdr.Hash]asked{},
		prices: cache.New[ktrdr.Hash, *market.Prices](cacheBytes), pairs: cache.New[[2]ktrdr.Hash, bool](cachePairs),
	}
}

// Choice is what a user says about the market of a series; zero says nothing.
type Choice struct {
	SameAs string // a symbol or the id of a market
	New    bool

	series *jobs.SeriesInfo // a series of the library that it is known to be
	why    string           // how that is known
}

// Validate refuses a choice that contradicts itself.
func (c Choice) Validate() error {
	if c.SameAs != "" && c.New {
		return wrong("--same-market-as (same_market_as) and --new-market (new_market) contradict each other: give one of them")
	}
	return nil
}

// Placement is where a series belongs. One of Market and Question is set.
type Placement struct {
	Market   ktrdr.Market
	Reason   string // why it belongs there
	Question string // what the user must decide, and how
}

// Of returns the market of a series, and assigns one that was not seen before.
// CodeConflict says that the user must decide whether it is a known market.
func (m *Markets) Of(ctx context.Context, b *market.Bars) (ktrdr.Market, error) {
	known, err := m.Known(ctx, b)
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		return known, err
	}
	p, err := m.Place(ctx, b, Choice{})
	if err == nil && p.Question != "" {
		err = ktrdr.Errorf(ktrdr.CodeConflict, "%s", p.Question)
	}
	return p.Market, err
}

// Known returns the market of a series that is assigned already; CodeNotFound.
func (m *Markets) Known(ctx context.Context, b *market.Bars) (ktrdr.Market, error) {
	known, err := m.ledger.SeriesOf(ctx, b.Symbol, string(b.Timeframe), b.Hash())
	if err != nil {
		return ktrdr.Market{}, err
	}
	return m.ledger.Market(ctx, known.Market)
}

// FixHoldout sets where the holdout of a market begins, once.
func (m *Markets) FixHoldout(ctx context.Context, market string, from time.Time) (time.Time, error) {
	return m.ledger.FixHoldout(ctx, market, from)
}

// RenewHoldouts replaces the holdouts of markets by later ones, all or none.
func (m *Markets) RenewHoldouts(ctx context.Context, renew []ktrdr.NewHoldout) error {
	return m.ledger.RenewHoldouts(ctx, renew)
}

// Place assigns a series to its market: by its prices, or as the user says
// where those decide nothing. A choice may merge markets; it never separates
// what the prices show to be one: that is CodeConflict.
func (m *Markets) Place(ctx context.Context, b *market.Bars, c Choice) (Placement, error) {
	return m.place(ctx, candidateOf(b), c, func(ctx context.Context, s *ktrdr.NewSeries, _ string) error {
		if s == nil || s.Market != "" && len(s.Same) == 0 {
			return nil // nothing is decided, or nothing changes
		}
		_, err := m.ledger.AddSeries(ctx, *s)
		return err
	})
}

// storeSeries stores what was decided about a series. It is nil where the user
// must answer the question. A series that has a market names it. The error has
// ktrdr.ErrMoreSeries where it must be decided again.
type storeSeries func(ctx context.Context, s *ktrdr.NewSeries, question string) error

// place is Place that leaves it to store to change anything.
func (m *Markets) place(ctx context.Context, b *candidate, c Choice, store storeSeries) (Placement, error) {
	if err := c.Validate(); err != nil {
		return Placement{}, err
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return Placement{}, context.Cause(ctx)
	}
	c, err := m.resolved(ctx, c)
	if err != nil {
		return Placement{}, err
	}
	known, err := m.ledger.SeriesOf(ctx, b.Symbol, string(b.Timeframe), b.Hash())
	switch {
	case err == nil:
		return m.again(ctx, b, known, c, store)
	case ktrdr.CodeOf(err) != ktrdr.CodeNotFound:
		return Placement{}, err
	}
	const tries = 10
	for range tries {
		var p Placement
		if p, err = m.assign(ctx, b, c, store); !errors.Is(err, errOvertaken) {
			return p, err
		}
	}
	return Placement{}, err
}

// resolved names the market of the series that a choice knows, if it has one.
func (m *Markets) resolved(ctx context.Context, c Choice) (Choice, error) {
	if c.series == nil {
		return c, nil
	}
	if c.SameAs == "" && !c.New {
		s, err := m.ledger.SeriesOf(ctx, c.series.Symbol, string(c.series.Timeframe), c.series.Hash)
		if err == nil {
			return Choice{SameAs: s.Market, why: c.why}, nil
		}
		if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return c, err
		}
	}
	return Choice{SameAs: c.SameAs, New: c.New}, nil
}

func (m *Markets) again(ctx context.Context, b *candidate, known ktrdr.MarketSeries, c Choice, store storeSeries) (Placement, error) {
	if c.New {
		return Placement{}, ktrdr.Errorf(ktrdr.CodeConflict,
			"%s belongs to market %s already (%s): leave --new-market (new_market) out, which only decides where the prices do not", nameOf(b),
			known.Market, known.Reason)
	}
	if _, err := m.keep(ctx, b); err != nil { // its prices may have been lost
		return Placement{}, err
	}
	series := ktrdr.NewSeries{MarketSeries: known}
	if c.SameAs != "" {
		all, err := m.ledger.Series(ctx)
		if err != nil {
			return Placement{}, err
		}
		id, err := m.named(ctx, c.SameAs, all)
		if err != nil {
			return Placement{}, err
		}
		series.Same = []string{id}
	}
	if err := store(ctx, &series, ""); err != nil {
		return Placement{}, err
	}
	return m.stored(ctx, series)
}

func (m *Markets) stored(ctx context.Context, s ktrdr.NewSeries) (Placement, error) {
	now, err := m.ledger.SeriesOf(ctx, s.Symbol, s.Timeframe, s.Hash)
	if err != nil {
		return Placement{}, err
	}
	return m.placed(ctx, now)
}

func (m *Markets) placed(ctx context.Context, s ktrdr.MarketSeries) (Placement, error) {
	found, err := m.ledger.Market(ctx, s.Market)
	return Placement{Market: found, Reason: s.Reason}, err
}

// errOvertaken says that a series was added while another was compared.
var errOvertaken = errors.New("other series are added all the time: try again")

func (m *Markets) assign(ctx context.Context, b *candidate, c Choice, store storeSeries) (Placement, error) {
	all, err := m.ledger.Series(ctx)
	if err != nil {
		return Placement{}, err
	}
	if q := m.question(b, len(all)); q != "" && c == (Choice{}) {
		return Placement{Question: q}, store(ctx, nil, q)
	}
	d, err := m.compare(ctx, b, all)
	if err != nil {
		return Placement{}, err
	}
	series := newSeries(b, d.String())
	series.Seen = new(len(all))
	for _, match := range d.Same {
		series.Same = append(series.Same, match.Market)
	}
	switch undecided := len(d.Same) == 0 && len(d.Ask) > 0; {
	case c.New && len(d.Same) > 0:
		return Placement{}, ktrdr.Errorf(ktrdr.CodeConflict, "%s cannot be a new market, so leave --new-market (new_market) out: it is the %v",
			nameOf(b), d)
	case c.New:
		series.Reason = "new market, as the user said"
	case c.SameAs != "":
		id, err := m.named(ctx, c.SameAs, all)
		if err != nil {
			return Placement{}, err
		}
		series.Same = append(series.Same, id)
		series.Reason = cmp.Or(c.why, fmt.Sprintf("same market as %s, as the user said", c.SameAs))
	case undecided:
		q := m.ask(b, len(all), d)
		return Placement{Question: q}, store(ctx, nil, q)
	}
	if series.Prices, err = m.keep(ctx, b); err != nil {
		return Placement{}, err
	}
	switch err := store(ctx, &series, ""); {
	case errors.Is(err, ktrdr.ErrMoreSeries):
		return Placement{}, errOvertaken
	case err != nil:
		return Placement{}, err
	}
	return m.stored(ctx, series)
}

func newSeries(b *candidate, reason string) ktrdr.NewSeries {
	s := ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{
		Symbol: b.Symbol, Timeframe: string(b.Timeframe), Hash: b.Hash(), Bars: b.Len(), Reason: reason,
	}}
	if n := b.Len(); n > 0 {
		s.First, s.Last = time.Unix(b.Time[0], 0).UTC(), time.Unix(b.Time[n-1], 0).UTC()
	}
	return s
}

// Question is what the user must decide about a series; "" if its prices decide.
func (m *Markets) Question(ctx context.Context, bars *market.Bars) (string, error) {
	b := candidateOf(bars)
	all, err := m.ledger.Series(ctx)
	if err != nil {
		return "", err
	}
	if q := m.question(b, len(all)); q != "" {
		return q, nil
	}
	d, err := m.compare(ctx, b, all)
	if err != nil || len(d.Same) > 0 || len(d.Ask) == 0 {
		return "", err
	}
	return m.ask(b, len(all), d), nil
}

// question is what was asked about a series, and how many other series there were.
func (m *Markets) question(b *candidate, seen int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.asked[b.Hash()]; q.seen == seen {
		return q.question
	}
	return ""
}

// ask words the question about a series and remembers it.
func (m *Markets) ask(b *candidate, seen int, d market.Assignment) string {
	like, _, _ := strings.Cut(d.Ask[0].Series, " ")
	command := fmt.Sprintf("ktrdr data market %s %s", b.Symbol, b.Timeframe)
	q := fmt.Sprintf("%s is %v: say which with `%s --same-market-as %s` or `%s --new-market`", nameOf(b), d, command, like, command)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[b.Hash()] = asked{seen, q}
	return q
}
