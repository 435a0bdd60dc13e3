package e2e

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/research"
)

// leadLag makes hourly bars of two currencies. Each bar of EURUSD moves by half of
// what GBPUSD moved in the bar before.
func leadLag(bars int, seed uint64) (lead, follow *market.Bars) {
	const volatility, share = 0.001, 0.5
	r := num.NewRand(seed)
	lead, follow = &market.Bars{Symbol: "GBPUSD", Timeframe: market.H1}, &market.Bars{Symbol: "EURUSD", Timeframe: market.H1}
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
		first, second = add(lead, at.Unix(), first, move), add(follow, at.Unix(), second, float64(share*before)+r.Norm())
		before = move
		if at = at.Add(time.Hour); at.Weekday() == time.Saturday {
			at = at.AddDate(0, 0, 2)
		}
	}
	return lead, follow
}

const follower = `
name: follower
training_data:
  symbols: {symbol: EURUSD}
  context_symbols: [GBPUSD]
  timeframes: {timeframe: 1h}
  history_required: 50
indicators:
  move: {type: roc, period: 1, symbol: GBPUSD}
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
`

// A strategy that reads another symbol goes through the binary: training, backtest,
// prediction, research, look. The symbol that is read has its holdout closed, no
// trial, and the look.
func TestContextSymbols_FromTrainingToTheLook(t *testing.T) {
	t.Parallel()
	l := &lab{Lab: labtest.New(t, labtest.SQLite, labtest.Calm)}
	l.client = l.Client()
	lead, follow := leadLag(8000, 1)
	l.Import(follow)
	l.ServeWith(2)

	_, err := l.client.StartTraining(t.Context(), jobs.TrainingRequest{StrategyYAML: follower}, "")
	if err == nil || !strings.Contains(err.Error(), "there are no 1h bars of GBPUSD") {
		t.Errorf("a training without the bars that it reads: err = %v", err)
	}
	_, err = l.client.Trigger(t.Context(), research.Request{StrategyYAML: follower}, "")
	if err == nil || !strings.Contains(err.Error(), "GBPUSD is a context symbol") ||
		!strings.Contains(err.Error(), "the library has EURUSD 1h") {
		t.Errorf("a research without the bars that it reads: err = %v", err)
	}
	l.Import(lead)

	model := l.Train(jobs.TrainingRequest{StrategyYAML: follower, Seed: new(uint64(7))})
	l.ResultHash(model)
	test := l.Backtest(jobs.BacktestRequest{Model: string(model)})
	l.ResultHash(test)
	var result jobs.BacktestResult
	if err := json.Unmarshal(l.Op(test).Result, &result); err != nil {
		t.Fatal(err)
	}
	if s := result.Metrics.Sharpe; s == nil || *s < 3 {
		t.Errorf("backtest: %s; want a Sharpe ratio of 3 or more", result.Summary)
	}
	said, err := l.client.Predict(t.Context(), jobs.PredictionRequest{Model: string(model)})
	if err != nil || len(said.Bars) != 5 || said.Bars[4].Signal == "" {
		t.Errorf("prediction: %+v, %v", said, err)
	}
	if _, err = l.client.Predict(t.Context(), jobs.PredictionRequest{Model: string(model), Symbol: "GBPUSD"}); err == nil ||
		!strings.Contains(err.Error(), "reads GBPUSD as context and cannot trade it") {
		t.Errorf("a prediction of the context symbol: err = %v", err)
	}

	made := l.Research(research.Request{StrategyYAML: follower, Costs: "EURUSD=0.5/0/0", Seed: new(uint64(1)), Force: true}, "context")
	l.RunEnds(made.Run)
	op := l.Op(made.Operation)
	spec, err := ktrdr.ParseSpec[research.Spec](op.Spec)
	if err != nil {
		t.Fatal(err)
	}
	isContext := func(b jobs.Bars) bool { return b.Context && b.Symbol == "GBPUSD" }
	if len(spec.Bars) != 2 || !isContext(spec.Bars[1]) || !isContext(spec.Holdout[1]) || len(spec.Markets) != 1 ||
		len(spec.ContextMarkets) != 1 {
		t.Fatalf("the spec has the bars %+v, the markets %+v and %+v", spec.Bars, spec.Markets, spec.ContextMarkets)
	}
	if a, b := spec.Searched[0].To, spec.Searched[1].To; !a.Equal(b) {
		t.Errorf("the bars of research end at %v and %v, want one instant", a, b)
	}
	looks := l.Looks(made.Run)
	if len(looks) != 1 || !looks[0].Claim {
		t.Errorf("looks %+v of %s, want one that claims", looks, op.Result)
	}
	series := map[string]jobs.LibrarySeries{}
	listed, err := client.Call(t.Context(), l.client, api.Series, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range listed {
		series[s.Symbol] = s
	}
	// The training with its backtest, and the research.
	if s := series["EURUSD"]; s.Trials != 2 || s.Looks != 1 {
		t.Errorf("EURUSD has %d trials and %d looks, want 2 and 1", s.Trials, s.Looks)
	}
	if s := series["GBPUSD"]; s.Trials != 0 || s.Looks != 1 || s.HoldoutFrom.IsZero() {
		t.Errorf("GBPUSD has %d trials, %d looks and its holdout from %v; want 0 trials, the look, and a start", s.Trials, s.Looks, s.HoldoutFrom)
	}
	for _, c := range l.Children(made.Operation) {
		if c.Type == ktrdr.Training && !strings.Contains(string(c.Spec), `"context":true`) {
			t.Errorf("the training of the research reads %.400s", c.Spec)
		}
	}
}
