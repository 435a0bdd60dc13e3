package research

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// attic is blobs and markets in memory. Every symbol is a market.
type attic struct {
	blobs map[ktrdr.Hash][]byte
	from  map[string]time.Time // where the holdouts of markets begin
	until map[string]time.Time // what looks at them used
	renew [][]ktrdr.NewHoldout // that were asked for
}

func (a *attic) Of(_ context.Context, b *market.Bars) (ktrdr.Market, error) {
	id := "mkt_" + b.Symbol
	return ktrdr.Market{ID: id, HoldoutFrom: a.from[id], LookedUntil: a.until[id], Looks: 2, Claims: 1}, nil
}

func (a *attic) Known(ctx context.Context, b *market.Bars) (ktrdr.Market, error) { return a.Of(ctx, b) }

func (a *attic) FixHoldout(_ context.Context, market string, from time.Time) (time.Time, error) {
	if a.from[market].IsZero() {
		a.from[market] = from
	}
	return a.from[market], nil
}

func (a *attic) RenewHoldouts(_ context.Context, renew []ktrdr.NewHoldout) error {
	a.renew = append(a.renew, renew)
	for _, n := range renew {
		a.from[n.Market] = n.From
	}
	return nil
}

func (a *attic) Put(_ context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	a.blobs[want] = b
	return int64(len(b)), err
}

