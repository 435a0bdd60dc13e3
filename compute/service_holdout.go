package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// MarketFinder is what the Service needs of Markets.
type MarketFinder interface {
	// Of returns the market of a series. CodeConflict says that a person has to
	// decide whether it is a known one.
	Of(ctx context.Context, b *market.Bars) (ktrdr.Market, error)
	// FixHoldout sets where the holdout of a market begins unless that is set,
	// and returns what is set.
	FixHoldout(ctx context.Context, market string, from time.Time) (time.Time, error)

	Describe(ctx context.Context, e jobs.SeriesInfo) (library.Placement, error)
	PlaceSeries(ctx context.Context, l *library.Library, symbol string, tf market.Timeframe,
		c library.Choice) (jobs.SeriesInfo, library.Placement, error)
	RenameSeries(ctx context.Context, l *library.Library, from, to string) ([]jobs.SeriesInfo, error)
}

// Looks is what the Service needs of the ledger beside Markets.
type Looks interface {
	Market(ctx context.Context, id string) (ktrdr.Market, error)
	ReserveLook(ctx context.Context, l ktrdr.NewLook) (ktrdr.Look, error)
}

// holdout is the market of a series and where the market's holdout begins.
//
//	bars that trainings, backtests and predictions read │ holdout
//	                                                    │ read with open_holdout, which is a look
//	                                                  from
type holdout struct {
	symbol    string
	timeframe market.Timeframe
	market    ktrdr.Market
	from      time.Time // bars that close after this are the holdout
	context   bool      // its bars are read and not traded
}

type holdouts []holdout

// holdouts finds the markets of series and where their holdouts begin. A market
// that has no holdout start yet gets one when the request is accepted: see fix.
func (d *Service) holdouts(ctx context.Context, f *found) (holdouts, error) {
	hs := make(holdouts, len(f.bars))
	shortest := map[string]*market.Bars{}
	for i, b := range f.bars {
		if b.Len() == 0 {
			return nil, wrong("the %s bars of %s are empty: import some with `ktrdr data import FILE --symbol %s --timeframe %s`", b.Timeframe,
				b.Symbol, b.Symbol, b.Timeframe)
		}
		m, err := d.cfg.Markets.Of(ctx, b)
		if err != nil {
			return nil, err
		}
		hs[i] = holdout{b.Symbol, b.Timeframe, m, m.HoldoutFrom, f.isContext(i)}
		if s := shortest[m.ID]; s == nil || b.Timeframe.End(0) < s.Timeframe.End(0) {
			shortest[m.ID] = b
		}
	}
	for i := range hs {
		if hs[i].from.IsZero() {
			hs[i].from = library.HoldoutStart(shortest[hs[i].market.ID], hs[i].market, d.cfg.Holdout)
		}
	}
	return hs, nil
}

// before is how many of the bars have closed when the holdout begins.
func (h holdout) before(b *market.Bars) int {
	return sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > h.from.Unix() })
}

// cut leaves the bars before the holdouts. It returns what to tell about bars
// that were left out and would else be read before end; a zero end has no bound.
func (hs holdouts) cut(f *found, end time.Time) (told []string, err error) {
	var none []error
	var starts []int64
	symbols := map[int64][]string{}
	for i, h := range hs {
		b := f.bars[i]
		n := h.before(b)
		if n == b.Len() {
			continue
		}
		if n == 0 {
			none = append(none,
				fmt.Errorf("all %d %s bars of %s close after %s, where the holdout of its market begins: import older bars, "+
					"or read the holdout with --open-holdout (open_holdout), which counts as a look",
					b.Len(), b.Timeframe, b.Symbol, text.Minute(h.from.Unix())))
			continue
		}
		f.leave(i, n)
		if !end.IsZero() && !end.After(h.from) {
			continue
		}
		at := h.from.Unix()
		if !slices.Contains(starts, at) {
			starts = append(starts, at)
		}
		if !slices.Contains(symbols[at], h.symbol) {
			symbols[at] = append(symbols[at], h.symbol)
		}
	}
	if err := errors.Join(none...); err != nil {
		return nil, wrong("%w", err)
	}
	for _, at := range starts {
		told = append(told, stops(at, symbols[at]))
	}
	return told, nil
}

func stops(from int64, symbols []string) string {
	return fmt.Sprintf("the bars after %s are left out: they are the holdout of %s; --open-holdout (open_holdout) reads them and "+
		"counts as a look", text.Minute(from), words(symbols))
}

// access is how far a request may read the series that were found.
type access struct {
	markets holdouts
	opens   *jobs.Opening  // nil if it stops where the holdouts begin
	look    *ktrdr.NewLook // the same
	told    []string       // what to tell about it
}

// access opens the holdouts, or cuts the series where they begin. No warning is
// given for bars after end; a zero end means no limit.
func (hs holdouts) access(f *found, end time.Time, open bool, from origin) (a access, err error) {
	a.markets = hs
	if !open {
		a.told, err = hs.cut(f, end)
		if f.pinned != nil && len(a.told) == 0 && err == nil {
			a.told = []string{from.stops(hs)}
		}
		return a, err
	}
	if a.opens, a.look, err = hs.open(f, end, from); err != nil {
		return a, err
	}
	a.told = []string{a.opens.Warning()}
	return a, nil
}

// enter counts an operation as a trial, and as a look if it opens a holdout.
func (a access) enter(op *ktrdr.NewOperation, key, strategy string, madeUp *bool) {
	op.Trial, op.Look = a.markets.trial(key, madeUp), a.look
	if a.look != nil {
		a.look.Strategy = strategy
	}
}

func (a access) because(err error) error {
	if err == nil || a.opens != nil || len(a.told) == 0 {
		return err
	}
	return wrong("%w (%s)", err, strings.Join(a.told, "; "))
}

// shown is the part of a series that a look shows, as it is stored with the look.
type shown struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	From      time.Time        `json:"from"` // opening of the first bar
	To        time.Time        `json:"to"`   // close of the last
	Hash      ktrdr.Hash       `json:"bars_hash"`
}

// open is the look at the bars after the holdout starts and before end; a zero
// end has no bound. CodeInvalid when there are none.
func (hs holdouts) open(f *found, end time.Time, from origin) (*jobs.Opening, *ktrdr.NewLook, error) {
	opens := &jobs.Opening{Research: from.research}
	var spans []shown
	latest := hs[0].from
	for i, h := range hs {
		b := f.bars[i]
		first, last := h.before(b), b.Len()
		if !end.IsZero() {
			last = sort.Search(last, func(i int) bool { return b.Timeframe.End(b.Time[i]) > end.Unix() })
		}
		if h.from.After(latest) {
			latest = h.from
		}
		if first >= last {
			continue
		}
		part := b.Slice(first, last)
		spans = append(spans, shown{b.Symbol, b.Timeframe, instant(part.Time[0]), instant(b.Timeframe.End(b.Time[last-1])), part.Hash()})
		if !slices.Contains(opens.Markets, h.market.ID) {
			opens.Markets = append(opens.Markets, h.market.ID)
		}
		if opens.From.IsZero() || h.from.Before(opens.From) {
			opens.From = h.from
		}
	}
	if len(spans) == 0 {
		return nil, nil, wrong("no bar after %s, where the holdout begins, would be read: leave out --open-holdout (open_holdout), "+
			"choose a later end_date, or import newer bars", text.Minute(latest.Unix()))
	}
	text, err := json.Marshal(spans)
	if err != nil {
		return nil, nil, fmt.Errorf("spans of a look: %w", err)
	}
	return opens, &ktrdr.NewLook{Kind: ktrdr.LookByHand, Research: from.research, Markets: opens.Markets, Spans: text}, nil
}

// trial counts a request on the markets that it trades. Requests with the same key are one trial.
func (hs holdouts) trial(key string, madeUp *bool) *ktrdr.NewTrial {
	t := &ktrdr.NewTrial{Key: key, Own: 1, MadeUp: madeUp}
	for _, h := range hs {
		if h.context {
			continue
		}
		i := slices.IndexFunc(t.Markets, func(m ktrdr.TrialMarket) bool { return m.Market == h.market.ID })
		if i < 0 {
			t.Markets = append(t.Markets, ktrdr.TrialMarket{Market: h.market.ID})
			i = len(t.Markets) - 1
		}
		m := &t.Markets[i]
		m.Symbols, m.Timeframes = withWord(m.Symbols, h.symbol), withWord(m.Timeframes, string(h.timeframe))
	}
	return t
}

func withWord(words, word string) string {
	if slices.Contains(strings.Fields(words), word) {
		return words
	}
	return strings.TrimSpace(words + " " + word)
}

func instant(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
