package indicator

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkStream prints what a bar costs when it comes alone.
func BenchmarkStream(b *testing.B) {
	bars := randomBars(1, 4096)
	for _, name := range []string{"sma", "rsi", "adx", "stochastic", "ichimoku"} {
		b.Run(name, func(b *testing.B) {
			x, err := New(name, nil)
			if err != nil {
				b.Fatal(err)
			}
			stream, row := x.Stream(), make([]float64, len(x.Outputs()))
			for i := 0; b.Loop(); i++ {
				stream.Push(bars.At(i%bars.Len()), row)
			}
		})
	}
}

// BenchmarkWindowLength shows that a long window costs what a short one does.
func BenchmarkWindowLength(b *testing.B) {
	bars := randomBars(1, 100_000)
	for _, name := range []string{"sma", "wma", "donchianchannels", "aroon"} {
		d, _ := Lookup(name)
		for _, length := range []float64{d.Params[0].Min, 10, 50, d.Params[0].Max} {
			b.Run(fmt.Sprintf("%s-%v", name, length), func(b *testing.B) {
				x, err := New(name, periodOf(length))
				if err != nil {
					b.Fatal(err)
				}
				out, best := outputs(x, bars.Len()), time.Hour
				for b.Loop() {
					start := time.Now()
					x.Compute(bars, out)
					best = min(best, time.Since(start))
				}
				b.ReportMetric(float64(best)/float64(bars.Len()), "ns/bar")
			})
		}
	}
}
