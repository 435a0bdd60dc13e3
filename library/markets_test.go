package library

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/cache"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// seriesLedger is a ledger of markets in memory.
type seriesLedger struct {
	mu      sync.Mutex
	series  []ktrdr.MarketSeries
	markets map[string]ktrdr.Market
	before  func() // called before a series is added
}

func (l *seriesLedger) Series(context.Context) ([]ktrdr.MarketSeries, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.series), nil
}

func (l *seriesLedger) Market(_ context.Context, id string) (ktrdr.Market, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.markets[id]
	if !ok {
		return m, ktrdr.Errorf(ktrdr.CodeNotFound, "no market %q", id)
	}
	return m, nil
}

func (l *seriesLedger) SeriesOf(_ context.Context, symbol, timeframe string, hash ktrdr.Hash) (ktrdr.MarketSeries, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.series {
		if s.Symbol == symbol && s.Timeframe == timeframe && s.Hash == hash {
			return s, nil
		}
	}
	return ktrdr.MarketSeries{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no series")
}

func (l *seriesLedger) AddSeries(_ context.Context, n ktrdr.NewSeries) (ktrdr.MarketSeries, error) {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.Seen != nil && *n.Seen < len(l.series) {
		return ktrdr.MarketSeries{}, ktrdr.Errorf(ktrdr.CodeConflict, "compare again: %w", ktrdr.ErrMoreSeries)
	}
	same := slices.Clone(n.Same)
	i := slices.IndexFunc(l.series, func(s ktrdr.MarketSeries) bool { return s.Symbol == n.Symbol && s.Hash == n.Hash })
	if i >= 0 {
		same = append(same, l.series[i].Market)
	}
	slices.Sort(same)
	if len(same) == 0 {
		same = []string{fmt.Sprintf("mkt_%d", len(l.markets)+1)}
		l.markets[same[0]] = ktrdr.Market{ID: same[0]}
	}
	for k, s := range l.series {
		if slices.Contains(same, s.Market) {
			l.series[k].Market = same[0]
		}
	}
	if i < 0 {
		n.Market = same[0]
		l.series, i = append(l.series, n.MarketSeries), len(l.series)
	}
	return l.series[i], nil
}

func (l *seriesLedger) FixHoldout(context.Context, string, time.Time) (time.Time, error) {
	return time.Time{}, nil
}

func (l *seriesLedger) RenewHoldouts(context.Context, []ktrdr.NewHoldout) error { return nil }

// registry is Markets, its ledger and its blobs.
type registry struct {
	*Markets
	t      testing.TB
	ledger *seriesLedger
	blobs  *countedShelf
}

// countedShelf counts how often a blob is opened.
type countedShelf struct {
	memoryBlobs
	opened int
}

func (s *countedShelf) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	s.opened++
	return s.memoryBlobs.Open(ctx, h)
}

func newRegistry(t testing.TB) *registry {
	l := &seriesLedger{markets: map[string]ktrdr.Market{}}
	blobs := &countedShelf{memoryBlobs: memoryBlobs{}}
	return &registry{NewMarkets(l, blobs), t, l, blobs}
}

// place places a series that must be accepted.
func (r *registry) place(b *market.Bars, c Choice) Placement {
	r.t.Helper()
	p, err := r.Place(r.t.Context(), b, c)
	if err != nil {
		r.t.Fatal(err)
	}
	if (p.Market.ID == "") == (p.Question == "") {
		r.t.Fatalf("placed %+v, want either a market or a question", p)
	}
	return p
}

// named gives bars another symbol.
func named(symbol string, b *market.Bars) *market.Bars {
	renamed := *b
	renamed.Symbol = symbol
	return &renamed
}

// made makes a synthetic market.
func made(symbol string, bars int, seed uint64) *market.Bars {
	return market.Synth(market.SynthConfig{Symbol: symbol, Bars: bars, Seed: seed})
}

// noised changes every close of a series a little, up and down in turn.
func noised(b *market.Bars, share float64) *market.Bars {
	out := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	for i := range b.Len() {
		x := b.At(i)
		up := 1 + share
		if i*i%7 < 3 {
			up = 1 - share
		}
		x.Open, x.High, x.Low, x.Close = x.Open*up, x.High*up, x.Low*up, x.Close*up
		out.Append(x)
	}
	return out
}

