package train_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// leading makes two markets of hourly bars. Each bar of the second, AAA, moves a
// share of what the first, LEAD, moved in the bar before.
func leading(seed uint64, bars int, share float64) (lead, follow *market.Bars) {
	const volatility = 0.001
	r := num.NewRand(seed)
	lead, follow = &market.Bars{Symbol: "LEAD", Timeframe: market.H1}, &market.Bars{Symbol: "AAA", Timeframe: market.H1}
	add := func(b *market.Bars, at int64, open, move float64) float64 {
		last := open * num.Exp(float64(volatility*move))
		reach := float64(volatility * math.Abs(r.Norm()) / 2)
		b.Append(market.Bar{
			Time: at, Open: open, Close: last, High: max(open, last) * (1 + reach), Low: min(open, last) * (1 - reach), Volume: 100,
		})
		return last
	}
	at, first, second, before := time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC), 1.0, 1.0, 0.0
	for range bars {
		move := r.Norm()
		first = add(lead, at.Unix(), first, move)
		second = add(follow, at.Unix(), second, float64(share*before)+r.Norm())
		before = move
		if at = at.Add(time.Hour); at.Weekday() == time.Saturday {
			at = at.AddDate(0, 0, 2)
		}
	}
	return lead, follow
}

// follower trades AAA by the last move of LEAD, or of AAA itself.
func follower(t testing.TB, symbol string) *strategy.Strategy {
	t.Helper()
	of, context := "", ""
	if symbol != "" {
		of, context = ", symbol: "+symbol, "  context_symbols: ["+symbol+"]\n"
	}
	s, _, err := strategy.Parse([]byte(`
name: follower
training_data:
  symbols: {symbol: AAA}
  timeframes: {timeframe: 1h}
  history_required: 50
`+context+`
indicators:
  move: {type: roc, period: 1`+of+`}
fuzzy_sets: {}
nn_inputs: [{raw_indicator: move, normalization: zscore}]
model: {type: mlp, architecture: {hidden_layers: [8], dropout: 0}}
decisions: {output_format: classification, confidence_threshold: 0.34, allow_short_from_flat: true, filters: {min_signal_separation: 0}}
training:
  labels: {source: context, horizon: 1, bullish_threshold: 0.0004, bearish_threshold: -0.0004}
  epochs: 10
  batch_size: 256
  learning_rate: 0.005
  data_split: {train: 0.5, validation: 0.15, test: 0.35}
backtest: {commission: 0.00005, slippage: 0, flip: true}
`), "follower.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sharpeOf trains a strategy and trades the test part.
func sharpeOf(t testing.TB, s *strategy.Strategy, d train.Series) (float64, *train.TrainedModel) {
	t.Helper()
	ds := prepare(t, s, d)
	run := start(t, ds, s, 1)
	for !run.Done() {
		if err := run.Epoch(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	model, _, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := train.NewPlan(model, d, strategy.Span{Start: time.Unix(ds.Split.Test, 0).UTC()}, backtest.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := backtest.Backtest(plan.Bars, plan.Signals.Signal, plan.Config)
	if err != nil {
		t.Fatal(err)
	}
	if result.Metrics.Sharpe == nil {
		return 0, model
	}
	return *result.Metrics.Sharpe, model
}

// A strategy that reads the symbol that leads earns on bars that it was not trained
// on; the same strategy that reads its own symbol does not.
func TestContext_EarnsWhereAnotherSymbolLeads(t *testing.T) {
	lead, follow := leading(1, 6000, 0.4)
	d := train.Series{Symbol: "AAA", Bars: []*market.Bars{follow}, Context: []*market.Bars{lead}}
	with, model := sharpeOf(t, follower(t, "LEAD"), d)
	if with < 3 {
		t.Errorf("with the leader: a net Sharpe ratio of %.2f, want 3 or more", with)
	}
	if without, _ := sharpeOf(t, follower(t, ""), d); without > 1 {
		t.Errorf("without the leader: a net Sharpe ratio of %.2f, want less than 1", without)
	}
	said, err := train.Predict(model, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := train.VerifyLive(model, d, said); err != nil {
		t.Error(err)
	}
	if sources := model.Info.Context; len(sources) != 1 || sources[0].Symbol != "LEAD" || len(model.Info.Sources) != 1 {
		t.Errorf("the model was made of %+v and reads %+v", model.Info.Sources, sources)
	}
	if err := model.Allows("LEAD"); err == nil || !strings.Contains(err.Error(), "reads LEAD as context and cannot trade it") {
		t.Errorf("err = %v", err)
	}
}

func TestContext_KnowsNothingOfTheFuture(t *testing.T) {
	lead, follow := leading(2, 2000, 0.4)
	d := train.Series{Symbol: "AAA", Bars: []*market.Bars{follow}, Context: []*market.Bars{lead}}
	s := follower(t, "LEAD")
	if err := train.CheckLookahead(honest(s), []train.Series{d}, train.Options{}); err != nil {
		t.Error(err)
	}
	_, model := sharpeOf(t, s, d)
	predict := func(d train.Series) (*train.Signals, error) { return train.Predict(model, d) }
	if err := train.CheckSignals(predict, d, market.H1, []int{200, 1000, 1999}); err != nil {
		t.Error(err)
	}
	// The same with bars of the other symbol that are known an hour too early.
	early := func(d train.Series) train.Series {
		b := *d.Context[0]
		b.Time = slices.Clone(b.Time)
		for i := range b.Time {
			b.Time[i] -= 3600
		}
		d.Context = []*market.Bars{&b}
		return d
	}
	cheat := func(d train.Series) (*train.Signals, error) { return train.Predict(model, early(d)) }
	err := train.CheckSignals(cheat, d, market.H1, []int{200})
	if _, ok := errors.AsType[*train.LookAheadError](err); !ok {
		t.Errorf("err = %v, want a look-ahead", err)
	}
}

// The last bar of another symbol serves for two further bars. Then rows have no
// value, and are neither samples nor decisions.
func TestContext_ExpiresAfterTwoBars(t *testing.T) {
	lead, follow := leading(3, 1200, 0.4)
	const hole, missing = 600, 5
	holed := lead.Slice(0, hole)
	for i := hole + missing; i < lead.Len(); i++ {
		holed.Append(lead.At(i))
	}
	d := train.Series{Symbol: "AAA", Bars: []*market.Bars{follow}, Context: []*market.Bars{holed}}
	s := follower(t, "LEAD")
	_, model := sharpeOf(t, s, d)
	said, err := train.Predict(model, d)
	if err != nil {
		t.Fatal(err)
	}
	for i := hole - 2; i < hole+missing+3; i++ {
		answered := !math.IsNaN(float64(said.Answer(i)[0]))
		if want := i < hole+2 || i >= hole+missing; answered != want {
			t.Errorf("bar %d of a hole that begins at %d and has %d bars: answered %v, want %v", i, hole, missing, answered, want)
		}
	}
	ds := prepare(t, s, d)
	for _, rows := range [][]int32{ds.Train, ds.Validation, ds.Test} {
		for i := int32(hole + 2); i < hole+missing; i++ {
			if slices.Contains(rows, i) {
				t.Errorf("bar %d has no value of the other symbol and is a sample", i)
			}
		}
	}
}

func TestContext_IsRefusedWhereItsBarsAreMissing(t *testing.T) {
	lead, follow := leading(4, 1200, 0.4)
	s := follower(t, "LEAD")
	for name, c := range map[string]struct {
		context []*market.Bars
		says    string
	}{
		"no bars at all": {nil, "strategy follower reads 1h bars of LEAD beside those of AAA, and there are none"},
		"bars of another time": {
			[]*market.Bars{lead.Slice(0, 600)}, "of 1200 bars of 1h have no 1h bar of the context symbol LEAD that is up to date",
		},
	} {
		_, _, err := train.Prepare(s, []train.Series{{Symbol: "AAA", Bars: []*market.Bars{follow}, Context: c.context}}, train.Options{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: err = %v, want one that says %q", name, err, c.says)
		}
	}
}
