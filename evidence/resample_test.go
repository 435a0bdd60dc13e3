package evidence

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

func TestBootstrap_IntervalsCoverTheTruth(t *testing.T) {
	const runs, edge = 150, 0.1
	b := Bootstrap{Draws: 150, Level: 0.9}
	for name, series := range map[string]func(r *num.Rand) ([]float64, float64){
		"independent": func(r *num.Rand) ([]float64, float64) { return normals(300, edge, r), edge },
		"hang together": func(r *num.Rand) ([]float64, float64) {
			const share = 0.3
			x := persistent(300, share, r)
			for i := range x {
				x[i] += edge
			}
			return x, edge * math.Sqrt(1-share*share)
		},
	} {
		r, covered := num.NewRand(11), 0
		for range runs {
			x, truth := series(r)
			if i := b.Sharpe(x, r); *i.Low <= truth && truth <= *i.High {
				covered++
			}
		}
		if share := float64(covered) / runs; share < 0.82 || share > 0.96 {
			t.Errorf("%s: intervals at 0.9 cover the truth in %v of the runs", name, share)
		}
	}
}

func TestBootstrap_PIsSmallOnlyWithAnEdge(t *testing.T) {
	r := num.NewRand(12)
	b := Bootstrap{Draws: 199}
	small := 0
	for range 200 {
		x := normals(200, 0, r)
		if *b.Sharpe(x, r).P <= 0.1 {
			small++
		}
	}
	if small < 8 || small > 36 {
		t.Errorf("p is at most 0.1 in %d of 200 runs without an edge, want about 20", small)
	}
	x := normals(1000, 0.2, r)
	if p := *b.Sharpe(x, r).P; p > 0.01 {
		t.Errorf("a ratio of 0.2 over 1000 bars has p = %v", p)
	}
}

func TestBootstrap_RepeatsWithTheSameSeed(t *testing.T) {
	x := normals(300, 0.1, num.NewRand(1))
	a, b := Bootstrap{Draws: 50}.Sharpe(x, num.NewRand(2)), Bootstrap{Draws: 50}.Sharpe(x, num.NewRand(2))
	if *a.Low != *b.Low || *a.High != *b.High || *a.P != *b.P {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestBootstrap_IsUndefinedWithASentence(t *testing.T) {
	if i := (Bootstrap{}).Sharpe(make([]float64, 50), num.NewRand(1)); i.Estimate != nil || i.P != nil || i.Undefined == "" {
		t.Errorf("a flat series: %+v", i)
	}
}

// Blocks cover as many positions as there are, each as often as any other, and
// are as long as asked for: without the last, which is cut off.
func TestBlocks_AreAsLongAsAskedFor(t *testing.T) {
	for _, mean := range []float64{1, 3.5, 20} {
		const n, rounds = 2000, 200
		r, seen, count, length := num.NewRand(13), make([]int, n), 0, 0
		for range rounds {
			total, last := 0, -1
			for from, to := range Blocks(n, mean, r) {
				if from != 0 || last != n { // not the rest of one that wraps
					count++
				}
				for i := from; i < to; i++ {
					seen[i]++
				}
				total, last = total+to-from, to
			}
			if total != n {
				t.Fatalf("mean %v: %d positions, want %d", mean, total, n)
			}
			length += total
		}
		near(t, "mean length", float64(length)/float64(count), mean, 0.02*mean)
		if least, most := slices.Min(seen), slices.Max(seen); least < rounds/3 || most > 2*rounds {
			t.Errorf("mean %v: positions are drawn %d to %d times, want about %d", mean, least, most, rounds)
		}
	}
}

// The sums of blocks are those of their returns one by one.
func TestTotals_AreThoseOfEveryReturn(t *testing.T) {
	x := normals(3000, 0.05, num.NewRand(3))
	var drawn []float64
	for from, to := range Blocks(len(x), 14, num.NewRand(4)) {
		drawn = append(drawn, x[from:to]...)
	}
	s, err := measure(drawn)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ratio", newTotals(x).sharpe(Blocks(len(x), 14, num.NewRand(4))), s.mean/s.deviation, 1e-12)
}
