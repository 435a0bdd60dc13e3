package evidence

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// nullStream makes stakes whose conditional mean return is exactly 0, and whose losses reach the worst
// one that is allowed.
type nullStream func(r *num.Rand, bars int) []Stake

// of makes a stream of positions of a quarter of the equity, a third of the time none. move is the
// return of the price; it must lie between -worst and worst.
func of(worst float64, move func(r *num.Rand, i int) float64) nullStream {
	return func(r *num.Rand, bars int) []Stake {
		all := make([]Stake, bars)
		const size = 0.25
		held := false
		for i := range all {
			if r.Uint64n(10) == 0 {
				held = r.Uint64n(3) > 0
			}
			all[i].Time = int64(i+1) * 3600
			if x := move(r, i); held {
				all[i] = Stake{Time: all[i].Time, Return: size * x, Exposure: size, Loss: size * worst, Gain: size * worst}
			}
		}
		return all
	}
}

// student is a t-distributed number with 3 degrees of freedom and a variance of 1.
func student(r *num.Rand) float64 {
	s := 0.0
	for range 3 {
		z := r.Norm()
		s += z * z
	}
	return r.Norm() / math.Sqrt(s)
}

func clip(x, worst float64) float64 { return min(max(x, -worst), worst) }

func garch() func(r *num.Rand, i int) float64 {
	variance := 1.0
	return func(r *num.Rand, i int) float64 {
		if i == 0 {
			variance = 1
		}
		z := student(r)
		x := math.Sqrt(variance) * z
		variance = min(0.02+variance*(0.90+0.07*min(z*z, 50)), 1e4)
		return clip(0.001*x, 0.35)
	}
}

// rare gains a little in most bars and loses the most that is possible in one of n.
func rare(n uint64, worst float64) func(r *num.Rand, i int) float64 {
	return func(r *num.Rand, _ int) float64 {
		if r.Uint64n(n) == 0 {
			return -worst
		}
		return worst / float64(n-1)
	}
}

func nullStreams() map[string]nullStream {
	return map[string]nullStream{
		"1 normal":                of(0.35, func(r *num.Rand, _ int) float64 { return clip(0.001*r.Norm(), 0.35) }),
		"2 t with 3 degrees":      of(0.35, func(r *num.Rand, _ int) float64 { return clip(0.001*student(r), 0.35) }),
		"3 GARCH-t":               of(0.35, garch()),
		"4 worst loss, 1 in 30":   of(0.35, rare(30, 0.35)),
		"5 worst loss, 1 in 300":  of(1, rare(300, 1)),
		"6 worst loss, 1 in 3000": of(0.35, rare(3000, 0.35)),
		"7 rare large gains": of(0.35, func(r *num.Rand, _ int) float64 {
			if r.Uint64n(500) == 0 {
				return 0.35
			}
			return -0.35 / 499
		}),
		"8 doubled after a loss": doubled,
	}
}

// doubled bets more after each loss, up to all of the equity.
func doubled(r *num.Rand, bars int) []Stake {
	all := make([]Stake, bars)
	size := 0.01
	for i := range all {
		x := 0.3
		if r.Uint64n(2) == 0 {
			x = -x
		}
		all[i] = Stake{Time: int64(i+1) * 3600, Return: size * x, Exposure: size, Loss: size * 0.35, Gain: size * 0.35}
		if size = min(2*size, 1); x > 0 {
			size = 0.01
		}
	}
	return all
}

// wilson is the 95 % interval of a share.
func wilson(k, n int) (low, high float64) {
	p, m, z := float64(k)/float64(n), float64(n), intervalZ
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(middle-half, 0), middle + half
}

// crossings follows null streams after every bar and counts those that ever cross.
func crossings(stream nullStream, streams, bars int, seed uint64) (edge, decay int) {
	for i := range streams {
		r := num.NewRand(num.Mix(seed, uint64(i)))
		f := Frozen{Edge: []float64{0, 0.03, 0.3, 5}[i%4], Decay: 0.5}
		l := NewLiving(f)
		for _, s := range stream(r, bars) {
			l.Add(s)
		}
		if l.Edge.Crossed != 0 {
			edge++
		}
		if l.Decay.Crossed != 0 {
			decay++
		}
	}
	return edge, decay
}

func TestLiving_CrossesOnAtMostOneInTwentyNullStreams(t *testing.T) {
	streams, bars := 60, 2000
	if soak() {
		streams, bars = 625, 20_000 // 5,000 streams
	}
	kinds := nullStreams()
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	all, allDecay := 0, 0
	for k, name := range names {
		edge, decay := crossings(kinds[name], streams, bars, num.Mix(1519, uint64(k)))
		all, allDecay = all+edge, allDecay+decay
		low, high := wilson(edge, streams)
		t.Logf("%-26s %4d of %d cross (%.2f %%, 95 %% interval %.2f to %.2f); retirement %d", name, edge, streams,
			100*float64(edge)/float64(streams), 100*low, 100*high, decay)
		if low > 1/Crosses {
			t.Errorf("%s: %d of %d null streams crossed", name, edge, streams)
		}
		if low, _ := wilson(decay, streams); low > 1/Crosses {
			t.Errorf("%s: the retirement crossed on %d of %d streams of which its null is true", name, decay, streams)
		}
	}
	low, high := wilson(all, streams*len(names))
	t.Logf("all: %d of %d null streams cross (95 %% interval %.2f to %.2f %%), looked at after each of %d bars; retirement %d", all,
		streams*len(names), 100*low, 100*high, bars, allDecay)
	if share := float64(all) / float64(streams*len(names)); share > 1/Crosses {
		t.Errorf("%.2f %% of the null streams cross", 100*share)
	}
}
