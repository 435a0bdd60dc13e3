package train_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// TestPredict_SaysOfABarWhatItSaysOfItAlone asks about single bars, in any
// order, and demands the bits that the whole series gave.
func TestPredict_SaysOfABarWhatItSaysOfItAlone(t *testing.T) {
	for name, l := range map[string]lab{
		"an mlp": {}, "an lstm": {model: "{type: lstm, architecture: {sequence_length: 6, hidden_size: 4}}"},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, l, synth(t, "AAA", 700, 7, 0.2))
			data := synth(t, "AAA", 20_000, 8, 0.2) // more than are asked at once
			all, err := train.Predict(m, data)
			if err != nil {
				t.Fatal(err)
			}
			x, err := feature.Build(m.Strategy, data.Bars)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Info.Norm.Apply(x); err != nil {
				t.Fatal(err)
			}
			table := neural.Dataset{Rows: x.Rows, Inputs: x.Cols, Stride: x.Stride, X: x.X}
			one := neural.NewPredictor(m.Net, 1)
			r := num.NewRand(1)
			for range 300 {
				bar := all.First + int(r.Uint64n(uint64(x.Rows-all.First)))
				out := make([]float32, 3)
				if err := one.Predict(&table, []int32{int32(bar)}, out); err != nil {
					t.Fatal(err)
				}
				neural.Softmax(out, 3)
				if !slices.Equal(out, all.Answer(bar)) {
					t.Fatalf("bar %d alone: %v, among all: %v", bar, out, all.Answer(bar))
				}
			}
		})
	}
}