func TestMarkets_CopiesBelongToOneMarket(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 8000, 1)
	first := r.place(b, Choice{})
	if first.Reason != "new market: no known series shares enough returns with it" {
		t.Errorf("reason %q", first.Reason)
	}
	scaled := noised(named("SCALED", b), 0)
	for i := range scaled.Close {
		scaled.Close[i] *= 1.0001
	}
	daily, err := market.Resample(b, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	for name, copied := range map[string]*market.Bars{
		"renamed": named("COPY", b), "one bar shorter": b.Slice(0, b.Len()-1), "times 1.0001": scaled, "resampled": daily,
	} {
		if p := r.place(copied, Choice{}); p.Market.ID != first.Market.ID || !strings.HasPrefix(p.Reason, "same market as ") {
			t.Errorf("%s: market %q (%s), want %q", name, p.Market.ID, p.Reason, first.Market.ID)
		}
	}
	if p := r.place(made("OTHER", 8000, 2), Choice{}); p.Market.ID == first.Market.ID {
		t.Error("an independent series belongs to the same market")
	}
	if p := r.place(b, Choice{}); p.Market.ID != first.Market.ID || p.Reason != first.Reason {
		t.Errorf("placed again as %+v, want %+v", p, first)
	}
	if m, err := r.Of(t.Context(), b); err != nil || m.ID != first.Market.ID {
		t.Errorf("market %+v, %v", m, err)
	}
}

func TestMarkets_ABridgeMerges(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 12_000, 1)
	early, late := r.place(named("EARLY", b.Slice(0, 5000)), Choice{}), r.place(named("LATE", b.Slice(6000, 12_000)), Choice{})
	if early.Market.ID == late.Market.ID {
		t.Fatal("series without a common bar are one market already")
	}
	p := r.place(b, Choice{})
	if p.Market.ID != early.Market.ID || !strings.HasSuffix(p.Reason, "1h are one market") {
		t.Errorf("market %q: %s", p.Market.ID, p.Reason)
	}
	if m, err := r.Of(t.Context(), named("LATE", b.Slice(6000, 12_000))); err != nil || m.ID != early.Market.ID {
		t.Errorf("after the merge: %+v, %v", m, err)
	}
}

func TestMarkets_AShortOverlapAsks(t *testing.T) {
	b := made("EURUSD", 8000, 1)
	short := noised(named("SHORT", b.Slice(7000, 8000)), 0.00005)
	const commands = ": say which with `ktrdr data market SHORT 1h --same-market-as EURUSD` or `ktrdr data market SHORT 1h --new-market`"
	for _, c := range []struct {
		name   string
		choice Choice
		same   bool
	}{
		{"the same by symbol", Choice{SameAs: "EURUSD"}, true},
		{"the same by id", Choice{SameAs: "mkt_1"}, true},
		{"new", Choice{New: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRegistry(t)
			first := r.place(b, Choice{})
			p := r.place(short, Choice{})
			if !strings.HasPrefix(p.Question, "SHORT 1h is possibly the same market as EURUSD 1h: returns correlate 0.9") ||
				!strings.HasSuffix(p.Question, commands) {
				t.Errorf("question %q", p.Question)
			}
			if again := r.place(short, Choice{}); again.Question != p.Question {
				t.Errorf("asked again: %q", again.Question)
			}
			if q, err := r.Question(t.Context(), short); err != nil || q != p.Question {
				t.Errorf("question %q, %v", q, err)
			}
			if _, err := r.Of(t.Context(), short); ktrdr.CodeOf(err) != ktrdr.CodeConflict || err.Error() != p.Question {
				t.Errorf("used undecided: %v", err)
			}
			p = r.place(short, c.choice)
			if (p.Market.ID == first.Market.ID) != c.same || !strings.HasSuffix(p.Reason, "as the user said") {
				t.Errorf("decided: %+v", p)
			}
			if m, err := r.Of(t.Context(), short); err != nil || m.ID != p.Market.ID {
				t.Errorf("used decided: %+v, %v", m, err)
			}
		})
	}
}

func TestMarkets_AQuestionIsAskedAgainWhenMoreIsKnown(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 8000, 1)
	r.place(b.Slice(0, 3800), Choice{})
	short := noised(named("SHORT", b.Slice(3000, 8000)), 0.00005)
	if p := r.place(short, Choice{}); p.Question == "" {
		t.Fatalf("placed %+v, want a question", p)
	}
	full := r.place(b, Choice{})
	if p := r.place(short, Choice{}); p.Market.ID != full.Market.ID {
		t.Errorf("placed %+v, want it in market %s", p, full.Market.ID)
	}
}

