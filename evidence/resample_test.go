package evidence

import (
	"math"
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
		if *b.Mean(x, r).P <= 0.1 {
			small++
		}
	}
	if small < 8 || small > 36 {
		t.Errorf("p is at most 0.1 in %d of 200 runs without an edge, want about 20", small)
	}
	x, market := normals(1000, 0.2, r), normals(1000, 0, r)
	if p := *b.Sharpe(x, r).P; p > 0.01 {
		t.Errorf("a ratio of 0.2 over 1000 bars has p = %v", p)
	}
	over := b.SharpeOver(x, market, r)
	if *over.P > 0.02 || *over.Low < 0 {
		t.Errorf("over a market without drift: %v to %v, p = %v", *over.Low, *over.High, *over.P)
	}
	if same := b.SharpeOver(x, x, r); *same.Estimate != 0 || *same.Low != 0 || *same.P != 1 {
		t.Errorf("over itself: %+v", same)
	}
}

func TestBootstrap_RepeatsWithTheSameSeed(t *testing.T) {
	x := normals(300, 0.1, num.NewRand(1))
	a, b := Bootstrap{Draws: 50}.Sharpe(x, num.NewRand(2)), Bootstrap{Draws: 50}.Sharpe(x, num.NewRand(2))
	if *a.Low != *b.Low || *a.High != *b.High || *a.P != *b.P {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestBlocks_AreAsLongAsAskedFor(t *testing.T) {
	const n, mean = 200_000, 20.0
	breaks, last := 0, -2
	for i := range blocks(n, mean, num.NewRand(13)) {
		if i != last+1 && (i != 0 || last != n-1) {
			breaks++
		}
		last = i
	}
	near(t, "mean length", n/float64(breaks), mean, 0.6)
}
