package backtest

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

const benchBars = 100_000

// crossing is a plain rule with a trade every few dozen bars: long while the
// fast mean is above the slow one.
func crossing(b *market.Bars) []Signal {
	s := make([]Signal, b.Len())
	var fast, slow float64
	for i, c := range b.Close {
		fast += (c - fast) / 10
		slow += (c - slow) / 50
		switch {
		case i < 50:
		case fast > slow:
			s[i] = Buy
		default:
			s[i] = Sell
		}
	}
	return s
}

// BenchmarkRun puts the engine beside the plain loop that the tests use as an
// oracle, on the same bars and in turns, so that both meet the same machine.
// Figures are the best of the rounds: what a busy machine adds is not ours.
func BenchmarkRun(b *testing.B) {
	bars := walk(7, benchBars, 0.002)
	protected := Config{Commission: 0.0001, Slippage: 0.0001, StopLoss: 0.02, TakeProfit: 0.04, AllowShort: true, Flip: true}
	for _, c := range []struct {
		name    string
		signals []Signal
		cfg     Config
	}{
		{"crossing", crossing(bars), Config{Commission: 0.0001, AllowShort: true, Flip: true}},
		{"crossing with stops", crossing(bars), protected},
		{"long only, many idle Sells", crossing(bars), Config{}},
		{"a signal at every bar", chatter(7, benchBars, 0), protected},
	} {
		b.Run(c.name, func(b *testing.B) {
			engine, plain, figures := time.Hour, time.Hour, time.Hour
			var o *oracle
			for b.Loop() {
				var st RunState
				engine = min(engine, took(func() {
					if err := Run(bars, c.signals, c.cfg, &st, benchBars); err != nil {
						b.Fatal(err)
					}
				}))
				figures = min(figures, took(func() {
					if _, err := Finish(bars, &st); err != nil {
						b.Fatal(err)
					}
				}))
				plain = min(plain, took(func() {
					o = newOracle(bars, c.cfg)
					o.run(c.signals)
				}))
			}
			perBar := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / benchBars }
			b.ReportMetric(perBar(engine), "ns/bar")
			b.ReportMetric(perBar(figures), "figures-ns/bar")
			b.ReportMetric(perBar(plain), "plain-ns/bar")
			b.ReportMetric(perBar(plain)/perBar(engine), "plain/engine")
			b.ReportMetric(float64(len(o.trades)), "trades")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	bars := walk(7, benchBars, 0.002)
	r := drawn{bars, crossing(bars), Config{AllowShort: true, Flip: true}}.run(b)
	for b.Loop() {
		if _, err := r.Encode(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBars, "ns/bar")
}

func took(f func()) time.Duration {
	at := time.Now()
	f()
	return time.Since(at)
}