func (a *attic) Stat(_ context.Context, h ktrdr.Hash) (ktrdr.BlobInfo, error) {
	if b, ok := a.blobs[h]; ok {
		return ktrdr.BlobInfo{Hash: h, Size: int64(len(b))}, nil
	}
	return ktrdr.BlobInfo{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
}

func (a *attic) Open(_ context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	return inMemory{bytes.NewReader(a.blobs[h])}, nil
}

// inMemory reads a blob of the attic.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

func (a *attic) Horizon(context.Context) (string, error) { return "42", nil }

// emptyDatabase is the file of a database that is migrated and has nothing in it.
// Migrating takes most of the time of a test.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "research-test-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "ktrdr.db")
	store, err := sqlstore.Open(context.Background(), sqlstore.Config{URL: path})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newStore opens a database of its own.
func newStore(t *testing.T) *sqlstore.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ktrdr.db")
	empty, err := emptyDatabase()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: path, Types: Types()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// newDesk makes a desk whose library has some bars.
func newDesk(t *testing.T, bars map[string]int) (*Desk, *attic) {
	t.Helper()
	store := newStore(t)
	kept, err := blob.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	library := library.NewLibrary(store, kept)
	for symbol, n := range bars {
		added(t, library, market.Synth(market.SynthConfig{Symbol: symbol, Bars: n, Seed: 3}))
	}
	a := &attic{blobs: map[ktrdr.Hash][]byte{}, from: map[string]time.Time{}, until: map[string]time.Time{}}
	d, err := NewDesk(DeskConfig{
		Library: library, Blobs: a, Memory: a, Markets: a, Models: []string{"sonnet"}, KernelClass: neural.Best().Class(),
		Strategy: func(_ context.Context, name string) ([]byte, error) {
			for _, e := range strategy.Examples() {
				if e.Name == name {
					return e.Source, nil
				}
			}
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "there is no strategy %q", name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

// added puts bars into a library.
func added(t *testing.T, l *library.Library, b *market.Bars) {
	t.Helper()
	if _, err := l.Import(t.Context(), library.Import{Bars: b, Mode: jobs.ImportReplace, Origin: ktrdr.BarsSynthetic}); err != nil {
		t.Fatal(err)
	}
}

func specOf(t *testing.T, n ktrdr.NewOperation) Spec {
	t.Helper()
	s, err := ktrdr.ParseSpec[Spec](n.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDesk_RefusesWithASentenceAndCreatesNothing(t *testing.T) {
	text, _ := simple(t)
	d, a := newDesk(t, map[string]int{"EURUSD": 1200, "SHORT": 900})
	for name, x := range map[string]struct {
		trigger Request
		code    ktrdr.Code
		want    []string
	}{
		"unknown strategy": {Request{Strategy: "nonesuch"}, ktrdr.CodeInvalid, []string{"nonesuch"}},
		"invalid YAML":     {Request{StrategyYAML: "name: [x\n"}, ktrdr.CodeInvalid, []string{"strategy_yaml:"}},
		"unknown key":      {Request{StrategyYAML: text + "\nbogus: 1\n"}, ktrdr.CodeInvalid, []string{"bogus"}},
		"strategy without data": {
			Request{StrategyYAML: strings.ReplaceAll(text, "EURUSD", "GBPUSD")}, ktrdr.CodeInvalid, []string{"GBPUSD", "ktrdr data import"},
		},
		"test with memory": {Request{Symbols: []string{"EURUSD"}, Test: true}, ktrdr.CodeInvalid, []string{"add --fresh"}},
		"test without gates": {
			Request{Symbols: []string{"EURUSD"}, Test: true, Fresh: true, BypassGates: true}, ktrdr.CodeInvalid, []string{"all gates"},
		},
		"test of too many": {
			Request{Symbols: []string{"EURUSD"}, Test: true, Fresh: true, Count: MaxTested + 1}, ktrdr.CodeInvalid, []string{"at most 1000"},
		},
		"two strategies": {Request{Strategy: "a", StrategyYAML: "b"}, ktrdr.CodeInvalid, []string{"give one of them"}},
		"long brief": {
			Request{Brief: strings.Repeat("x", MaxBrief+1)}, ktrdr.CodeInvalid, []string{"65537 bytes", "65536"},
		},
		"brief that is no text": {Request{Brief: "a\x00b"}, ktrdr.CodeInvalid, []string{"UTF-8"}},
		"unknown model":         {Request{Model: "gpt"}, ktrdr.CodeInvalid, []string{"gpt", "sonnet", Builtin}},
		"a night that is over":  {Request{Until: time.Now().Add(-time.Hour)}, ktrdr.CodeInvalid, []string{"until", "7 days"}},
		"a generation that is too large": {
			Request{Until: time.Now().Add(time.Hour), Count: 65}, ktrdr.CodeInvalid, []string{"65", "at most 64"},
		},
		"no money for a model": {Request{Model: "sonnet"}, CodeBudgetExhausted, []string{"sonnet", "raise the budget", Builtin}},
		"no data for the symbol": {
			Request{Symbols: []string{"USDJPY"}}, ktrdr.CodeInvalid, []string{"USDJPY", "ktrdr data import", "ktrdr data synth"},
		},
		"a pair in the brief that there is not": {Request{Brief: "trend on USD/JPY"}, ktrdr.CodeInvalid, []string{"USDJPY", "ktrdr data import"}},
		"no such timeframe":                     {Request{Timeframe: "5m"}, ktrdr.CodeInvalid, []string{"5m", "ktrdr data import"}},
		"no timeframe":                          {Request{Timeframe: "hourly"}, ktrdr.CodeInvalid, []string{"hourly"}},
		"too few bars":                          {Request{Symbols: []string{"SHORT"}}, ktrdr.CodeInvalid, []string{"900", "1000", "import more"}},
		"no count":                              {Request{Count: -1}, ktrdr.CodeInvalid, []string{"count is -1"}},
		"a seed too large":                      {Request{Seed: new(uint64(1 << 60))}, ktrdr.CodeInvalid, []string{"seed"}},
		"a run that is no name":                 {Request{Run: "a/b"}, ktrdr.CodeInvalid, []string{"a/b"}},
		"a strategy elsewhere": {
			Request{StrategyYAML: text, Symbols: []string{"SHORT"}}, ktrdr.CodeInvalid, []string{"written for EURUSD"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			order, err := d.Trigger(t.Context(), x.trigger)
			if ktrdr.CodeOf(err) != x.code || len(order.Operations) > 0 || len(a.blobs) > 0 {
				t.Fatalf("err = %v, %d operations and %d blobs, want %s and nothing made", err, len(order.Operations), len(a.blobs), x.code)
			}
			for _, w := range x.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
	t.Run("an empty library", func(t *testing.T) {
		d, _ := newDesk(t, nil)
		if _, err := d.Trigger(t.Context(), Request{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid ||
			!strings.Contains(err.Error(), "ktrdr data import") {
			t.Errorf("err = %v, want what to do", err)
		}
	})
}

func TestDesk_PinsARun(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	order, err := d.Trigger(t.Context(), Request{Brief: "momentum on EURUSD", Count: 20, Seed: new(uint64(9)), Run: "mine"})
	if err != nil || len(order.Operations) != 20 || order.Run != "mine" || len(order.Understood) == 0 {
		t.Fatalf("%d operations of run %q, %v", len(order.Operations), order.Run, err)
	}
	seeds := map[uint64]bool{}
	for i, n := range order.Operations {
		s := specOf(t, n)
		q := n.Queue
		if n.Type != ktrdr.AgentResearch || !n.HasPlan || q.Name != QueueName || !q.Force || q.Run != "mine" ||
			q.Generation != i/8 || q.Index != i%8 {
			t.Errorf("operation %d: %+v in queue %+v", i, n, q)
		}
		if s.Horizon != "42" || s.RunPosition != (RunPosition{"mine", i / 8, i % 8}) || len(s.Markets) != 1 ||
			s.Markets[0] != (SymbolMarket{"EURUSD", "mkt_EURUSD"}) {
			t.Errorf("spec %d: %+v", i, s)
		}
		if s.Rules != (evidence.Rules{}).WithDefaults() || s.Rules.MinTrades == 0 {
			t.Errorf("rules %d: %+v, want the resolved ones", i, s.Rules)
		}
		if n.Trial == nil || n.Trial.Own != 20 || len(n.Trial.Markets) != 1 ||
			n.Trial.Markets[0] != (ktrdr.TrialMarket{Market: "mkt_EURUSD", Symbols: "EURUSD", Timeframes: "1h"}) {
			t.Errorf("trial %d: %+v, want all 20 of the run counted on its market", i, n.Trial)
		}
		if r := n.NewRun; r == nil || r.Planned != 20 || r.Size != 8 || r.Goal != "momentum on EURUSD" ||
			!strings.Contains(string(r.Request), `"count":20`) {
			t.Errorf("run of %d: %+v", i, r)
		}
		seeds[s.Seed] = true
	}
	if len(seeds) != 20 {
		t.Errorf("%d seeds for 20 researches", len(seeds))
	}
	again, err := d.Trigger(t.Context(), Request{Brief: "momentum on EURUSD", Count: 20, Seed: new(uint64(9)), Run: "mine"})
	if err != nil ||
		!slices.EqualFunc(order.Operations, again.Operations, func(a, b ktrdr.NewOperation) bool { return bytes.Equal(a.Spec, b.Spec) }) {
		t.Errorf("the same request is another run (%v)", err)
	}
	one, err := d.Trigger(t.Context(), Request{})
	if err != nil || one.Operations[0].Queue.Force || one.Run == "" || specOf(t, one.Operations[0]).TriggerReason != "start_new_cycle" {
		t.Errorf("one alone: %+v, %v", one, err)
	}
}

func TestDesk_RestOfARunIsPinnedAsItsFirst(t *testing.T) {
	text, _ := simple(t)
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	asks := []Request{{Brief: "momentum on EURUSD", Count: 12, Run: "mine"}, {StrategyYAML: text, Count: 3, Run: "given"}}
	orders := make([]PlannedRun, len(asks))
	for i, ask := range asks {
		var err error
		if orders[i], err = d.Trigger(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	// the same request would research other bars now
	added(t, d.cfg.Library, market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 1300, Seed: 4}))
	for i, order := range orders {
		rest, err := d.Rest(asks[i], order.Operations[0].Spec)
		if err != nil || rest.Run != order.Run || rest.Seed != order.Seed {
			t.Fatalf("the rest is of run %s with seed %d, %v", rest.Run, rest.Seed, err)
		}
		if !slices.EqualFunc(order.Operations, rest.Operations, func(a, b ktrdr.NewOperation) bool {
			return bytes.Equal(a.Spec, b.Spec) && bytes.Equal(a.Metadata, b.Metadata)
		}) {
			t.Errorf("the rest of run %s is not what the whole would have been", order.Run)
		}
	}
}

// decoded reads a series back from its blob.
func decoded(t *testing.T, b []byte) *market.Bars {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x"+market.Suffix)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	bars, c, err := market.OpenVerified(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return bars
}

func TestDesk_CutsTheHoldoutOffAndHidesIt(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 2000})
	order, err := d.Trigger(t.Context(), Request{Seed: new(uint64(1))})
	if err != nil {
		t.Fatal(err)
	}
	s := specOf(t, order.Operations[0])
	seen, sealed := decoded(t, a.blobs[s.Bars[0].SHA256]), decoded(t, a.blobs[s.Holdout[0].SHA256])
	if seen.Len() != 1600 || sealed.Len() != 400 || seen.Time[1599] >= sealed.Time[0] || len(a.blobs) != 2 {
		t.Errorf("%d bars seen, %d sealed, %d blobs", seen.Len(), sealed.Len(), len(a.blobs))
	}
	hidden := s.Holdout[0]
	tr := plant(t, s)
	tr.ask(ktrdr.WhyCreated)
	for tr.parent.Status == ktrdr.Running {
		c := tr.newest()
		names := strings.Contains(string(c.Spec), hidden.SHA256.String()) || strings.Contains(string(c.Spec), hidden.Hash.String()) ||
			strings.Contains(string(c.Metadata), hidden.SHA256.String())
		if names {
			t.Errorf("the spec of %s names the holdout", c.Type)
		}
		tr.complete(nil)
		tr.ask(ktrdr.WhyChild)
	}
	for _, n := range tr.notes {
		if strings.Contains(string(n.Data), hidden.SHA256.String()) || strings.Contains(string(n.Data), hidden.Hash.String()) {
			t.Errorf("note %s names the holdout", n.Key)
		}
	}
}

func TestDesk_CutsAllTimeframesAtOneInstant(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 4003})
	hours, err := d.cfg.Library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	long, err := market.Resample(hours, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	added(t, d.cfg.Library, long)
	p, err := d.cut(t.Context(), []string{"EURUSD"}, []market.Timeframe{market.H4, market.H1}, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := decoded(t, a.blobs[p.holdout[1].SHA256]).Time[0]
	for i, tf := range []market.Timeframe{market.H4, market.H1} {
		seen, sealed := decoded(t, a.blobs[p.research[i].SHA256]), decoded(t, a.blobs[p.holdout[i].SHA256])
		if last := seen.Time[seen.Len()-1]; tf.End(last) > at {
			t.Errorf("the last %s bar that research sees closes %d s into the holdout", tf, tf.End(last)-at)
		}
		if tf.End(sealed.Time[0]) <= at {
			t.Errorf("the first sealed %s bar has closed before the holdout", tf)
		}
	}
}

func TestNewDesk_SaysWhatIsWrongWithItsSettings(t *testing.T) {
	d, _ := newDesk(t, nil)
	for name, change := range map[string]func(*DeskConfig){
		"no library":          func(c *DeskConfig) { c.Library = nil },
		"no kernels":          func(c *DeskConfig) { c.KernelClass = "" },
		"a holdout of all":    func(c *DeskConfig) { c.Holdout = 1 },
		"a vast generation":   func(c *DeskConfig) { c.Generation = 1000 },
		"gates without sense": func(c *DeskConfig) { c.Gates = &Gates{MinAccuracy: 7} },
	} {
		c := d.cfg
		change(&c)
		if _, err := NewDesk(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestSpec_TakesNothingItDoesNotKnow(t *testing.T) {
	good, err := encode(someSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another field": strings.Replace(string(good), `"seed"`, `"sede":1,"seed"`, 1),
		"more after it": string(good) + "{}",
		"no holdout":    `{"model":"builtin","run":"r","bars":[{}]}`,
		"not JSON":      "research",
	} {
		if _, err := ktrdr.ParseSpec[Spec](json.RawMessage(text)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s: %v, want CodeInvalid", name, err)
		}
	}
}

func TestDesk_CountsTheTrialsOfAnOpenEndedRunByGeneration(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	order, err := d.Trigger(t.Context(), Request{Count: 4, Until: time.Now().Add(time.Hour)})
	if err != nil || len(order.Operations) != 4 {
		t.Fatalf("%d operations, %v", len(order.Operations), err)
	}
	first := order.Operations[0]
	if first.Trial.Own != 8 {
		t.Errorf("the first generation of 4 counts %d of its own run, want 4·1·2", first.Trial.Own)
	}
	run := ktrdr.OpenRun{Run: ktrdr.Run{ID: order.Run, Size: 4, Planned: 4, Generations: 2}}
	ops, keys, err := specOf(t, first).generation(&run)
	if err != nil || len(ops) != 4 || len(keys) != 4 {
		t.Fatalf("%d operations under %d keys, %v", len(ops), len(keys), err)
	}
	for i, op := range ops {
		if q := op.Queue; op.Trial.Own != 4*3*4 || q.Generation != 2 || q.Index != i || keys[i].Key == "" {
			t.Errorf("research %d: trial %+v in queue %+v under key %q", i, op.Trial, q, keys[i].Key)
		}
	}
}

func TestDesk_CutsWhereTheHoldoutOfTheMarketBegins(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 2000})
	bars, err := d.cfg.Library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	a.from["mkt_EURUSD"] = time.Unix(bars.Time[1500], 0).UTC()
	p, err := d.cut(t.Context(), []string{"EURUSD"}, []market.Timeframe{market.H1}, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if seen := decoded(t, a.blobs[p.research[0].SHA256]); seen.Len() != 1500 || !p.from.Equal(a.from["mkt_EURUSD"]) {
		t.Errorf("research sees %d bars and trading begins at %v, want 1500 and %v", seen.Len(), p.from, a.from["mkt_EURUSD"])
	}
}

func TestDesk_CutsSeveralMarketsSoThatNoHoldoutWasSearched(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 2000, "GBPUSD": 2000})
	bars, err := d.cfg.Library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	early, late := time.Unix(bars.Time[1200], 0).UTC(), time.Unix(bars.Time[1700], 0).UTC()
	a.from["mkt_EURUSD"], a.from["mkt_GBPUSD"] = late, early
	p, err := d.cut(t.Context(), []string{"EURUSD", "GBPUSD"}, []market.Timeframe{market.H1}, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.research {
		if seen := decoded(t, a.blobs[p.research[i].SHA256]); seen.Len() != 1200 {
			t.Errorf("research sees %d bars of %s, want those before the earliest holdout", seen.Len(), seen.Symbol)
		}
	}
	if !p.from.Equal(late) {
		t.Errorf("trading begins at %v, want the latest start %v", p.from, late)
	}
}

func TestDesk_SpansTellBarsApart(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	order, err := d.Trigger(t.Context(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, order.Operations[0])
	seen, sealed := spec.Searched[0], spec.Sealed[0]
	if seen.Hash != spec.Bars[0].Hash || sealed.Hash != spec.Holdout[0].Hash || seen.To.After(sealed.From) || !seen.From.Before(seen.To) {
		t.Errorf("searched %+v, sealed %+v", seen, sealed)
	}
}

func TestCheckDesign_RefusesWhatPurgingWouldEmpty(t *testing.T) {
	text, s := simple(t)
	bars := []jobs.Bars{{Symbol: s.Data.Symbols[0], Timeframe: s.Data.Base, Artifact: ktrdr.Artifact{Size: 2000 * barSize}}}
	long := strings.Replace(text, "training:", "training:\n  embargo: 0.2", 1)
	if _, _, err := CheckDesign(text, bars); err != nil {
		t.Fatalf("as it is: %v", err)
	}
	_, _, err := CheckDesign(long, bars)
	if err == nil || !strings.Contains(err.Error(), "validation part") || !strings.Contains(err.Error(), "smaller embargo") {
		t.Errorf("an embargo that eats the validation part: %v", err)
	}
}

// The shortest history that a research may have, and costs that ask for the
// longest horizons: every design must leave something to learn from.
func TestDesigns_OfAShortHistoryCanBeTrained(t *testing.T) {
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 800, Seed: 9})
	known := designer.Known{Series: []designer.KnownSeries{{Symbol: "EURUSD", Timeframe: market.H1, Bars: 800}}}
	brief := designer.Chosen{}.Read("anything", known)
	if err := brief.Measure([]*market.Bars{bars}); err != nil {
		t.Fatal(err)
	}
	dear := instrument.Costs{Commission: 0.001, Slippage: 0.001}
	given := []jobs.Bars{{Symbol: "EURUSD", Timeframe: market.H1, Artifact: ktrdr.Artifact{Size: 800 * barSize}}}
	for i := range 24 {
		p, err := designer.Design(brief, uint64(i), 0, i, nil, dear)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := CheckDesign(p.Strategy, given); err != nil {
			t.Errorf("design %d: %v", i, err)
		}
		s, _, err := strategy.Parse([]byte(p.Strategy), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := train.Prepare(s, []train.Series{{Symbol: "EURUSD", Bars: []*market.Bars{bars}}}, train.Options{}); err != nil {
			t.Errorf("design %d with labels of %s cannot be trained: %v", i, s.Training.Labels.Source, err)
		}
	}
}
