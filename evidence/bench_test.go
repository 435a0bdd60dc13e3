package evidence

import (
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

func BenchmarkJudge(b *testing.B) {
	c := strong()
	for b.Loop() {
		Judge(c, Rules{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.Test.Returns)+len(c.Holdout.Returns)), "ns/bar")
}

func BenchmarkBootstrapSharpe(b *testing.B) {
	x := normals(5000, 0.05, num.NewRand(1))
	r := num.NewRand(2)
	for b.Loop() {
		Bootstrap{Draws: 100}.Sharpe(x, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100/5000, "ns/bar")
}
