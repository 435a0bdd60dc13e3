package research

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
)

// pastMarkets is attic with trials and looks on every market.
type pastMarkets struct {
	*attic
	points []ktrdr.TrialPoint
	ended  []ktrdr.Operation
}

func (m pastMarkets) Of(context.Context, *market.Bars) (ktrdr.Market, error) {
	panic("a dry run assigns no series to a market")
}

func (m pastMarkets) Known(ctx context.Context, b *market.Bars) (ktrdr.Market, error) {
	known, err := m.attic.Of(ctx, b)
	known.Trials, known.Looks = 40, 2
	return known, err
}

func (m pastMarkets) TrialPoints(context.Context, ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error) {
	return m.points, nil
}

func (m pastMarkets) List(context.Context, ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	return ktrdr.OperationPage{Operations: m.ended}, nil
}

func (m pastMarkets) InQueue(context.Context, string, int) (q ktrdr.QueueState, err error) {
	q.Count.Active, q.Count.Waiting = 3, 1
	return q, nil
}

func (m pastMarkets) Workers(context.Context) ([]ktrdr.Worker, error) { return nil, nil }

func TestStart_ADryRunChecksEverythingAndStoresNothing(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	store := &created{byKey: map[string]ktrdr.Operation{}}
	at := time.Now()
	past := pastMarkets{
		attic: a,
		points: []ktrdr.TrialPoint{
			{Sharpe: new(1.0), SharpeZ: new(2.0)}, {Sharpe: new(-3.0), SharpeZ: new(-1.0)}, {}, {Sharpe: new(0.2), SharpeZ: new(0.2)},
		},
		ended: []ktrdr.Operation{{StartedAt: at, CompletedAt: at.Add(4 * time.Second)}, {StartedAt: at}},
	}
	d.cfg.Operations, d.cfg.Markets, d.cfg.History = store, past, past
	d.cfg.Limit = func([]ktrdr.Worker) int { return 4 }
	request := Request{Brief: "momentum on EURUSD 1h zzyzx", Count: 8, DryRun: true}
	got, err := d.Start(t.Context(), request, ktrdr.IdempotencyKey{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if len(store.calls) != 0 || len(a.blobs) != 0 || len(a.from) != 0 {
		t.Errorf("%d requests to create, %d blobs, %d holdout starts: want none", len(store.calls), len(a.blobs), len(a.from))
	}
	if got.Run != "" || got.Operation != "" || len(got.Understood) == 0 || !slices.Contains(got.NotUnderstood, "zzyzx") {
		t.Errorf("answer %+v", got)
	}
	p := got.Preview
	if p == nil || !slices.Equal(p.Symbols, []string{"EURUSD"}) || p.Timeframe != "1h" || p.Count != 8 || p.Model != Builtin ||
		p.Trials != 40 || p.Looks != 2 || len(p.Series) != 1 || p.Series[0].Searched != 960 || p.Series[0].Sealed != 240 {
		t.Fatalf("preview %+v", p)
	}
	if before, after := evidence.BestByLuck(40), evidence.BestByLuck(48); *p.LuckBefore != before || *p.LuckAfter != after {
		t.Errorf("luck %v to %v, want %v to %v: the median standard error is 1", *p.LuckBefore, *p.LuckAfter, before, after)
	}
	if want := 0.02 / 12; math.Abs(p.NeededP-want) > 1e-12 {
		t.Errorf("the third look needs p %v, want %v", p.NeededP, want)
	}
	if p.Seconds == nil || *p.Seconds != 12 { // (3 + 1 + 8) / 4 rounds of 4 s
		t.Errorf("it takes %v s, want 12", p.Seconds)
	}
	for name, bad := range map[string]Request{
		"count":    {Brief: "momentum on EURUSD", Count: MaxCount + 1},
		"symbol":   {Symbols: []string{"GBPUSD"}},
		"strategy": {StrategyYAML: "name: x"},
	} {
		bad.DryRun = true
		if _, err := d.Start(t.Context(), bad, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s: %v, want a refusal as without a dry run", name, err)
		}
	}
}

func TestStart_ADryRunOfALastingRunCountsItsFirstGeneration(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	d.cfg.Markets, d.cfg.History = pastMarkets{attic: a}, pastMarkets{attic: a}
	request := Request{Brief: "momentum on EURUSD", Until: time.Now().Add(time.Hour), DryRun: true}
	got, err := d.Start(t.Context(), request, ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Preview
	if p.Count != 8 || p.LuckAfterZ != evidence.BestByLuck(40+16) || p.LuckAfter != nil {
		t.Errorf("preview %+v: want a generation of 8, counted as 16, and no Sharpe ratio of luck", p)
	}
	if p.Seconds == nil || *p.Seconds < 3590 || *p.Seconds > 3600 {
		t.Errorf("it lasts %v s, want an hour", p.Seconds)
	}
}