func TestPredictLast_AsksOnlyAboutTheLastBars(t *testing.T) {
	for name, l := range map[string]lab{
		"an mlp": {}, "an lstm": {model: "{type: lstm, architecture: {sequence_length: 6, hidden_size: 4}}"},
	} {
		t.Run(name, func(t *testing.T) {
			data := synth(t, "AAA", 900, 7, 0.2)
			m := model(t, l, data)
			all, err := train.Predict(m, data)
			if err != nil {
				t.Fatal(err)
			}
			last, err := train.PredictLast(m, data, 7)
			if err != nil {
				t.Fatal(err)
			}
			if last.First != 893 || last.Holds(0).Undefined != 893 {
				t.Errorf("the first answer is at bar %d, and %d bars have none; want 893", last.First, last.Holds(0).Undefined)
			}
			for bar := 893; bar < 900; bar++ {
				if !slices.Equal(last.Answer(bar), all.Answer(bar)) || last.Signal[bar] != all.Signal[bar] ||
					last.Confidence[bar] != all.Confidence[bar] {
					t.Errorf("bar %d: %v, among all: %v", bar, last.Answer(bar), all.Answer(bar))
				}
			}
			if err := train.VerifyLive(m, data, last); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPredict_HoldsWhereItKnowsNothing(t *testing.T) {
	data := synth(t, "AAA", 900, 7, 0.2)
	m := model(t, lab{history: 80}, data)
	broken := *data.Bars[0]
	broken.Close = slices.Clone(broken.Close)
	broken.Close[400] = math.NaN()
	s, err := train.Predict(m, train.Series{Symbol: "AAA", Bars: []*market.Bars{&broken}})
	if err != nil {
		t.Fatal(err)
	}
	if late := s.Holds(80).Undefined; s.First != 80 || s.Holds(0).Undefined != 80+late {
		t.Errorf("the first answer is at bar %d, and %d bars have none up to bar 80; want 80", s.First, s.Holds(0).Undefined-late)
	}
	if n := s.Holds(80).Undefined; n < 1 || n > 100 {
		t.Errorf("%d bars are undefined around one without a close", n)
	}
	trades := 0
	for bar, x := range s.Signal {
		undefined := math.IsNaN(float64(s.Answer(bar)[0]))
		if undefined && (x != backtest.Hold || s.Confidence[bar] != 0) {
			t.Fatalf("bar %d has signal %d without an answer", bar, x)
		}
		if x != backtest.Hold {
			trades++
		}
	}
	h := s.Holds(0)
	if got := h.Undefined + h.Unsure + h.Answered + trades; got != 900 || h.Followed != trades {
		t.Errorf("%d bars are accounted for, of 900: %+v", got, h)
	}
}

func TestPredict_HoldsToTheDeployment(t *testing.T) {
	data := synth(t, "AAA", 700, 7, 0.2)
	for name, c := range map[string]struct{ deployment, want string }{
		"anywhere":           {"{target_symbols: {mode: universal}}", ""},
		"only where trained": {"{target_symbols: {mode: training_only}}", "only on the symbols it was trained on (AAA)"},
		"anywhere but one symbol": {
			"{target_symbols: {mode: group_restricted, restrictions: {excluded_symbols: [BBB]}}}",
			"may not be used on BBB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, lab{deployment: c.deployment}, data)
			if _, err := train.Predict(m, data); err != nil {
				t.Errorf("on its own symbol: %v", err)
			}
			_, err := train.Predict(m, synth(t, "BBB", 700, 7, 0))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("on another symbol: err = %v, want %q", err, c.want)
			}
		})
	}
}

func TestPredict_OnEachSymbolOfAMultiSymbolModel(t *testing.T) {
	data := unlike(t)
	m := model(t, lab{symbols: threeSymbols, deployment: "{target_symbols: {mode: training_only}}"}, data...)
	for _, d := range data {
		p, err := train.NewPlan(m, d, strategy.Span{}, backtest.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := backtest.Backtest(p.Bars, p.Signals.Signal, p.Config)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Equity) != d.Bars[0].Len() {
			t.Errorf("%s: %d bars of equity, want %d", d.Symbol, len(r.Equity), d.Bars[0].Len())
		}
	}
}

func TestNewPlan_TradesWithinItsSpan(t *testing.T) {
	data := synth(t, "AAA", 900, 7, 0.2)
	m := model(t, lab{}, data)
	b := data.Bars[0]
	span := strategy.Span{Start: time.Unix(b.Time[300], 0).UTC(), End: time.Unix(b.Time[700], 0).UTC()}
	p, err := train.NewPlan(m, data, span, backtest.Overrides{Commission: new(0.002), InitialCapital: new(5000.0)})
	if err != nil {
		t.Fatal(err)
	}
	if p.Bars.Len() != 700 || p.Config.StartBar != 300 {
		t.Errorf("%d bars from %d, want 700 from 300", p.Bars.Len(), p.Config.StartBar)
	}
	if p.Config.Commission != 0.002 || p.Config.InitialCapital != 5000 || p.Config.MinSeparation != 2*time.Hour {
		t.Errorf("config %+v", p.Config)
	}
	all, err := train.Predict(m, data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Signals.Signal, all.Signal[:700]) {
		t.Error("the span changes signals")
	}
	late := strategy.Span{Start: time.Unix(b.Time[899], 0).UTC().Add(24 * time.Hour)}
	if _, err := train.NewPlan(
		m,
		data,
		late,
		backtest.Overrides{},
	); err == nil ||
		!strings.Contains(err.Error(), "no bar is left to decide at") {
		t.Errorf("err = %v for a span behind the data", err)
	}
}

func TestBacktestConfig_TakesEveryKey(t *testing.T) {
	s := lab{
		decisions: "{output_format: classification, allow_short_from_flat: true, filters: {min_signal_separation: 3}}",
		backtest: "{initial_capital: 2000, commission: 0.001, slippage: 0.002, spread: 0.003, size_mode: risk, position_size: 0.01, lot_size: " +
			"10, leverage: 5, stop_loss: 0.02, take_profit: 0.04, flip: true}",
	}.parse(t)
	want := backtest.Config{
		InitialCapital: 2000, Commission: 0.001, Slippage: 0.002, Spread: 0.003, SizeMode: backtest.Risk, PositionSize: 0.01,
		LotSize: 10, Leverage: 5, StopLoss: 0.02, TakeProfit: 0.04, AllowShort: true, Flip: true, MinSeparation: 3 * time.Hour,
	}
	if got := train.BacktestConfig(s, backtest.Overrides{}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
