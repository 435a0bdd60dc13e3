package market

import (
	"encoding/hex"
	"math"
	"testing"
	"time"
)

// TestSynth_IsTheSameEverywhere pins the bytes: demos, tests and benchmarks
// stand on them.
func TestSynth_IsTheSameEverywhere(t *testing.T) {
	h := Synth(SynthConfig{Symbol: "EURUSD", Timeframe: H1, Bars: 5000, Seed: 7, Edge: 0.1}).Hash()
	if got, want := hex.EncodeToString(h[:]), "7448b215bb295c4d7577407c1abc9e62be99222b5ee2ad98ef3c1012b1e3ba77"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestSynth_IsASeriesAtEveryTimeframe(t *testing.T) {
	for _, tf := range Timeframes {
		start := time.Date(2020, 1, 3, 23, 30, 0, 0, time.UTC) // a Friday night
		b := Synth(SynthConfig{Symbol: "X", Timeframe: tf, Bars: 3000, Seed: 5, Edge: 0.2, Start: start})
		rep, err := Check(b, string(tf))
		if err != nil || b.Len() != 3000 || b.Time[0] < start.Unix() {
			t.Fatalf("%s: %d bars from %s, %v", tf, b.Len(), clock(b.Time[0]), err)
		}
		if tf.seconds() > 0 && tf.seconds() <= day && rep.Closed == 0 {
			t.Errorf("%s: never closed", tf)
		}
	}
}

func TestSynth_IsFixedByItsSeed(t *testing.T) {
	a := Synth(SynthConfig{Bars: 500, Seed: 1})
	if a.Hash() != Synth(SynthConfig{Bars: 500, Seed: 1}).Hash() {
		t.Error("one seed gave two markets")
	}
	if a.Hash() == Synth(SynthConfig{Bars: 500, Seed: 2}).Hash() {
		t.Error("two seeds gave one market")
	}
	if a.Hash() != Synth(SynthConfig{Bars: 800, Seed: 1}).Slice(0, 500).Hash() {
		t.Error("the past depends on the number of bars")
	}
}

// follow trades the planted rule: from the open after a stretched close to the
// close, against the stretch. It gives the returns, and the same in units of
// each bar's volatility.
func follow(b *Bars, sigma []float64) (plain, scaled []float64) {
	for i := SynthWindow; i < b.Len(); i++ {
		z := stretch(b.Close[i-SynthWindow : i])
		if math.Abs(z) <= SynthStretch {
			continue
		}
		r := -math.Copysign(1, z) * (b.Close[i]/b.Open[i] - 1)
		plain, scaled = append(plain, r), append(scaled, r/sigma[i])
	}
	return plain, scaled
}

func sharpe(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	n := float64(len(x))
	mean := sum / n
	return mean / math.Sqrt(squares/n-mean*mean)
}

// TestSynth_HasTheEdgeItAdvertises lets an oracle trade the rule. Its Sharpe
// ratio per bar held must be Edge within four standard errors: over some
// 70,000 bars that tells 0.1 from 0.08, and 0 from 0.015.
func TestSynth_HasTheEdgeItAdvertises(t *testing.T) {
	for _, edge := range []float64{0, 0.05, 0.1, 0.3} {
		b, sigma := synth(SynthConfig{Bars: 200_000, Seed: 11, Edge: edge})
		plain, scaled := follow(b, sigma)
		n := float64(len(scaled))
		got, slack := sharpe(scaled), 4/math.Sqrt(n)
		if math.Abs(got-edge) > slack {
			t.Errorf("edge %v: the oracle has %.4f per bar held, want %v within %.4f", edge, got, edge, slack)
		}
		if raw := sharpe(plain); math.Abs(raw) > edge+slack || raw < 0.7*edge-slack {
			t.Errorf("edge %v: %.4f in money", edge, raw)
		}
		held := n / float64(b.Len())
		t.Logf("edge %.2f: %.4f per bar held (%.4f in money), %.0f %% of bars held, %.1f a year", edge, got, sharpe(plain), 100*held,
			got*math.Sqrt(held*24*260))
	}
}

// TestSynth_WithoutAnEdgeIsAFairGame looks for what simple rules live on.
func TestSynth_WithoutAnEdgeIsAFairGame(t *testing.T) {
	b, sigma := synth(SynthConfig{Bars: 200_000, Seed: 3})
	r := make([]float64, b.Len())
	for i := 1; i < b.Len(); i++ {
		r[i] = (b.Close[i]/b.Close[i-1] - 1) / sigma[i]
	}
	limit := 4 / math.Sqrt(float64(b.Len()))
	for _, lag := range []int{1, 2, 5, 24} {
		var momentum []float64
		for i := lag + 1; i < b.Len(); i++ {
			momentum = append(momentum, math.Copysign(1, b.Close[i-1]-b.Close[i-1-lag])*r[i])
		}
		if s := sharpe(momentum); math.Abs(s) > 1.2*limit {
			t.Errorf("following the last %d bars earns %.4f per bar, more than chance (%.4f)", lag, s, limit)
		}
	}
}

func TestSynth_HasTheHabitsOfAMarket(t *testing.T) {
	b := Synth(SynthConfig{Bars: 100_000, Seed: 9})
	var r []float64
	for i := 1; i < b.Len(); i++ {
		r = append(r, b.Close[i]/b.Open[i]-1)
	}
	var two, four, near, far float64
	for i := range r {
		two += r[i] * r[i]
		four += r[i] * r[i] * r[i] * r[i]
	}
	n := float64(len(r))
	two, four = two/n, four/n
	for i := 240; i < len(r); i++ {
		near += (r[i]*r[i] - two) * (r[i-1]*r[i-1] - two)
		far += (r[i]*r[i] - two) * (r[i-240]*r[i-240] - two)
	}
	if kurtosis := four / (two * two); kurtosis < 4 {
		t.Errorf("tails are thin: kurtosis %.1f", kurtosis)
	}
	if near < 1.2*far || far < 0 {
		t.Errorf("volatility does not cluster: covariance %.3g at one bar, %.3g at 240", near, far)
	}
	if yearly := math.Sqrt(two * 24 * 260); yearly < 0.05 || yearly > 0.2 {
		t.Errorf("volatility of %.2f a year", yearly)
	}
	jumps := 0
	for i := 1; i < b.Len(); i++ {
		if b.Open[i] != b.Close[i-1] {
			jumps++
		}
	}
	if jumps < 800 || jumps > 1000 { // 833 weekends and some 100 others
		t.Errorf("%d jumps at the open", jumps)
	}
}
