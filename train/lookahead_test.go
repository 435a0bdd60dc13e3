package train_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

func honest(s *strategy.Strategy) train.Preparer {
	return func(data []train.Series, opt train.Options) (*train.Dataset, error) {
		ds, _, err := train.Prepare(s, data, opt)
		return ds, err
	}
}

func TestCheckLookahead_PassesPrepare(t *testing.T) {
	for name, l := range map[string]lab{
		"triple barrier": {symbols: threeSymbols},
		"zigzag":         {symbols: threeSymbols, labels: "{source: zigzag, zigzag_threshold: 0.005}"},
		"regime":         {symbols: threeSymbols, labels: "{source: regime, vol_lookback: 50}"},
		"event bars":     {labels: "{source: triple_barrier, max_holding_period: 10, cusum_threshold: 0.003}"},
		"event bars by the mean": {labels: "{source: triple_barrier, max_holding_period: 10, vol_method: ewm, cusum_threshold: 0, " +
			"cusum_multiplier: 1.5}"},
		"two timeframes": {timeframes: `{mode: multi_timeframe, timeframes: ["1h", "4h"]}`},
		"a regression": {
			labels:    "{source: forward_return, horizon: 5}",
			decisions: "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := l.parse(t)
			data := []train.Series{synth(t, "AAA", 2000, 7, 0.2, market.H4)}
			if l.symbols != "" {
				data = append(data, synth(t, "BBB", 1800, 8, 0.2, market.H4))
			}
			if err := train.CheckLookahead(honest(s), data, train.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCheckLookahead_FindsPlantedCheats prepares as others do it, and wrong.
func TestCheckLookahead_FindsPlantedCheats(t *testing.T) {
	s := lab{}.parse(t)
	regression := lab{
		labels: "{source: forward_return, horizon: 30}", training: "  embargo: 0",
		decisions: "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
	}.parse(t)
	for name, c := range map[string]struct {
		prepare train.Preparer
		want    string
	}{
		"a shuffled split": {func(data []train.Series, opt train.Options) (*train.Dataset, error) {
			ds, _, err := train.Prepare(s, data, opt)
			if err == nil {
				ds.Train[10], ds.Test[10] = ds.Test[10], ds.Train[10]
			}
			return ds, err
		}, "does not lie in the time of that part"},
		"scaling by the whole sample": {func(data []train.Series, opt train.Options) (*train.Dataset, error) {
			ds, _, err := train.Prepare(s, data, opt)
			if err != nil {
				return nil, err
			}
			m, err := feature.Build(s, data[0].Bars)
			if err != nil {
				return nil, err
			}
			ds.Table.X = m.X
			return ds, feature.Fit(m, append(append([]int32{}, ds.Train...), ds.Test...)).Apply(m)
		}, "an input of a training sample changed"},
		"labels that overlap": {func(data []train.Series, opt train.Options) (*train.Dataset, error) {
			ds, _, err := train.Prepare(regression, data, opt)
			if err != nil {
				return nil, err
			}
			for row := ds.Train[len(ds.Train)-1] + 1; row < ds.Validation[0]; row++ {
				ds.Train = append(ds.Train, row) // those that were purged
			}
			return ds, nil
		}, "the label of a training sample changed"},
		"class weights of the whole sample": {func(data []train.Series, opt train.Options) (*train.Dataset, error) {
			ds, _, err := train.Prepare(s, data, opt)
			if err != nil {
				return nil, err
			}
			ds.ClassWeights = make([]float32, len(ds.Classes))
			for _, row := range append(append([]int32{}, ds.Train...), ds.Test...) {
				ds.ClassWeights[ds.Table.Class[row]]++
			}
			return ds, nil
		}, "the weights of the classes changed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := train.CheckLookahead(c.prepare, []train.Series{synth(t, "AAA", 1500, 7, 0)}, train.Options{})
			if _, ok := errors.AsType[*train.LookAheadError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want a LookAheadError that says %q", err, c.want)
			}
		})
	}
}

func TestCheckSignals_PassesPredict(t *testing.T) {
	for name, l := range map[string]lab{
		"an mlp":                   {},
		"an mlp on two timeframes": {timeframes: `{mode: multi_timeframe, timeframes: ["1h", "4h"]}`},
		"an lstm":                  {model: "{type: lstm, architecture: {sequence_length: 6, hidden_size: 4}}"},
		"a gru":                    {model: "{type: gru, architecture: {sequence_length: 6, hidden_size: 4}}"},
	} {
		t.Run(name, func(t *testing.T) {
			data := synth(t, "AAA", 900, 7, 0.2, market.H4)
			m := model(t, l, data)
			predict := func(d train.Series) (*train.Signals, error) { return train.Predict(m, d) }
			if err := train.CheckSignals(predict, data, market.H1, []int{100, 333, 334, 335, 336, 700, 899}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckSignals_FindsPlantedCheats(t *testing.T) {
	data := synth(t, "AAA", 900, 7, 0.2, market.H4)
	m := model(t, lab{timeframes: `{mode: multi_timeframe, timeframes: ["1h", "4h"]}`}, data)
	for name, cheat := range map[string]train.Predictor{
		"the next bar's answer": func(d train.Series) (*train.Signals, error) {
			s, err := train.Predict(m, d)
			if err == nil {
				copy(s.Answers, s.Answers[s.Outputs:])
			}
			return s, err
		},
		"a signal by the last close": func(d train.Series) (*train.Signals, error) {
			s, err := train.Predict(m, d)
			if close := d.Bars[0].Close; err == nil && close[len(close)-1] > close[0] {
				s.Signal[60] = backtest.Buy
			} else if err == nil {
				s.Signal[60] = backtest.Sell
			}
			return s, err
		},
		"four-hour bars before they close": func(d train.Series) (*train.Signals, error) {
			early := *d.Bars[1]
			early.Time = append([]int64{}, early.Time...)
			for i := range early.Time {
				early.Time[i] -= 4 * 3600
			}
			return train.Predict(m, train.Series{Symbol: d.Symbol, Bars: []*market.Bars{d.Bars[0], &early}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := train.CheckSignals(cheat, data, market.H1, []int{333, 334, 335, 336, 700, 899})
			if _, ok := errors.AsType[*train.LookAheadError](err); !ok {
				t.Errorf("err = %v, want a LookAheadError", err)
			}
		})
	}
}
