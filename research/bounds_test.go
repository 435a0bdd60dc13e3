package research

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// A run may last until the end of seven days, and not until now.
func TestTrigger_UntilTheBoundsThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for lasts, ok := range map[time.Duration]bool{
			-1: false, 0: false, 1: true, 7 * 24 * time.Hour: true, 7*24*time.Hour + 1: false,
		} {
			if err := (Request{Count: 1, Until: time.Now().Add(lasts)}).check(); (err == nil) != ok {
				t.Errorf("a run of %v: error is %v, want it accepted: %v", lasts, err, ok)
			}
		}
	})
}

// Readers of JSON keep whole numbers below 2^53.
func TestSeeds_AreKeptByReadersOfJSON(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range 200 {
		of := seedOf(fmt.Sprintf("run %d", i))
		at := Spec{RunSeed: 7, Size: 8}.At(i).Seed
		if of >= 1<<53 || at >= 1<<53 {
			t.Errorf("run %d has the seed %d, its research %d; want less than 2^53", i, of, at)
		}
		seen[of], seen[at] = true, true
	}
	if len(seen) != 400 {
		t.Errorf("%d seeds are different, want all 400", len(seen))
	}
}

// Lists show the first row of a trial, so it names all symbols.
func TestSpec_TheFirstMarketOfATrialNamesAllSymbols(t *testing.T) {
	spec := Spec{
		Markets: []SymbolMarket{{"EURUSD", "m1"}, {"GBPUSD", "m2"}},
		Bars: []jobs.Bars{
			{Symbol: "EURUSD", Timeframe: market.H1}, {Symbol: "EURUSD", Timeframe: market.H4}, {Symbol: "GBPUSD", Timeframe: market.H1},
		},
	}
	want := []ktrdr.TrialMarket{
		{Market: "m1", Symbols: "EURUSD GBPUSD", Timeframes: "1h 4h"}, {Market: "m2", Symbols: "GBPUSD", Timeframes: "1h"},
	}
	if got := spec.trial(5); got.Own != 5 || !slices.Equal(got.Markets, want) {
		t.Errorf("trial %+v, want %+v", got, want)
	}
	spec.Markets = spec.Markets[1:]
	if got := spec.trial(5).Markets; !slices.Equal(got, want[1:]) {
		t.Errorf("of one market %+v, want %+v", got, want[1:])
	}
}

