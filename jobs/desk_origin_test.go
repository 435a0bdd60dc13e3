package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

const (
	someResearch = ktrdr.OperationID("op_agent_research_20260101_000000_00000001")
	searchedBars = 1600 // of 2000
)

// researchedModel trains a model as a research does: on bars that end where its
// holdout begins.
func (o *office) researchedModel() (id ktrdr.OperationID, ends time.Time) {
	o.t.Helper()
	b, c, err := o.desk.Library().Get("EURUSD", market.H1)
	if err != nil {
		o.t.Fatal(err)
	}
	defer c.Close()
	spec, err := ktrdr.ParseSpec[TrainingSpec](o.train(TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2")}).Operation.Spec)
	if err != nil {
		o.t.Fatal(err)
	}
	spec.Bars = []Bars{o.cut(b.Slice(0, searchedBars))}
	order, err := operation(ktrdr.Training, spec, about{})
	if err != nil {
		o.t.Fatal(err)
	}
	id = o.run(Order{Operation: order}, once(TrainingRunner(best))).ID
	o.ended[0].Parent, o.ended[0].Spec = someResearch, order.Spec
	parent, err := json.Marshal(map[string]any{"holdout": []Bars{o.cut(b.Slice(searchedBars, b.Len()))}, "brief": "any"})
	if err != nil {
		o.t.Fatal(err)
	}
	o.ended = append(o.ended, ktrdr.Operation{ID: someResearch, Type: ktrdr.AgentResearch, Spec: parent})
	o.blobs.puts = 0
	return id, time.Unix(b.Timeframe.End(b.Time[searchedBars-1]), 0).UTC()
}

// cut puts a part of a series into the blob store.
func (o *office) cut(b *market.Bars) Bars {
	o.t.Helper()
	path, err := market.Write(o.t.TempDir(), b)
	if err != nil {
		o.t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		o.t.Fatal(err)
	}
	h := ktrdr.Hash(sha256.Sum256(data))
	if _, err := o.blobs.Put(o.t.Context(), h, bytes.NewReader(data)); err != nil {
		o.t.Fatal(err)
	}
	return Bars{b.Symbol, b.Timeframe, b.Hash(), ktrdr.Artifact{Name: fmt.Sprintf("%d.bars", b.Len()), SHA256: h, Size: int64(len(data))}}
}

func TestDesk_AResearchsModelIsTradedOnWhatTheResearchSaw(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD", "GBPUSD")
	id, ends := o.researchedModel()
	training, err := o.Operation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ktrdr.ParseSpec[TrainingSpec](training.Spec)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modelOf(training)
	if err != nil {
		t.Fatal(err)
	}
	o.file("models/mine.safetensors", string(o.b.Blobs()[model.SHA256]))
	own, err := operation(ktrdr.Backtesting, BacktestSpec{Model: model, Symbol: "EURUSD", Scope: ScopeTest, Bars: spec.Bars}, about{})
	if err != nil {
		t.Fatal(err)
	}
	want := resultOf[BacktestResult](t, o.run(Order{Operation: own}, once(BacktestRunner(best)))).ResultHash
	for name, r := range map[string]BacktestRequest{
		"by its training": {Model: string(id)}, "by its hash": {Model: model.SHA256.String()},
		"by its file": {ModelPath: "models/mine.safetensors"}, "by its strategy": {StrategyName: "small"},
	} {
		order := o.backtest(r)
		got := resultOf[BacktestResult](t, o.run(order, once(BacktestRunner(best))))
		if !got.End.Before(ends) || got.ResultHash != want || len(order.Warnings) != 1 || got.Opened != nil {
			t.Errorf("%s: traded to %s with hash %s (%q), want what the research itself has, before %s: %s", name, got.End, got.ResultHash, order.Warnings, ends, want)
		}
	}

	other, err := ktrdr.ParseSpec[BacktestSpec](o.backtest(BacktestRequest{Model: string(id), Symbol: "GBPUSD"}).Operation.Spec)
	if err != nil || !other.End.Equal(ends) {
		t.Errorf("another symbol is traded to %s (%v), want to %s, where the holdout begins", other.End, err, ends)
	}
}

func TestDesk_SealsAHoldoutUntilItIsAskedForByName(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	id, ends := o.researchedModel()
	model, later := string(id), ends.AddDate(0, 0, 3).Format(time.DateOnly)
	before := ends.AddDate(0, 0, -2).Format(time.DateOnly)
	for name, c := range map[string]struct {
		r    BacktestRequest
		says string
	}{
		"an end in the holdout":   {BacktestRequest{Model: model, EndDate: later}, "are the holdout of " + string(someResearch)},
		"a start in the holdout":  {BacktestRequest{Model: model, StartDate: later}, "or open it with open_holdout"},
		"opened without reaching": {BacktestRequest{Model: model, EndDate: before, OpenHoldout: true}, "leave out open_holdout"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.desk.Backtest(t.Context(), c.r)
			o.refused(t, err, c.says)
		})
	}
	t.Run("a model of no research", func(t *testing.T) {
		alone := string(o.trained(small("epochs: 24", "epochs: 1")))
		o.blobs.puts = 0
		_, err := o.desk.Backtest(t.Context(), BacktestRequest{Model: alone, OpenHoldout: true})
		o.refused(t, err, "there is no holdout to open")
	})
}

func TestBacktest_SaysThatItOpenedAHoldout(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	id, ends := o.researchedModel()
	order := o.backtest(BacktestRequest{Model: string(id), OpenHoldout: true})
	got := resultOf[BacktestResult](t, o.run(order, once(BacktestRunner(best))))
	if got.End.Before(ends) || got.Opened == nil || got.Opened.Research != someResearch || len(got.Opened.Holdout) != 1 || !got.Opened.From.Equal(ends) {
		t.Fatalf("it traded to %s and opened %+v, want past %s, and whose holdout", got.End, got.Opened, ends)
	}
	if !strings.Contains(got.Summary, "with the holdout of "+string(someResearch)+" opened for it") || len(got.Warnings) == 0 || len(order.Warnings) == 0 {
		t.Errorf("summary %q, warnings %q: want both to say it", got.Summary, got.Warnings)
	}
	spec, err := ktrdr.ParseSpec[BacktestSpec](order.Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Opens = nil
	plain, err := operation(ktrdr.Backtesting, spec, about{})
	if err != nil {
		t.Fatal(err)
	}
	if same := resultOf[BacktestResult](t, o.run(Order{Operation: plain}, once(BacktestRunner(best)))); same.ResultHash != got.ResultHash {
		t.Errorf("result hash %s with the mark and %s without, want the figures alone in it", got.ResultHash, same.ResultHash)
	}
}
