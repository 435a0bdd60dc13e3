package indicator

import (
	"fmt"
	"testing"
	"time"
)

// talibRatio is what TA-Lib's own functions cost beside its SMA (20 bars, C,
// one million bars), for the eight that were measured.
var talibRatio = map[string]float64{
	"sma": 1, "ema": 3.6 / 2.6, "rsi": 7.6 / 2.6, "macd": 3.4 / 2.6, "atr": 6.7 / 2.6,
	"bollingerbands": 6.5 / 2.6, "adx": 16.4 / 2.6, "stochastic": 17.5 / 2.6,
}

// BenchmarkIndicators prints for every indicator, with its default parameters,
// the nanoseconds a bar takes, as a ratio to sma in turns of the same run, and
// beside TA-Lib's own ratio where that is known.
func BenchmarkIndicators(b *testing.B) {
	bars := randomBars(1, 200_000)
	sma, err := New("sma", nil)
	if err != nil {
		b.Fatal(err)
	}
	base := outputs(sma, bars.Len())
	for _, d := range Definitions() {
		b.Run(d.Name, func(b *testing.B) {
			x, err := New(d.Name, nil)
			if err != nil {
				b.Fatal(err)
			}
			out := outputs(x, bars.Len())
			best, yard := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				x.Compute(bars, out)
				middle := time.Now()
				sma.Compute(bars, base)
				best, yard = min(best, middle.Sub(start)), min(yard, time.Since(middle))
			}
			ratio := float64(best) / float64(yard)
			b.ReportMetric(float64(best)/float64(bars.Len()), "ns/bar")
			b.ReportMetric(ratio, "x-sma")
			if talib, ok := talibRatio[d.Name]; ok {
				b.ReportMetric(ratio/talib, "x-talib-ratio")
			}
		})
	}
}

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