func TestDesk_AHoldoutHasAtLeastItsLastBar(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	bars, err := d.cfg.Library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	last := bars.Time[bars.Len()-1]
	for _, c := range []struct {
		from    int64
		holdout int // bars; 0: refused
	}{{last - 3600, 2}, {last, 1}, {last + 1, 0}, {bars.Time[0], 0}} {
		a.from["mkt_EURUSD"] = time.Unix(c.from, 0).UTC()
		p, err := d.cut(t.Context(), []string{"EURUSD"}, []market.Timeframe{market.H1}, nil, time.Time{})
		if c.holdout == 0 {
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "all on one side of") {
				t.Errorf("from %d s after the last bar: err = %v, want it refused", c.from-last, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := decoded(t, a.blobs[p.holdout[0].SHA256]).Len(); got != c.holdout {
			t.Errorf("from %d s after the last bar: %d bars in the holdout, want %d", c.from-last, got, c.holdout)
		}
	}
}

// marketsBy is an attic with markets of its own making.
type marketsBy struct {
	*attic
	id  func(*market.Bars) string
	fix error
}

func (m marketsBy) Of(_ context.Context, b *market.Bars) (ktrdr.Market, error) {
	return ktrdr.Market{ID: m.id(b), HoldoutFrom: m.from[m.id(b)]}, nil
}

func (m marketsBy) FixHoldout(ctx context.Context, id string, from time.Time) (time.Time, error) {
	if m.fix != nil {
		return time.Time{}, m.fix
	}
	return m.attic.FixHoldout(ctx, id, from)
}

// One market for each symbol, whatever its timeframes, and each with a holdout.
func TestDesk_FindsTheMarketOfEverySymbol(t *testing.T) {
	d, a := pairs(t)
	symbols, frames := []string{"EURGBP", "USDCAD"}, []market.Timeframe{market.H1, market.H4}
	p, err := d.cut(t.Context(), symbols, frames, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []SymbolMarket{{"EURGBP", "mkt_EURGBP"}, {"USDCAD", "mkt_USDCAD"}}; !slices.Equal(p.markets, want) {
		t.Errorf("markets %+v, want %+v", p.markets, want)
	}
	if len(a.from) != 2 || a.from["mkt_EURGBP"].IsZero() || a.from["mkt_USDCAD"].IsZero() {
		t.Errorf("holdouts begin at %v, want one start for each of the two markets", a.from)
	}
	for i, symbol := range symbols {
		d.cfg.Markets = marketsBy{attic: a, id: func(b *market.Bars) string {
			if b.Symbol == symbol {
				return b.Symbol + string(b.Timeframe)
			}
			return b.Symbol
		}}
		if _, err := d.cut(t.Context(), symbols, frames, nil, time.Time{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid ||
			!strings.Contains(err.Error(), "the bars of "+symbol+" belong to several markets") {
			t.Errorf("symbol %d of two markets: err = %v, want it refused", i, err)
		}
	}
	down := errors.New("the database is away")
	d.cfg.Markets = marketsBy{attic: a, id: func(b *market.Bars) string { return b.Symbol }, fix: down}
	if _, err := d.cut(t.Context(), symbols, frames, nil, time.Time{}); !errors.Is(err, down) {
		t.Errorf("err = %v, want that the start of the holdout could not be stored", err)
	}
}

func TestDesk_NeedsAThousandBars(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"JUST": 1000, "UNDER": 999})
	if _, err := d.Trigger(t.Context(), Request{Symbols: []string{"JUST"}}); err != nil {
		t.Errorf("1000 bars: %v", err)
	}
	if _, err := d.Trigger(t.Context(), Request{Symbols: []string{"UNDER"}}); err == nil ||
		!strings.Contains(err.Error(), "only 999 1h bars of UNDER, and a research needs 1000") {
		t.Errorf("999 bars: %v, want them refused", err)
	}
}

// Of 375 bars four fifths are before the holdout: 300, the fewest to design for.
func TestDesk_LongerBarsBeforeTheHoldout(t *testing.T) {
	d := &Desk{cfg: DeskConfig{Holdout: 0.2}}
	b := &designer.Brief{Symbols: []string{"EURUSD"}, Timeframe: market.H1, Longer: []market.Timeframe{market.D1}}
	for bars, says := range map[int]string{
		375: "", 374: "there are only 299 1d bars of EURUSD before the holdout", 0: "there are only 0 1d bars",
	} {
		known := designer.Known{Series: []designer.KnownSeries{
			{Symbol: "EURUSD", Timeframe: market.D1, Bars: bars},
			{Symbol: "EURUSD", Timeframe: market.H4, Bars: 1},
			{Symbol: "GBPUSD", Timeframe: market.D1, Bars: 1},
		}}
		err := d.enoughBars(known, b)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%d bars: err = %v, want %q", bars, err, says)
		}
	}
}

func TestSpelled_AsTheLibraryDoes(t *testing.T) {
	known := designer.Known{Series: []designer.KnownSeries{{Symbol: "EURUSD"}, {Symbol: "GBPUSD"}, {Symbol: "btc"}}}
	got, err := spelled([]string{"gbpusd", "eurusd", "EURUSD", "BTC", "xauusd"}, known)
	if want := []string{"GBPUSD", "EURUSD", "btc", "xauusd"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := spelled([]string{" "}, known); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("err = %v, want a blank name refused", err)
	}
}

func TestDesk_ResearchesAStrategyByItsName(t *testing.T) {
	text, s := simple(t)
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	order, err := d.Trigger(t.Context(), Request{Strategy: s.Name})
	if err != nil {
		t.Fatal(err)
	}
	if got := specOf(t, order.Operations[0]).Strategy; got != text {
		t.Errorf("research of %.60q…, want the text of strategy %s", got, s.Name)
	}
	// The embargo is a share of the bars before the holdout: 960 of 1200.
	long := strings.Replace(text, "training:", "training:\n  embargo: 0.2", 1)
	if _, err := d.Trigger(t.Context(), Request{StrategyYAML: long}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid ||
		!strings.Contains(err.Error(), "of 960 bars") {
		t.Errorf("err = %v, want a refusal that counts 960 bars", err)
	}
}

func TestAvailable_OfAnEmptyLibrary(t *testing.T) {
	none := designer.Known{}
	for says, chosen := range map[string]designer.Chosen{
		"there are no bars to research":  {},
		"there are no 1h bars of EURUSD": {Symbols: []string{"EURUSD"}},
	} {
		if err := available(none, chosen); ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: err = %v, want %q", chosen, err, says)
		}
	}
	known := designer.Known{Series: []designer.KnownSeries{{Symbol: "EURUSD", Timeframe: market.H1}}}
	if err := available(known, designer.Chosen{}); err != nil {
		t.Errorf("with bars: %v", err)
	}
}

func TestPlan_SaysWhyItsChildWasCancelled(t *testing.T) {
	for reason, ends := range map[string]string{"": " was cancelled", "too hot": " was cancelled: too hot"} {
		tr := reach(t, someSpec(t), ktrdr.Training)
		tr.die(ktrdr.Cancelled, ktrdr.CodeCancelled, "")
		tr.newest().CancelReason = reason
		tr.ask(ktrdr.WhyChild)
		if got := tr.parent.ErrorMessage; tr.parent.Status != ktrdr.Cancelled || !strings.HasSuffix(got, string(tr.newest().ID)+ends) {
			t.Errorf("reason %q: %s with %q", reason, tr.parent.Status, got)
		}
	}
}

func TestPlan_KeepsTheEpochAtWhichTrainingEnded(t *testing.T) {
	for _, typ := range []ktrdr.Type{ktrdr.Training, ktrdr.Backtesting} {
		tr := reach(t, someSpec(t), typ)
		before := tr.state().TrainingEpoch
		tr.newest().Progress.Context = mustEncode(t, jobs.ProgressContext{Epoch: 17})
		tr.die(ktrdr.Failed, ktrdr.CodeFailed, "bad luck")
		tr.ask(ktrdr.WhyChild)
		want := before
		if typ == ktrdr.Training {
			want = 17
		}
		if got := tr.state().TrainingEpoch; got != want || before == 17 {
			t.Errorf("%s failed: epoch %d, want %d", typ, got, want)
		}
	}
}

func TestGates_LeastNumberOfTradesFromTheEnvironment(t *testing.T) {
	for text, ok := range map[string]bool{"0": false, "-1": false, "1": true, "1.5": false} {
		_, err := GatesFrom(func(name string) string {
			if name == "BACKTEST_GATE_MIN_TRADES" {
				return text
			}
			return ""
		})
		if (err == nil) != ok {
			t.Errorf("BACKTEST_GATE_MIN_TRADES=%s: err = %v, want it accepted: %v", text, err, ok)
		}
	}
}

// Answering all of two classes alike costs ln 2. A tenth more than that passes,
// also when the limit is lower. The error of a regression has the same tenth.
func TestGates_LossOfAnAnswerThatKnowsNothing(t *testing.T) {
	g := DefaultGates()
	g.MaxLoss = 0.5
	for classes, want := range map[int]float64{0: 0.5, 1: 0.5, 2: 1.1 * math.Ln2} {
		if got := g.lossLimit(classes); math.Abs(got-want) > 1e-12 {
			t.Errorf("the loss of %d classes is limited to %v, want %v", classes, got, want)
		}
	}
	for rmse, ok := range map[float64]bool{1.1: true, 1.11: false} {
		f := TrainingFigures{Regression: true, Accuracy: new(0.6), Loss: new(0.1), RMSE: new(rmse), BaselineRMSE: new(1.0)}
		if r := g.Training(f); r.Passed != ok {
			t.Errorf("an error of %v beside 1: %+v, want it passed: %v", rmse, r, ok)
		}
	}
}

func TestGateReasons_SurviveStorage(t *testing.T) {
	value, limit := 9.0, 0.8
	want := GateReasons{
		{Code: "loss_too_high", Text: "loss", Value: &value, Limit: &limit}, {Code: "too_few_trades", Text: "few", Value: &value},
	}
	var got GateReasons
	if err := json.Unmarshal(mustEncode(t, want), &got); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v; %s", err, cmp.Diff(want, got))
	}
	if err := json.Unmarshal([]byte(`[{"code": 7}]`), &got); err == nil {
		t.Errorf("a code that is a number is read as %+v", got)
	}
}

// A share is a hundredth of the percentage that a backtest tells.
func TestLedger_KeepsFiguresByHand(t *testing.T) {
	var r jobs.BacktestResult
	r.Metrics.TotalReturnPct, r.Metrics.MaxDrawdownPct, r.Metrics.TotalTrades = 25, 50, 7
	f := ledgerOf(ktrdr.Backtesting)(ended(t, ktrdr.Backtesting, 1, jobs.BacktestSpec{Symbol: "EURUSD"}, r)).Trial
	if *f.NetReturn != 0.25 || *f.MaxDrawdown != 0.5 || f.Trades != 7 {
		t.Errorf("kept a return of %v, a fall of %v and %d trades; want 0.25, 0.5 and 7", *f.NetReturn, *f.MaxDrawdown, f.Trades)
	}
	for n, want := range []bool{false, true} {
		result := Result{Instead: make([]string, n)}
		if got := ledgerOf(ktrdr.AgentResearch)(ended(t, ktrdr.AgentResearch, 1, struct{}{}, result)).Trial.Unaided; got != want {
			t.Errorf("%d phases without a model: unaided is %v, want %v", n, got, want)
		}
	}
}

func TestMemory_ReadsAtMostTheLimit(t *testing.T) {
	notes := shelf{}
	for i := range 320 {
		n := ktrdr.Note{Kind: NoteExperiment, Key: fmt.Sprintf("r/0/%04d", i), Run: "r"}
		notes[n.Key] = n
	}
	for most, want := range map[int]int{0: 320, 1: 1, 99: 99, 100: 100, 150: 150, 250: 250, 320: 320, 400: 320} {
		got := 0
		err := NewMemory(notes).read(t.Context(), ktrdr.NoteQuery{Kind: NoteExperiment}, most, func(ktrdr.Note) error { got++; return nil })
		if err != nil || got != want {
			t.Errorf("at most %d of 320: %d, %v; want %d", most, got, err, want)
		}
	}
}

// A research that failed after its design still says what was designed.
func TestNotes_OfAFailedResearchNameItsDesign(t *testing.T) {
	for typ, key := range map[ktrdr.Type]string{ktrdr.AgentDesign: "", ktrdr.Training: "k"} {
		tr := reach(t, someSpec(t), typ)
		tr.die(ktrdr.Failed, ktrdr.CodeFailed, "bad luck")
		tr.ask(ktrdr.WhyChild)
		var e Experiment
		if err := json.Unmarshal(tr.notes[NoteExperiment+" run_a/1/2/failed"].Data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Key != key || (e.Genome != nil) != (key != "") || !e.Outcome.Failed {
			t.Errorf("%s failed: experiment %+v, want the design %q", typ, e, key)
		}
	}
}

// The hypothesis of the research itself is number 0, those of its assessment follow.
func TestNotes_NumberTheHypotheses(t *testing.T) {
	tr := assessed(t, someSpec(t), func(v any) {
		if a, ok := v.(*Assessment); ok {
			a.Hypotheses = []Hypothesis{{Text: "first"}, {Text: "second"}}
		}
	})
	for key, text := range map[string]string{"run_a/1/2/0": "it earns", "run_a/1/2/1": "first", "run_a/1/2/2": "second"} {
		var h HypothesisNote
		if err := json.Unmarshal(tr.notes[NoteHypothesis+" "+key].Data, &h); err != nil || h.ID != key || h.Text != text {
			t.Errorf("hypothesis %s is %+v, %v; want %q", key, h, err, text)
		}
	}
}

func TestFound_ByHand(t *testing.T) {
	for _, c := range []struct {
		a    Assessment
		o    Outcome
		want HypothesisStatus
	}{
		{Assessment{Finalist: true, Verdict: evidence.Poor}, OutcomeCompleted, Validated},
		{Assessment{Verdict: evidence.Poor}, OutcomeCompleted, Refuted},
		{Assessment{Verdict: evidence.Poor}, OutcomeFailed, Inconclusive},
		{Assessment{Verdict: evidence.Neutral}, OutcomeCompleted, Inconclusive},
	} {
		if got := found(&c.a, c.o); got != c.want {
			t.Errorf("%s, finalist %v, %s: %s, want %s", c.o, c.a.Finalist, c.a.Verdict, got, c.want)
		}
	}
}

func TestNotes_TellTheDesignerOfACollapse(t *testing.T) {
	for _, collapsed := range []bool{false, true} {
		tr := assessed(t, someSpec(t), func(v any) {
			if r, ok := v.(*jobs.TrainingResult); ok {
				r.Test.Collapsed = collapsed
			}
		})
		var e Experiment
		if err := json.Unmarshal(tr.notes[NoteExperiment+" run_a/1/2"].Data, &e); err != nil || e.Outcome.Collapsed != collapsed {
			t.Errorf("collapsed %v: the designer is told %+v, %v", collapsed, e.Outcome, err)
		}
	}
}

// The assessment knows of a collapse, and gets files only if there are any.
func TestPlan_AssessesWhatThereIs(t *testing.T) {
	for _, collapsed := range []bool{false, true} {
		for _, files := range []bool{false, true} {
			tr := reach(t, someSpec(t), ktrdr.Training)
			for tr.newest().Type != ktrdr.AgentAssessment {
				tr.complete(func(v any) {
					switch r := v.(type) {
					case *jobs.TrainingResult:
						r.Test.Collapsed = collapsed
					case *jobs.BacktestResult:
						if !files {
							r.Artifacts = nil
						}
					}
				})
				tr.ask(ktrdr.WhyChild)
			}
			if got := newestSpec[AssessmentSpec](tr); got.Collapsed != collapsed || (got.Files != nil) != files {
				t.Errorf("collapsed %v, files %v: the assessment gets %v, %+v", collapsed, files, got.Collapsed, got.Files)
			}
			tr.complete(nil)
			if tr.ask(ktrdr.WhyChild); tr.parent.Status != ktrdr.Completed || tr.result().ResultHash == (ktrdr.Hash{}) {
				t.Errorf("collapsed %v, files %v: it is %s with the hash %s", collapsed, files, tr.parent.Status, tr.result().ResultHash)
			}
		}
	}
}

// The share of the gross result that costs took: all of it when they took more,
// and nothing when there were none.
func TestFigures_ShareOfCosts(t *testing.T) {
	for _, c := range []struct{ net, costs, want float64 }{
		{75, 25, 0.25}, {-10, 25, 1}, {-30, 25, 1}, {0, 25, 1}, {50, 0, 0}, {-50, 0, 0},
	} {
		if got := figuresOf(&backtest.Metrics{TotalReturn: c.net, CostTotal: c.costs}).CostShare; got != c.want {
			t.Errorf("%v left after costs of %v: a share of %v, want %v", c.net, c.costs, got, c.want)
		}
	}
}

// noRuns is a store in which no run is open.
type noRuns struct{ *diary }

func (noRuns) OpenRuns(context.Context) ([]ktrdr.OpenRun, error) { return nil, nil }

func TestKeeper_WaitsWhileARunIsOpen(t *testing.T) {
	d := lasting(func(d *diary) { d.run.OldestOpen = 0 })
	if _, waits, err := NewRunController(d, nil).Advance(t.Context(), time.Now()); err != nil || !waits {
		t.Errorf("a run is open: waits %v, %v", waits, err)
	}
	if _, waits, err := NewRunController(noRuns{d}, nil).Advance(t.Context(), time.Now()); err != nil || waits {
		t.Errorf("no run is open: waits %v, %v", waits, err)
	}
}

// A creation that has paused for a minute is broken off.
func TestKeeper_SettlesAfterAMinute(t *testing.T) {
	now := time.Now()
	for paused, settled := range map[time.Duration]bool{time.Minute - 1: false, time.Minute: true} {
		d := lasting(func(d *diary) { d.run.Planned, d.run.NewestAdded, d.run.OldestOpen = 5, now.Add(-paused), 0 })
		if _, _, err := NewRunController(d, nil).Advance(t.Context(), now); err != nil || slices.Contains(d.did, "settle") != settled {
			t.Errorf("paused for %v: did %q, %v; want it settled: %v", paused, d.did, err, settled)
		}
	}
}

// Designs and assessments ask models with the backend's keys, so they run there.
func TestPlan_WhatRunsInTheBackend(t *testing.T) {
	for typ, want := range map[ktrdr.Type]bool{
		ktrdr.AgentDesign: true, ktrdr.Training: false, ktrdr.Backtesting: false, ktrdr.AgentAssessment: true,
	} {
		if got := ktrdr.MergeTypes(Types(), compute.Types())[typ].Local; got != want {
			t.Errorf("%s runs in the backend only: %v, want %v", typ, got, want)
		}
	}
}

// endless is a store that cannot end a run.
type endless struct{ *diary }

func (endless) EndRun(context.Context, string) (bool, error) {
	return false, errors.New("the database is away")
}

// The controller names the last generation of a run that it gives up and ends.
func TestKeeper_SaysWhatItDid(t *testing.T) {
	over := func(d *diary) {
		d.run.Generations, d.run.Closed = 3, 3
		d.tallies = []ktrdr.GenerationTally{{Generation: 2, Researches: 8, Failed: 8}}
	}
	const why = "all 8 researches of generation 2 failed or were cancelled"
	givenUp := RunStep{Run: "run_a", Did: "given up", Generation: 2, Why: why}
	did, _, err := NewRunController(lasting(over), nil).Advance(t.Context(), time.Now())
	if want := []RunStep{givenUp, {Run: "run_a", Did: "ended", Generation: 2}}; err != nil || !slices.Equal(did, want) {
		t.Errorf("did %+v, %v; want %+v", did, err, want)
	}
	did, _, err = NewRunController(endless{lasting(over)}, nil).Advance(t.Context(), time.Now())
	if err == nil || !slices.Equal(did, []RunStep{givenUp}) {
		t.Errorf("did %+v, %v; want it given up and not ended", did, err)
	}
}

// What a plan creates is accepted, and what names no model is not.
func TestSpecs_NeedAModel(t *testing.T) {
	design := newestSpec[DesignSpec](reach(t, someSpec(t), ktrdr.AgentDesign))
	assessment := newestSpec[AssessmentSpec](reach(t, someSpec(t), ktrdr.AgentAssessment))
	if err := errors.Join(design.Validate(), assessment.Validate()); err != nil {
		t.Errorf("made by the plan: %v", err)
	}
	design.Model, assessment.Model = "", ""
	for _, err := range []error{design.Validate(), assessment.Validate()} {
		if err == nil || !strings.Contains(err.Error(), "model is empty") {
			t.Errorf("without a model: %v", err)
		}
	}
}

// The longest strategy has 32 KiB as a JSON string, with its quotes.
func TestReadStrategy_TheLongestText(t *testing.T) {
	text, _ := simple(t)
	text += "\n# "
	room := 32<<10 - len(mustEncode(t, text))
	if _, err := readStrategy(text+strings.Repeat("x", room), "long"); err != nil {
		t.Errorf("a strategy of 32768 bytes: %v", err)
	}
	if _, err := readStrategy(text+strings.Repeat("x", room+1), "long"); err == nil ||
		!strings.Contains(err.Error(), "longer than the 32768 bytes") {
		t.Errorf("a strategy of 32769 bytes: %v, want it refused", err)
	}
}

func TestDesk_AsksAModelWhileThereIsMoney(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	down := errors.New("the database is away")
	for name, c := range map[string]struct {
		left float64
		err  error
		code ktrdr.Code
	}{
		"a cent":          {left: 0.01},
		"nothing":         {code: CodeBudgetExhausted},
		"less":            {left: -1, code: CodeBudgetExhausted},
		"it is not known": {left: 5, err: down, code: ktrdr.CodeOf(down)},
	} {
		d.cfg.Budget = func(context.Context) (float64, error) { return c.left, c.err }
		order, err := d.Trigger(t.Context(), Request{Model: "sonnet"})
		if ktrdr.CodeOf(err) != c.code || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s is left: %v, want the code %q", name, err, c.code)
		}
		if c.code == "" && specOf(t, order.Operations[0]).Model != "sonnet" {
			t.Errorf("%s is left, and another model is asked", name)
		}
	}
}

// A generation of a given strategy is listed under the name of the strategy.
func TestSpec_GenerationsOfAStrategyAreNamed(t *testing.T) {
	text, s := simple(t)
	spec := someSpec(t)
	spec.Strategy, spec.Size = text, 2
	run := &ktrdr.OpenRun{Run: ktrdr.Run{ID: "run_a", Size: 2, Planned: 2, Generations: 1}}
	ops, _, err := spec.generation(run)
	if err != nil || len(ops) != 2 {
		t.Fatalf("%d operations, %v", len(ops), err)
	}
	var listed Listing
	if err := json.Unmarshal(ops[0].Metadata, &listed); err != nil || listed.Strategy != s.Name {
		t.Errorf("listed as %q, %v; want %q", listed.Strategy, err, s.Name)
	}
	spec.Strategy = "name: [x"
	if _, _, err := spec.generation(run); err == nil {
		t.Error("a strategy that cannot be read makes a generation")
	}
}

// A training may take 4 GiB of memory and a day of one core.
func TestAffordable_SaysWhatIsTooMuch(t *testing.T) {
	_, s := simple(t)
	if err := affordable(s, 5000); err != nil {
		t.Errorf("as it is: %v", err)
	}
	if err := affordable(s, 1<<31); err == nil || !strings.Contains(err.Error(), "at most 4096 MB are allowed") {
		t.Errorf("2 billion bars: %v", err)
	}
	long := *s
	long.Training.Epochs = 1 << 40
	if err := affordable(&long, 5000); err == nil || !strings.Contains(err.Error(), "at most 24h0m0s are allowed") {
		t.Errorf("2^40 epochs: %v", err)
	}
}
