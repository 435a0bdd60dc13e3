package backtest

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var nan = float32(math.NaN())

func TestFromProbabilities(t *testing.T) {
	for _, c := range []struct {
		name       string
		p          []float32
		d          Decision
		signals    []Signal
		confidence []float32
	}{
		{
			"the most likely class wins",
			[]float32{.6, .3, .1, .1, .3, .6, .1, .8, .1},
			Decision{},
			[]Signal{Buy, Sell, Hold},
			[]float32{.6, .6, .8},
		},
		{"the first of equals", []float32{.4, .4, .2}, Decision{}, []Signal{Buy}, []float32{.4}},
		{"below the threshold it is a Hold", []float32{.6, .3, .1}, Decision{Threshold: .7}, []Signal{Hold}, []float32{.6}},
		{"at the threshold it is not", []float32{.5, .25, .25}, Decision{Threshold: .5}, []Signal{Buy}, []float32{.5}},
		{"a NaN is a Hold", []float32{.9, nan, .1, nan, .1, .2}, Decision{}, []Signal{Hold, Hold}, []float32{0, 0}},
		{"other classes", []float32{.2, .7, .1, 0}, Decision{Classes: []Signal{Buy, Sell, Hold, Hold}}, []Signal{Sell}, []float32{.7}},
		{"no rows", nil, Decision{}, []Signal{}, []float32{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			signals, confidence, err := FromProbabilities(c.p, c.d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.signals, signals) + cmp.Diff(c.confidence, confidence); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFromRegression(t *testing.T) {
	m := CostModel{RoundTripCost: 0.5 / 64, MinEdgeMultiplier: 2} // an edge of 1/64, exact
	signals, confidence, err := FromRegression([]float32{1. / 64, 1.5 / 64, -1.5 / 64, -1. / 64, 0, 3. / 64, -1, nan}, m)
	if err != nil {
		t.Fatal(err)
	}
	want := []Signal{Hold, Buy, Sell, Hold, Hold, Buy, Sell, Hold}
	sure := []float32{1. / 3, .5, .5, 1. / 3, 0, 1, 1, 0}
	if diff := cmp.Diff(want, signals) + cmp.Diff(sure, confidence); diff != "" {
		t.Error(diff)
	}
}

func TestDeciders_RefuseWhatHasNoMeaning(t *testing.T) {
	for name, err := range map[string]error{
		"a row cut short":          third(FromProbabilities([]float32{1, 0}, Decision{})),
		"no classes":               third(FromProbabilities([]float32{1, 0}, Decision{Classes: []Signal{}})),
		"a threshold above 1":      third(FromProbabilities(nil, Decision{Threshold: 1.1})),
		"a threshold of NaN":       third(FromProbabilities(nil, Decision{Threshold: math.NaN()})),
		"a class that is no sign":  third(FromProbabilities(nil, Decision{Classes: []Signal{Buy, 3}})),
		"a forecast without costs": third(FromRegression(nil, CostModel{MinEdgeMultiplier: 1})),
		"costs of NaN":             third(FromRegression(nil, CostModel{math.NaN(), 1})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }
