package feature_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
)

const mlp = "{type: mlp, architecture: {hidden_layers: [4]}}"

func rowsOf(m *feature.Matrix, from, to int) []int32 {
	var rows []int32
	for i := from; i < to; i++ {
		if m.Usable(i, 1) {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

func TestFit_ScalesTheTrainingRows(t *testing.T) {
	for norm, check := range map[string]func(x []float64) bool{
		"zscore": func(x []float64) bool {
			sum, squares := 0.0, 0.0
			for _, v := range x {
				sum += v
				squares += v * v
			}
			n := float64(len(x))
			return math.Abs(sum/n) < 1e-5 && math.Abs(squares/n-1) < 1e-4
		},
		"minmax": func(x []float64) bool {
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, v := range x {
				lo, hi = min(lo, v), max(hi, v)
			}
			return lo == 0 && hi == 1
		},
	} {
		t.Run(norm, func(t *testing.T) {
			s := parse(t, raw("roc: {type: roc}", "roc", norm, mlp))
			m := build(t, s, data(t, s, 500, 4))
			rows := rowsOf(m, m.First, 300)
			n := feature.Fit(m, rows)
			if err := n.Apply(m); err != nil {
				t.Fatal(err)
			}
			var x []float64
			for _, i := range rows {
				x = append(x, float64(m.Row(int(i))[0]))
			}
			if !check(x) {
				t.Errorf("the training rows are not scaled: %v …", x[:5])
			}
			if err := n.Apply(m); err == nil {
				t.Error("a matrix may be scaled twice")
			}
		})
	}
}

func TestFit_KnowsNothingOfOtherRows(t *testing.T) {
	s := example(t, "return_regression")
	all := data(t, s, 600, 4)
	full, part := build(t, s, all), build(t, s, cut(all, 400))
	rows := rowsOf(part, part.First, 400)
	if a, b := feature.Fit(full, rows), feature.Fit(part, rows); !reflect.DeepEqual(a, b) {
		t.Errorf("the scaling depends on bars that are not trained on:\n%+v\n%+v", a, b)
	}
	if got := len(feature.Fit(full, rows).Scales); got != 4 {
		t.Errorf("%d features are scaled, want the 4 raw ones", got)
	}
}

func TestNorm_SurvivesJSONAndRefusesOtherFeatures(t *testing.T) {
	s := example(t, "return_regression")
	m := build(t, s, data(t, s, 400, 4))
	n := feature.Fit(m, rowsOf(m, m.First, 300))
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var again feature.Norm
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(n, again) {
		t.Errorf("read back %+v, want %+v (%v)", again, n, err)
	}
	other := example(t, "gru_breakout")
	if err := n.Apply(build(t, other, data(t, other, 400, 4))); err == nil || !strings.Contains(err.Error(), "made for others") {
		t.Errorf("err = %v, want a refusal", err)
	}
	wild := feature.Norm{Scales: []feature.Scale{{Feature: m.Names[0], Column: -1, Unit: 1}}}
	if err := wild.Apply(m); err == nil || !strings.Contains(err.Error(), "not column -1") {
		t.Errorf("err = %v, want a refusal of column -1", err)
	}
	row := append([]float32(nil), m.Row(350)...)
	n.Row(row)
	if err := n.Apply(m); err != nil || !sameBits(row, m.Row(350)) {
		t.Errorf("one row is scaled otherwise than all: %v, want %v (%v)", row, m.Row(350), err)
	}
}

func TestFit_LeavesAConstantAtZero(t *testing.T) {
	s := parse(t, raw("roc: {type: roc}", "roc", "zscore", mlp))
	b := &market.Bars{Symbol: "FLAT", Timeframe: market.H1}
	for i := range 60 {
		b.Append(market.Bar{Time: int64(i) * 3600, Open: 1, High: 1, Low: 1, Close: 1})
	}
	m := build(t, s, []*market.Bars{b})
	if err := feature.Fit(m, rowsOf(m, m.First, 60)).Apply(m); err != nil {
		t.Fatal(err)
	}
	if got := m.Row(50)[0]; got != 0 {
		t.Errorf("a constant is scaled to %v", got)
	}
}

func TestPreflight_NamesWhatTeachesNothing(t *testing.T) {
	s := parse(t, `
name: dull
training_data: {symbols: {symbol: EURUSD}, timeframes: {timeframe: 1h}}
indicators: {rsi: {type: rsi}}
fuzzy_sets:
  narrow: {indicator: rsi, low: [0, 1, 2], middle: [49, 50, 51]}
  wide: {indicator: rsi, all: {type: gaussian, parameters: [50, 30]}}
nn_inputs: [{fuzzy_set: narrow}, {fuzzy_set: wide}]
model: `+mlp+`
decisions: {}
training: {labels: {source: zigzag}}
`)
	m := build(t, s, data(t, s, 500, 6))
	r := feature.Preflight(s, m, rowsOf(m, m.First, 500), []int{970, 4, 0})
	if !r.Features[0].Constant || r.Features[1].Constant || r.Features[2].Constant {
		t.Errorf("features = %+v, want only the first constant", r.Features)
	}
	if r.Sets[0].Dead < 0.5 || r.Sets[1].Dead != 0 {
		t.Errorf("sets = %+v, want the first mostly dead", r.Sets)
	}
	if r.Classes[0].Name != "BUY" || r.Classes[0].Share < 0.99 {
		t.Errorf("classes = %+v", r.Classes)
	}
	for _, says := range []string{
		"1h_narrow_low has one value", "narrow on 1h says nothing", "of the labels are BUY",
		"only 4 of 974 labels are HOLD", "only 0 of 974 labels are SELL",
	} {
		if !strings.Contains(strings.Join(r.Warnings, "\n"), says) {
			t.Errorf("no warning says %q: %q", says, r.Warnings)
		}
	}
	if _, err := json.Marshal(feature.Preflight(s, m, nil, nil)); err != nil {
		t.Errorf("a report of nothing: %v", err)
	}
}
