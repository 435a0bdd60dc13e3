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

func TestRealityCheck_TellsTheBestFromTheLuckiest(t *testing.T) {
	r := num.NewRand(14)
	b := Bootstrap{Draws: 99}
	const runs = 100
	white, spa := 0, 0
	for range runs {
		rows := make([][]float64, 10)
		for k := range rows {
			rows[k] = normals(400, 0, r)
		}
		c := RealityCheck(rows, b, r)
		white += reaches(0.1, *c.White)
		spa += reaches(0.1, *c.SPA)
	}
	if white > 20 || spa > 20 || white < 3 || spa < 3 {
		t.Errorf("p is at most 0.1 in %d (White) and %d (SPA) of %d runs without an edge", white, spa, runs)
	}
	rows := make([][]float64, 10)
	for k := range rows {
		rows[k] = normals(600, -0.3, r) // hopeless rivals
	}
	rows[7] = normals(600, 0.2, r)
	c := RealityCheck(rows, b, r)
	if c.Best != 7 || *c.SPA > 0.02 || *c.White > 0.05 {
		t.Errorf("a true best: %+v, White %v, SPA %v", c, *c.White, *c.SPA)
	}
	if *c.SPALower > *c.SPA || *c.SPA > *c.SPAUpper {
		t.Errorf("the three forms are out of order: %v, %v, %v", *c.SPALower, *c.SPA, *c.SPAUpper)
	}
}

func TestOverfit_IsOneHalfOnNoiseAndSmallWithATrueBest(t *testing.T) {
	r := num.NewRand(15)
	noisy, true7 := 0.0, 0.0
	const runs = 30
	for range runs {
		rows := make([][]float64, 12)
		for k := range rows {
			rows[k] = normals(320, 0, r)
		}
		noisy += *Overfit(rows, 8).PBO
		rows[7] = normals(320, 0.35, r)
		true7 += *Overfit(rows, 8).PBO
	}
	near(t, "PBO on noise", noisy/runs, 0.5, 0.08)
	if true7/runs > 0.02 {
		t.Errorf("PBO with a true best is %v", true7/runs)
	}
}

func TestOverfit_CountsEverySplit(t *testing.T) {
	rows := [][]float64{normals(1000, 0, num.NewRand(16)), normals(1000, 0, num.NewRand(17)), make([]float64, 1000)}
	o := Overfit(rows, 16)
	if o.Splits != 12870 || o.Strategies != 2 {
		t.Errorf("%d splits of %d strategies, want 12870 of the 2 that vary", o.Splits, o.Strategies)
	}
	for name, o := range map[string]Overfitting{
		"odd number of blocks": Overfit(rows, 7), "one strategy": Overfit(rows[:1], 8), "too short": Overfit([][]float64{{1, 2, 3}, {3, 1, 2}}, 8),
		"different lengths": Overfit([][]float64{{1, 2, 3}, {3, 1}}, 2), "nothing": Overfit(nil, 8),
	} {
		if o.PBO != nil || o.Undefined == "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// Two strategies that take turns: each is the best of a half exactly when it is
// the worst of the other.
func TestOverfit_IsCertainWhenStrategiesTakeTurns(t *testing.T) {
	r := num.NewRand(18)
	rows := [][]float64{normals(100, 0, r), normals(100, 0, r)}
	for i := range 100 {
		sign := 1.0
		if i < 50 {
			sign = -1
		}
		rows[0][i] += 5 * sign
		rows[1][i] -= 5 * sign
	}
	if o := Overfit(rows, 2); *o.PBO != 1 || *o.Loss != 1 {
		t.Errorf("PBO is %v and the chosen one lost in %v, want 1 and 1", *o.PBO, *o.Loss)
	}
}
