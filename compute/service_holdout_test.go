package compute

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const (
	someResearch = ktrdr.OperationID("op_agent_research_20260101_000000_00000001")
	searchedBars = 1600 // of 2000: where the usual holdout begins
)

// researchedModel trains a model as a research does: on bars that end where the
// holdout of the market begins.
func (o *office) researchedModel() (id ktrdr.OperationID, ends time.Time) {
	o.t.Helper()
	b := o.series("EURUSD", market.H1)
	ends = instant(b.Timeframe.End(b.Time[searchedBars-1]))
	spec := specOf[jobs.TrainingSpec](o.t, o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2")}))
	spec.Bars = []jobs.Bars{o.pinned(b.Slice(0, searchedBars))}
	order, err := operation(ktrdr.Training, spec, about{})
	if err != nil {
		o.t.Fatal(err)
	}
	id = o.run(jobs.Accepted{Operation: order}, once(TrainingRunner(best))).ID
	o.ended[0].Parent, o.ended[0].Spec = someResearch, order.Spec
	o.ended = append(o.ended, ktrdr.Operation{
		ID: someResearch, Type: ktrdr.AgentResearch,
		Spec: json.RawMessage(`{"brief":"any","markets":[{"symbol":"EURUSD","market":"mkt_EURUSD"}]}`),
	})
	o.blobs.puts = 0
	return id, ends
}

// series is the library's bars, in memory.
func (o *office) series(symbol string, tf market.Timeframe) *market.Bars {
	o.t.Helper()
	b, err := o.library.Get(o.t.Context(), symbol, tf)
	if err != nil {
		o.t.Fatal(err)
	}
	return b
}

// pinned puts a series into the blob store.
func (o *office) pinned(b *market.Bars) jobs.Bars {
	o.t.Helper()
	var file bytes.Buffer
	if err := market.Encode(&file, b); err != nil {
		o.t.Fatal(err)
	}
	size, h := int64(file.Len()), ktrdr.Hash(sha256.Sum256(file.Bytes()))
	if _, err := o.blobs.Put(o.t.Context(), h, &file); err != nil {
		o.t.Fatal(err)
	}
	return jobs.Bars{
		Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: b.Hash(), Artifact: ktrdr.Artifact{
			Name: fmt.Sprintf("%d.bars", b.Len()), SHA256: h, Size: size,
		},
	}
}

// given are the bars that a worker is given by a spec.
func (o *office) given(want jobs.Bars) *market.Bars {
	o.t.Helper()
	b, err := decodeBars(bytes.NewReader(o.b.Blobs()[want.SHA256]), want)
	if err != nil {
		o.t.Fatal(err)
	}
	return b
}

func specOf[T interface{ Validate() error }](t testing.TB, order jobs.Accepted) T {
	t.Helper()
	spec, err := ktrdr.ParseSpec[T](order.Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// sealed wants every series of a spec to end where the holdout begins, and one
// warning that says so.
func (o *office) sealed(t *testing.T, bars []jobs.Bars, warnings []string, from time.Time) {
	t.Helper()
	for _, want := range bars {
		b := o.given(want)
		if end := instant(b.Timeframe.End(b.Time[b.Len()-1])); end.After(from) || end.Before(from.Add(-48*time.Hour)) {
			t.Errorf("the worker is given %s %s until %s, want until %s, where the holdout begins", b.Symbol, b.Timeframe, end, from)
		}
	}
	said := slices.ContainsFunc(warnings, func(w string) bool {
		return strings.Contains(w, from.Format("2006-01-02 15:04")) && strings.Contains(w, "--open-holdout")
	})
	if !said {
		t.Errorf("warnings %q, want one with %s and what to do", warnings, from)
	}
}

func TestDesk_HandMadeWorkStopsWhereTheHoldoutBegins(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD", "GBPUSD")
	from := instant(o.series("EURUSD", market.H1).Time[searchedBars])
	order := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2"), EndDate: "2030-01-01"})
	o.sealed(t, specOf[jobs.TrainingSpec](t, order).Bars, order.Warnings, from)
	if !o.markets["EURUSD"].HoldoutFrom.Equal(from) {
		t.Errorf("the holdout begins at %s, want %s: the last fifth of the bars", o.markets["EURUSD"].HoldoutFrom, from)
	}
	if order.Operation.Look != nil || specOf[jobs.TrainingSpec](t, order).Opens != nil {
		t.Errorf("look %+v, want none: no bar of the holdout is read", order.Operation.Look)
	}
	model := o.run(order, once(TrainingRunner(best))).ID

	t.Run("a backtest of a model that was trained by hand", func(t *testing.T) {
		order := o.backtest(jobs.BacktestRequest{Model: string(model)})
		o.sealed(t, specOf[jobs.BacktestSpec](t, order).Bars, order.Warnings, from)
		r := resultOf[jobs.BacktestResult](t, o.run(order, once(BacktestRunner(best))))
		if !r.End.Before(from) || r.Opened != nil {
			t.Errorf("traded to %s (%+v), want nothing after %s", r.End, r.Opened, from)
		}
	})
	t.Run("a model file from elsewhere", func(t *testing.T) {
		file, err := modelOf(o.ended[len(o.ended)-1])
		if err != nil {
			t.Fatal(err)
		}
		o.file("models/mine.safetensors", string(o.b.Blobs()[file.SHA256]))
		ours := o.ended
		o.ended = nil // no training of ours made it
		defer func() { o.ended = ours }()
		order := o.backtest(jobs.BacktestRequest{ModelPath: "models/mine.safetensors"})
		o.sealed(t, specOf[jobs.BacktestSpec](t, order).Bars, order.Warnings, from)
		if key := order.Operation.Trial.Key; key != "model/"+file.SHA256.String() {
			t.Errorf("it is counted as %s, want by its hash", key)
		}
	})
	t.Run("a symbol whose market has no holdout start yet", func(t *testing.T) {
		order := o.backtest(jobs.BacktestRequest{Model: string(model), Symbol: "GBPUSD"})
		o.sealed(t, specOf[jobs.BacktestSpec](t, order).Bars, order.Warnings, o.markets["GBPUSD"].HoldoutFrom)
		if m := order.Operation.Trial.Markets; len(m) != 1 || m[0].Market != "mkt_GBPUSD" {
			t.Errorf("a trial on %+v, want on the market that is traded", m)
		}
	})
	t.Run("another timeframe of the market", func(t *testing.T) {
		o.synth("EURUSD", market.H4, 600, 1)
		order := o.train(jobs.TrainingRequest{StrategyYAML: small(), Timeframe: "4h"})
		o.sealed(t, specOf[jobs.TrainingSpec](t, order).Bars, order.Warnings, from)
	})
}

func TestDesk_OpeningAHoldoutIsALook(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	all := o.series("EURUSD", market.H1)
	from := instant(all.Time[searchedBars])
	training := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2"), OpenHoldout: true})
	done := o.run(training, once(TrainingRunner(best)))
	result := resultOf[jobs.TrainingResult](t, done)
	trained := specOf[jobs.TrainingSpec](t, training)
	if o.given(trained.Bars[0]).Len() != all.Len() || trained.Opens == nil || result.Opened == nil ||
		!strings.Contains(result.Warnings[0], "is a look") {
		t.Errorf("opens %+v, opened %+v, warnings %q: want all bars, and the result to say so", trained.Opens, result.Opened, result.Warnings)
	}
	backtest := o.backtest(jobs.BacktestRequest{Model: string(done.ID), OpenHoldout: true})
	r := resultOf[jobs.BacktestResult](t, o.run(backtest, once(BacktestRunner(best))))
	if !r.End.After(from) || r.Opened == nil || !strings.Contains(r.Summary, "this was a look") ||
		!strings.Contains(r.Warnings[0], "is a look") {
		t.Errorf("traded to %s, opened %+v, %q, %q: want past %s, and the result to say so", r.End, r.Opened, r.Summary, r.Warnings, from)
	}
	for name, order := range map[string]jobs.Accepted{"training": training, "backtest": backtest} {
		l := order.Operation.Look
		if l == nil || l.Kind != ktrdr.LookByHand || !slices.Equal(l.Markets, []string{"mkt_EURUSD"}) || l.Strategy != "small" || l.Key != "" {
			t.Fatalf("%s: look %+v, want one by hand at the market", name, l)
		}
		var spans []shown
		if err := json.Unmarshal(l.Spans, &spans); err != nil {
			t.Fatal(err)
		}
		if last := instant(all.Timeframe.End(all.Time[all.Len()-1])); len(spans) != 1 || !spans[0].From.Equal(from) ||
			!spans[0].To.Equal(last) {
			t.Errorf("%s: spans %+v, want the bars from %s to %s", name, spans, from, last)
		}
	}
}

func TestDesk_CountsAModelOnce(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	training := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 1")})
	if tr := training.Operation.Trial; tr == nil || tr.Key != "" || tr.Own != 1 ||
		tr.Markets[0] != (ktrdr.TrialMarket{Market: "mkt_EURUSD", Symbols: "EURUSD", Timeframes: "1h"}) {
		t.Errorf("trial %+v, want one under the training's own id", tr)
	}
	mine := o.run(training, once(TrainingRunner(best)))
	file, err := modelOf(mine)
	if err != nil {
		t.Fatal(err)
	}
	researched, _ := o.researchedModel()
	for name, c := range map[string]struct {
		r    jobs.BacktestRequest
		want string
	}{
		"a model of a training":          {jobs.BacktestRequest{Model: string(mine.ID)}, string(mine.ID)},
		"the same by its hash":           {jobs.BacktestRequest{Model: file.SHA256.String()}, string(mine.ID)},
		"the same on other dates":        {jobs.BacktestRequest{Model: string(mine.ID), Scope: "all", StartDate: "2015-02-01"}, string(mine.ID)},
		"a model of a research":          {jobs.BacktestRequest{Model: string(researched)}, string(someResearch)},
		"a model of a research, further": {jobs.BacktestRequest{Model: string(researched), OpenHoldout: true}, string(someResearch)},
	} {
		if tr := o.backtest(c.r).Operation.Trial; tr == nil || tr.Key != c.want || tr.Own != 1 {
			t.Errorf("%s: trial %+v, want one under %s", name, tr, c.want)
		}
	}
}

func TestDesk_AResearchsModelIsTradedOnWhatTheResearchSaw(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD", "GBPUSD")
	id, ends := o.researchedModel()
	training, err := o.Operation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](training.Spec)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modelOf(training)
	if err != nil {
		t.Fatal(err)
	}
	o.file("models/mine.safetensors", string(o.b.Blobs()[model.SHA256]))
	own, err := operation(
		ktrdr.Backtesting,
		jobs.BacktestSpec{Model: model, Symbol: "EURUSD", Scope: jobs.ScopeTest, Bars: spec.Bars},
		about{},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := resultOf[jobs.BacktestResult](t, o.run(jobs.Accepted{Operation: own}, once(BacktestRunner(best)))).ResultHash
	o.synth("EURUSD", market.H1, 1000, 99) // the library is another one now
	for name, r := range map[string]jobs.BacktestRequest{
		"by its training": {Model: string(id)}, "by its hash": {Model: model.SHA256.String()},
		"by its file": {ModelPath: "models/mine.safetensors"}, "by its strategy": {StrategyName: "small"},
	} {
		order := o.backtest(r)
		got := resultOf[jobs.BacktestResult](t, o.run(order, once(BacktestRunner(best))))
		if !got.End.Before(ends) || got.ResultHash != want || got.Opened != nil {
			t.Errorf("%s: traded to %s with hash %s, want what the research itself has, before %s: %s", name, got.End, got.ResultHash, ends, want)
		}
		if len(order.Warnings) != 1 ||
			!strings.Contains(order.Warnings[0], string(someResearch)+" searched are traded: the bars after 2015-04-07 18:00") {
			t.Errorf("%s: warnings %q, want one that says where it stops", name, order.Warnings)
		}
	}
	order := o.backtest(jobs.BacktestRequest{Model: string(id), Symbol: "GBPUSD"})
	o.sealed(t, specOf[jobs.BacktestSpec](t, order).Bars, order.Warnings, o.markets["GBPUSD"].HoldoutFrom)
}

// A research that an earlier version created names no market.
func TestDesk_FindsTheMarketOfAnOldResearch(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	id, _ := o.researchedModel()
	o.ended[len(o.ended)-1].Spec = json.RawMessage(`{"brief":"any"}`)
	early := instant(o.series("EURUSD", market.H1).Time[1590])
	o.markets["EURUSD"] = &ktrdr.Market{ID: "mkt_EURUSD", HoldoutFrom: early}
	order := o.backtest(jobs.BacktestRequest{Model: string(id)})
	o.sealed(t, specOf[jobs.BacktestSpec](t, order).Bars, order.Warnings, early)
}

func TestDesk_RefusesDatesInTheHoldout(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	id, ends := o.researchedModel()
	mine := string(o.trained(small("epochs: 24", "epochs: 1")))
	past := string(
		o.run(o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 1"), StartDate: "2015-04-01", OpenHoldout: true}),
			once(TrainingRunner(best))).ID,
	)
	later, before := ends.AddDate(0, 0, 3).Format(time.DateOnly), ends.AddDate(0, 0, -2).Format(time.DateOnly)
	o.blobs.puts = 0
	for name, c := range map[string]struct {
		r    jobs.BacktestRequest
		says string
	}{
		"a start in the holdout": {
			jobs.BacktestRequest{
				Model: mine, StartDate: later,
			}, "end before " + later + " 00:00, where the backtest begins: later bars are the holdout; --open-holdout",
		},
		"the same of a research":     {jobs.BacktestRequest{Model: string(id), StartDate: later}, "later bars are the holdout; --open-holdout"},
		"a test part in the holdout": {jobs.BacktestRequest{Model: past}, "where the test part of the model begins: later bars are the holdout"},
		"opened without reaching it": {
			jobs.BacktestRequest{
				Model: mine, EndDate: before, OpenHoldout: true,
			}, "no bar after 2015-04-07 18:00, where the holdout begins, would be read: leave out --open-holdout",
		},
		"of a research, not reaching": {
			jobs.BacktestRequest{Model: string(id), EndDate: before, OpenHoldout: true}, "leave out --open-holdout",
		},
		"a strategy that does not exist": {jobs.BacktestRequest{StrategyName: "none", OpenHoldout: true}, "no training of strategy none"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.desk.Backtest(t.Context(), c.r)
			o.refused(t, err, c.says)
		})
	}
	_, err := o.desk.Training(t.Context(), jobs.TrainingRequest{StrategyYAML: small(), StartDate: later})
	o.refused(t, err, "and there are 0 of EURUSD")
	o.refused(t, err, "the bars after 2015-04-07 18:00 are left out: they are the holdout of EURUSD; --open-holdout")
}

func TestDesk_ARefusedRequestFixesNoHoldout(t *testing.T) {
	o := newOffice(t, 99, "EURUSD")
	_, err := o.desk.Training(t.Context(), jobs.TrainingRequest{StrategyYAML: small()})
	o.refused(t, err, "there are 80 of EURUSD")
	if from := o.markets["EURUSD"].HoldoutFrom; !from.IsZero() {
		t.Errorf("the holdout begins at %s after a refusal, want it open: more bars are to be imported", from)
	}
	o.synth("EURUSD", market.H1, 2000, 1)
	model := string(o.trained(small("epochs: 24", "epochs: 1")))
	fixed := o.markets["EURUSD"].HoldoutFrom
	if !fixed.Equal(instant(o.series("EURUSD", market.H1).Time[searchedBars])) {
		t.Errorf("the holdout begins at %s, want at the last fifth of the longer series", fixed)
	}
	o.synth("EURUSD", market.H1, 3000, 1)
	order := o.backtest(jobs.BacktestRequest{Model: model})
	o.sealed(t, specOf[jobs.BacktestSpec](t, order).Bars, order.Warnings, fixed)
}

// overtaken is a ledger in which another request is always first.
type overtaken struct{ *office }

func (o overtaken) FixHoldout(ctx context.Context, id string, from time.Time) (time.Time, error) {
	return o.office.FixHoldout(ctx, id, from.Add(-time.Hour))
}

func TestDesk_DoesNotReadPastAHoldoutThatAnotherRequestFixed(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	o.desk.cfg.Markets = overtaken{o}
	_, err := o.desk.Training(t.Context(), jobs.TrainingRequest{StrategyYAML: small()})
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict || !strings.Contains(err.Error(), "send this request again") || o.blobs.puts != 0 {
		t.Errorf("err = %v with %d blobs, want CodeConflict and nothing stored", err, o.blobs.puts)
	}
	o.train(jobs.TrainingRequest{StrategyYAML: small()}) // it is fixed by now
}

func TestOpening_IsNotPartOfTheResultHash(t *testing.T) {
	o := newOffice(t, 2000, "EURUSD")
	id, _ := o.researchedModel()
	order := o.backtest(jobs.BacktestRequest{Model: string(id), OpenHoldout: true})
	got := resultOf[jobs.BacktestResult](t, o.run(order, once(BacktestRunner(best))))
	if got.Opened == nil || got.Opened.Research != someResearch || order.Operation.Look.Research != someResearch {
		t.Errorf("opened %+v, look %+v, want the research named", got.Opened, order.Operation.Look)
	}
	spec := specOf[jobs.BacktestSpec](t, order)
	spec.Opens = nil
	plain, err := operation(ktrdr.Backtesting, spec, about{})
	if err != nil {
		t.Fatal(err)
	}
	if same := resultOf[jobs.BacktestResult](
		t,
		o.run(jobs.Accepted{Operation: plain}, once(BacktestRunner(best))),
	); same.ResultHash != got.ResultHash {
		t.Errorf("result hash %s with the mark and %s without, want the figures alone in it", got.ResultHash, same.ResultHash)
	}
}
