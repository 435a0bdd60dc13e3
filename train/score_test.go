package train

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestScoreClasses_ByHand judges eight answers of which five are right.
func TestScoreClasses_ByHand(t *testing.T) {
	ds := &Dataset{
		Classes: []string{"BUY", "HOLD", "SELL"},
		//                              test ──────────────────┐ training ─┐
		Table: neural.Dataset{Class: []int8{0, 0, 0, 0, 2, 2, 2, 1, 2, 2, 0, 2}},
		Test:  []int32{0, 1, 2, 3, 4, 5, 6, 7}, Train: []int32{8, 9, 10, 11},
	}
	answers := []int{0, 0, 0, 2, 2, 2, 0, 2} // HOLD is never answered
	outputs := make([]float32, 24)
	for i, a := range answers {
		outputs[3*i+a] = 1
	}
	m := scoreClasses(ds, ds.Test, outputs)
	near(t, "accuracy", m.Accuracy, 5.0/8)
	near(t, "baseline accuracy", m.BaselineAccuracy, 3.0/8) // SELL is the most frequent in training
	likely := math.Log(math.E + 2)
	near(t, "loss", m.Loss, (5*(likely-1)+3*likely)/8)
	near(t, "baseline loss", m.BaselineLoss, -(4*math.Log(0.25)+3*math.Log(0.75)+math.Log(0.125))/8)
	near(t, "balanced accuracy", m.BalancedAccuracy, (3.0/4+0+2.0/3)/3)
	near(t, "recall", m.Recall, 5.0/8)
	near(t, "precision", m.Precision, (4*(3.0/4)+3*(2.0/4))/8)
	near(t, "f1", m.F1, (4*(6.0/8)+3*(4.0/7))/8)
	if m.Classes[1].Precision != nil || *m.Classes[1].Recall != 0 {
		t.Errorf("HOLD, never answered: %+v, want no precision and recall 0", m.Classes[1])
	}
	if m.Confusion[0][2] != 1 || m.Confusion[2][0] != 1 || m.Confusion[1][2] != 1 || m.Confusion[0][0] != 3 {
		t.Errorf("confusion %v", m.Confusion)
	}
	if m.Collapsed {
		t.Error("called collapsed with answers of 4 and 4")
	}
}

func TestScoreRegression_ByHand(t *testing.T) {
	ds := &Dataset{
		Table: neural.Dataset{Target: []float32{2, -2, 4, -4, 2, 2, -1}}, // halves
		Test:  []int32{0, 1, 2, 3}, Train: []int32{4, 5, 6}, Unit: 0.5,
	}
	m := scoreRegression(ds, ds.Test, []float32{3, 2, 4, -8}, neural.LossSpec{Name: neural.Huber, Delta: 2})
	near(t, "sign accuracy", m.Accuracy, 3.0/4)
	near(t, "mae", m.MAE, 4.5/4)
	near(t, "rmse", m.RMSE, math.Sqrt(8.25/4))
	near(t, "r2", *m.R2, 1-8.25/10)
	near(t, "baseline mae", m.BaselineMAE, (0.5+1.5+1.5+2.5)/4)
	near(t, "baseline accuracy", m.BaselineAccuracy, 0.5)
	near(t, "loss, of halves", m.Loss, 4*(0.125+1.5+0+1.5)/4)
}

func TestTestMetrics_ShowOnlyTheirKind(t *testing.T) {
	b, err := json.Marshal(metrics.TestMetrics{RegressionMetrics: &metrics.RegressionMetrics{MAE: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); !strings.Contains(s, `"mae":1`) || strings.Contains(s, "confusion") {
		t.Errorf("a regression shows %s", s)
	}
}

func TestClassWeights(t *testing.T) {
	for name, c := range map[string]struct {
		mode   strategy.WeightMode
		counts []int
		want   []float32
	}{
		"inverse frequency sums to the classes": {strategy.AutoWeights, []int{100, 50, 100}, []float32{0.75, 1.5, 0.75}},
		"a class that does not occur has none":  {strategy.AutoWeights, []int{10, 0, 10}, []float32{1.5, 0, 1.5}},
		"none":                                  {strategy.NoWeights, []int{1, 2, 3}, nil},
		"the strategy's own":                    {strategy.SetWeights, []int{1, 2, 3}, []float32{1, 2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			got := classWeights(strategy.Training{WeightMode: c.mode, ClassWeights: []float64{1, 2, 4}}, c.counts)
			if len(got) != len(c.want) {
				t.Fatalf("weights %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("weights %v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestBest_CountsPatienceApartFromTheWeights(t *testing.T) {
	net, err := neural.New(neural.Spec{Type: neural.MLP, Inputs: 2, Outputs: 2}, 1, neural.Best())
	if err != nil {
		t.Fatal(err)
	}
	var b best
	for epoch, value := range []float64{1, 0.95, 0.93, 0.8, 0.85} {
		b.see(epoch+1, value, 0.1, net)
		wantWaited := []int{0, 1, 2, 0, 1}[epoch]
		wantBest := []int{1, 2, 3, 4, 4}[epoch]
		if b.waited != wantWaited || b.epoch != wantBest {
			t.Errorf("after epoch %d: waited %d, best %d; want %d and %d", epoch+1, b.waited, b.epoch, wantWaited, wantBest)
		}
	}
}