func TestMarkets_AChoiceMergesAndNeverSeparates(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 8000, 1)
	first, other := r.place(b, Choice{}), r.place(made("OTHER", 8000, 2), Choice{})
	refused := func(what string, b *market.Bars, c Choice, code ktrdr.Code, says string) {
		t.Helper()
		if _, err := r.Place(t.Context(), b, c); ktrdr.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s: %s", what, err, code, says)
		}
	}
	refused("a copy as a new market", named("COPY", b), Choice{New: true}, ktrdr.CodeConflict,
		"COPY 1h cannot be a new market, so leave --new-market (new_market) out: it is the same market as EURUSD 1h: returns correlate 1.0000")
	refused("a known series as a new market", b, Choice{New: true}, ktrdr.CodeConflict, "EURUSD 1h belongs to market mkt_1 already")
	refused("both", b, Choice{SameAs: "EURUSD", New: true}, ktrdr.CodeInvalid, "contradict each other")
	refused("an unknown symbol", made("THIRD", 8000, 3), Choice{SameAs: "EURUSDT"}, ktrdr.CodeInvalid, `no series of "EURUSDT" has a market`)
	r.place(named("OTHER", made("THIRD", 8000, 3)), Choice{})
	refused("a symbol of several markets", made("FOURTH", 8000, 4), Choice{SameAs: "OTHER"}, ktrdr.CodeInvalid,
		"(1h is mkt_2, 1h is mkt_3): give the id of one of them")

	if p := r.place(b, Choice{SameAs: other.Market.ID}); p.Market.ID != first.Market.ID {
		t.Errorf("merged into %q", p.Market.ID)
	}
	if m, err := r.Of(t.Context(), made("OTHER", 8000, 2)); err != nil || m.ID != first.Market.ID {
		t.Errorf("the merged market is %+v, %v", m, err)
	}
}

// TestMarkets_CompareWithSeriesThatCameMeanwhile: two processes that import
// copies of one market at once make one market.
func TestMarkets_CompareWithSeriesThatCameMeanwhile(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 8000, 1)
	second := NewMarkets(r.ledger, r.blobs)
	var there Placement
	r.ledger.before = func() {
		var err error
		if there, err = second.Place(t.Context(), named("COPY", b), Choice{}); err != nil {
			t.Error(err)
		}
	}
	if p := r.place(b, Choice{}); p.Market.ID != there.Market.ID {
		t.Errorf("market %q, and that of the copy is %q", p.Market.ID, there.Market.ID)
	}
}

func TestMarkets_LostPricesAreMissedAndKeptAgain(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 3000, 1)
	r.place(b, Choice{})
	for h := range r.blobs.memoryBlobs {
		r.blobs.memoryBlobs[h] = []byte("damaged")
	}
	_, err := r.Place(t.Context(), made("OTHER", 3000, 2), Choice{})
	if ktrdr.CodeOf(err) != ktrdr.CodeCorrupt || !strings.Contains(err.Error(), "the kept prices of EURUSD 1h cannot be read") {
		t.Errorf("with damaged prices: %v", err)
	}

	clear(r.blobs.memoryBlobs) // nothing is left
	if _, err := r.Place(t.Context(), made("OTHER", 3000, 2), Choice{}); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
		t.Errorf("without prices: %v", err)
	}
	r.place(b, Choice{})
	r.place(made("OTHER", 3000, 2), Choice{})
}

