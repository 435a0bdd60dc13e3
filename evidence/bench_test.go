package evidence

import (
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/num"
)

func BenchmarkJudge(b *testing.B) {
	c := strong()
	for b.Loop() {
		Judge(c, Rules{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.Test.Returns)), "ns/bar")
}

// BenchmarkConfirm includes the conditional interval of a claim.
func BenchmarkConfirm(b *testing.B) {
	p := confirmed()
	for b.Loop() {
		Confirm(p, 3, Rules{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p.Returns)), "ns/bar")
}

// BenchmarkCurve shows a curve of 200,000 bars.
func BenchmarkCurve(b *testing.B) {
	const bars = 200_000
	r, year := num.NewRand(1), 6240.0
	result := &backtest.Result{Time: make([]int64, bars), Equity: make([]float64, bars)}
	result.Metrics.BarsPerYear = &year
	for i, equity := 0, 1000.0; i < bars; i++ {
		result.Time[i], result.Equity[i] = int64(3600*i), equity
		equity *= 1 + 1e-3*r.Norm()
	}
	for b.Loop() {
		if _, err := CurveOf(result, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/curve")
}
