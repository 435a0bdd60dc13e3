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

func BenchmarkOverfit(b *testing.B) {
	rows := make([][]float64, 30)
	for k := range rows {
		rows[k] = normals(5000, 0, num.NewRand(uint64(k)))
	}
	for b.Loop() {
		Overfit(rows, 12)
	}
}
