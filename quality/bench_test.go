package quality_test

import (
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// million are bars of minutes.
func million(tb testing.TB) *market.Bars {
	tb.Helper()
	return fx.every(market.M1, 1_000_000).make(1)
}

func BenchmarkJudge(b *testing.B) {
	bars := million(b)
	b.ReportAllocs()
	for b.Loop() {
		quality.Judge(bars, quality.Options{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bars.Len()), "ns/bar")
}

// BenchmarkScan is what Judge is held against: one look at every value.
func BenchmarkScan(b *testing.B) {
	bars := million(b)
	for b.Loop() {
		sum := 0.0
		for i := range bars.Len() {
			sum += float64(bars.Time[i]) + bars.Open[i] + bars.High[i] + bars.Low[i] + bars.Close[i] + bars.Volume[i]
		}
		if sum == 0 {
			b.Fatal("nothing was scanned")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bars.Len()), "ns/bar")
}
