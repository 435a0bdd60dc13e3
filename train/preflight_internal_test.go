package train

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
)

// planted is a classification of n training samples with one feature that the
// caller makes of the class and of chance.
func planted(n int, feature func(class int8, r *num.Rand) float32) *Dataset {
	r := num.NewRand(5)
	ds := &Dataset{Classes: []string{"BUY", "HOLD", "SELL"}, Features: []string{"x"}}
	ds.Table = neural.Dataset{Rows: n, Inputs: 1, Stride: 1}
	for i := range n {
		class := int8(r.Uint64n(3))
		ds.Table.Class = append(ds.Table.Class, class)
		ds.Table.X = append(ds.Table.X, feature(class, r))
		ds.Train = append(ds.Train, int32(i))
	}
	return ds
}

func TestPreflight_RefusesAFeatureThatKnowsTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		feature func(class int8, r *num.Rand) float32
		refused string
	}{
		"the class itself":            {func(c int8, _ *num.Rand) float32 { return float32(c) }, "alone tells the label"},
		"whether the class is buy":    {func(c int8, _ *num.Rand) float32 { return b2f(c == 0) }, "correlation of 1.0000"},
		"the class with a little hum": {func(c int8, r *num.Rand) float32 { return float32(c) + 0.1*r.Float32() }, "alone tells the label"},
		"classes out of order": {
			func(c int8, r *num.Rand) float32 { return []float32{3, 9, 4}[c] + 0.1*r.Float32() },
			"alone tells the label",
		},
		"a strong but honest one": {func(c int8, r *num.Rand) float32 { return float32(c) + 2*r.Float32() }, ""},
		"chance":                  {func(_ int8, r *num.Rand) float32 { return r.Float32() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ds := planted(30_000, c.feature)
			p := metrics.Preflight{Rows: ds.Table.Rows, Parts: ds.partReports()}
			checkLeaks(&p, newSurvey(ds))
			err, r := p.Err(), p.Leaks[0]
			if c.refused == "" && err != nil {
				t.Errorf("refused: %v (%+v)", err, r)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("err = %v, want one that says %q (%+v)", err, c.refused, r)
			}
		})
	}
}

func TestPreflight_RefusesARegressionOnItsOwnTarget(t *testing.T) {
	r := num.NewRand(1)
	ds := &Dataset{Table: neural.Dataset{Inputs: 1, Stride: 1}}
	for i := range 500 {
		y := float32(r.Norm())
		ds.Table.Target = append(ds.Table.Target, y)
		ds.Table.X = append(ds.Table.X, 3-2*y)
		ds.Train = append(ds.Train, int32(i))
	}
	if f := newSurvey(ds).feature("x", 0); f.Correlation < 0.999 {
		t.Errorf("correlation with its own target is %v, want 1", f.Correlation)
	}
}

func b2f(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