func TestMarkets_PlaceAllOfALibrary(t *testing.T) {
	r := newRegistry(t)
	lib := newLab(t).library
	b := made("EURUSD", 4000, 1)
	short := noised(named("SHORT", b.Slice(3000, 4000)), 0.00005)
	for _, x := range []*market.Bars{b, named("COPY", b), made("OTHER", 4000, 2), short} {
		if _, err := lib.Import(t.Context(), Import{Bars: x, Origin: ktrdr.BarsFromFile}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(symbol string) map[string]Placement {
		all := map[string]Placement{}
		err := r.PlaceAll(t.Context(), lib, symbol, func(e jobs.SeriesInfo, p Placement, err error) {
			if err != nil {
				t.Errorf("%s: %v", e.Symbol, err)
			}
			all[e.Symbol] = p
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := told("OTHER"); len(all) != 1 || all["OTHER"].Market.ID == "" {
		t.Errorf("of one symbol: %v", all)
	}
	all := told("")
	if len(all) != 3 || all["COPY"].Market.ID != all["EURUSD"].Market.ID || all["SHORT"].Question == "" {
		t.Errorf("of all: %v", all)
	}
	if all := told(""); len(all) != 1 || all["SHORT"].Question == "" {
		t.Errorf("of all once more: %v", all)
	}
	entries, err := lib.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		p, err := r.Describe(t.Context(), e)
		if err != nil || (p.Question != "") != (e.Symbol == "SHORT") || (p.Market.ID == "") != (e.Symbol == "SHORT") {
			t.Errorf("%s is described as %+v, %v", e.Symbol, p, err)
		}
	}

	// A symbol that is named is assigned first.
	r = newRegistry(t)
	p, err := r.PlaceBeside(t.Context(), lib, made("NEW", 4000, 3), Choice{SameAs: "OTHER"})
	if err != nil || p.Market.ID != "mkt_1" || len(r.ledger.series) != 2 {
		t.Errorf("beside: %+v, %v, %d series", p, err, len(r.ledger.series))
	}
}

// joined makes one series of several that follow each other.
func joined(symbol string, parts ...*market.Bars) *market.Bars {
	out := &market.Bars{Symbol: symbol, Timeframe: parts[0].Timeframe}
	for _, b := range parts {
		for i := range b.Len() {
			out.Append(b.At(i))
		}
	}
	return out
}

// TestMarkets_ADecoyNeverStandsInForTheTrueSeries: a longer series that joined
// the market does not hide the prices that were there before.
func TestMarkets_ADecoyNeverStandsInForTheTrueSeries(t *testing.T) {
	full, random := made("EURUSD", 12_050, 1), made("EURUSD", 12_050, 99)
	b := full.Slice(0, 12_000)
	for name, c := range map[string]struct {
		decoy  *market.Bars
		choice Choice
	}{
		"by the user's word": {random, Choice{SameAs: "EURUSD"}},
		"through a gap":      {joined("EURUSD", random.Slice(0, 4000), b.Slice(4000, 6300), random.Slice(7000, 12_050)), Choice{}},
		"through a gap by the user's word": {
			joined("EURUSD", random.Slice(0, 4000), b.Slice(4000, 6300), random.Slice(6300, 12_050)), Choice{SameAs: "EURUSD"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			first := r.place(b, Choice{})
			if p := r.place(c.decoy, c.choice); p.Market.ID != first.Market.ID {
				t.Fatalf("the decoy is placed as %+v", p)
			}
			for what, copied := range map[string]*market.Bars{
				"all of it": named("COPY", b), "the beginning": named("BEGIN", b.Slice(0, 3900)), "the end": named("END", b.Slice(7100, 12_000)),
			} {
				if p := r.place(copied, Choice{}); p.Market.ID != first.Market.ID {
					t.Errorf("%s: placed as %+v, want market %s", what, p, first.Market.ID)
				}
			}
		})
	}
}

// TestMarkets_ASeriesThatGrowsIsComparedOnce: of a series that is imported again
// with more bars, only the longest is compared with others.
func TestMarkets_ASeriesThatGrowsIsComparedOnce(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 3200, 1)
	for n := 3000; n <= 3200; n += 24 {
		r.place(b.Slice(0, n), Choice{})
	}
	all, err := r.ledger.Series(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := r.representatives(t.Context(), all)
	if err != nil || len(all) != 9 || len(kept) != 1 || kept[0].Bars != 3192 {
		t.Errorf("%d of %d series are compared, want the longest alone: %+v, %v", len(kept), len(all), kept, err)
	}
}

// TestMarkets_KeptPricesAreReadOnce while they fit into memory.
func TestMarkets_KeptPricesAreReadOnce(t *testing.T) {
	r := newRegistry(t)
	r.place(made("EURUSD", 3000, 1), Choice{})
	r.place(made("OTHER", 3000, 2), Choice{})
	r.blobs.opened = 0
	for seed := range uint64(4) {
		r.place(made(fmt.Sprintf("MORE%d", seed), 3000, 10+seed), Choice{})
	}
	if r.blobs.opened != 4 { // OTHER and the first three of the four; EURUSD was read before
		t.Errorf("blobs were opened %d times, want 4", r.blobs.opened)
	}

	r = newRegistry(t)
	one := market.NewPrices(made("MORE", 3000, 10)).Size()
	r.prices = cache.New[ktrdr.Hash, *market.Prices](one * 3 / 2)
	for seed := range uint64(4) {
		r.place(made(fmt.Sprintf("MORE%d", seed), 3000, 10+seed), Choice{})
	}
	if n := r.prices.Len(); n != 1 {
		t.Errorf("%d series are in memory, want one", n)
	}
}

func TestMarkets_ReasonOfANewMarket(t *testing.T) {
	r := newRegistry(t)
	b := made("EURUSD", 8000, 1)
	const alone, unlike = "new market: no known series shares enough returns with it", "new market: no known series has returns like these"
	for _, c := range []struct {
		b    *market.Bars
		want string
	}{{b.Slice(0, 3000), alone}, {made("OTHER", 3000, 2), unlike}, {named("LATE", b.Slice(4000, 8000)), alone}} {
		if p := r.place(c.b, Choice{}); p.Reason != c.want {
			t.Errorf("%s: reason %q, want %q", c.b.Symbol, p.Reason, c.want)
		}
	}
}
