package evidence

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tolerance)
	}
}

func normals(n int, mean float64, r *num.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + r.Norm()
	}
	return x
}

// persistent is a series in which every bar keeps a share of the one before.
func persistent(n int, share float64, r *num.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.Norm()
		if i > 0 {
			x[i] += share * x[i-1]
		}
	}
	return x
}

// Bailey and López de Prado, "The Sharpe Ratio Efficient Frontier" (2012): 24
// monthly returns of mean 0.036 and deviation 0.079, skew -2.448, kurtosis
// 10.164; PSR(0) is 0.982 if they were normal and 0.913 as they are.
func TestSharpeError_OfThePublishedFund(t *testing.T) {
	sr := 0.036 / 0.079
	near(t, "normal", NormCDF(sr/SharpeError(sr, 24, 0, 3)), 0.982, 1e-3)
	near(t, "as it is", NormCDF(sr/SharpeError(sr, 24, -2.448, 10.164)), 0.913, 5e-4)
}

// The same paper, on the track record: to be sure at 95 % that an
// annual ratio of 2 is above 1 takes 3.24 years of normal monthly returns, 4.99
// years at skew -0.72 and kurtosis 5.78, and 2.73 years of normal daily ones.
func TestMinTrackRecordLength_OfThePublishedTable(t *testing.T) {
	month, day := math.Sqrt(12), math.Sqrt(252)
	near(t, "monthly", *MinTrackRecordLength(2/month, 0, 3, 1/month, 0.95)/12, 3.24, 5e-3)
	near(t, "monthly, skewed", *MinTrackRecordLength(2/month, -0.72, 5.78, 1/month, 0.95)/12, 4.99, 5e-3)
	near(t, "daily", *MinTrackRecordLength(2/day, 0, 3, 1/day, 0.95)/252, 2.73, 5e-3)
	if got := MinTrackRecordLength(1, 0, 3, 1, 0.95); got != nil {
		t.Errorf("a ratio that is not above the benchmark needs %v returns, want none to be enough", *got)
	}
}

// Bailey and López de Prado, "The Deflated Sharpe Ratio" (2014), the numerical
// example: of 100 trials whose annual ratios have variance 1/2, over 250 days a
// year, the best has 0.1132 a day by luck.
func TestExpectedMax_OfThePublishedExample(t *testing.T) {
	near(t, "SR0", math.Sqrt(0.5/250)*BestByLuck(100), 0.1132, 5e-5)
}

func TestExpectedMax_GrowsWithEveryTrial(t *testing.T) {
	for trials := 3; trials < 2000; trials++ {
		if BestByLuck(trials) <= BestByLuck(trials-1) {
			t.Fatalf("%d trials give %v, one fewer gave %v", trials, BestByLuck(trials), BestByLuck(trials-1))
		}
	}
}

func TestExpectedMax_IsTheMeanOfTheLargest(t *testing.T) {
	r := num.NewRand(3)
	for _, trials := range []int{8, 30, 100} {
		const runs = 4000
		sum := 0.0
		for range runs {
			largest := math.Inf(-1)
			for range trials {
				largest = max(largest, r.Norm())
			}
			sum += largest
		}
		near(t, "largest of that many", BestByLuck(trials), sum/runs, 0.04)
	}
	if BestByLuck(1) != 0 {
		t.Errorf("the best of one is expected at %v, want 0", BestByLuck(1))
	}
}

func TestEstimateSharpe_DoesNotDependOnTheUnit(t *testing.T) {
	x := normals(500, 0.1, num.NewRand(4))
	scaled := make([]float64, len(x))
	for i := range x {
		scaled[i] = x[i] * 0x1p-9
	}
	a, b := EstimateSharpe(x, 6240), EstimateSharpe(scaled, 6240)
	if *a.PerBar != *b.PerBar || *a.Error != *b.Error || *a.Z != *b.Z || *a.Annualized != *b.Annualized || *a.Skew != *b.Skew {
		t.Errorf("returns in another unit give %v and %v", *a.Z, *b.Z)
	}
	near(t, "annualized", *a.Annualized, *a.PerBar*math.Sqrt(6240), 1e-12)
}

func TestEstimateSharpe_KnowsItsError(t *testing.T) {
	r := num.NewRand(5)
	for name, series := range map[string]func() []float64{
		"independent":   func() []float64 { return normals(400, 0.15, r) },
		"hang together": func() []float64 { return persistent(400, 0.4, r) },
	} {
		const runs = 300
		var sum, squares, claimed float64
		for range runs {
			s := EstimateSharpe(series(), 0)
			sum += *s.PerBar
			squares += *s.PerBar * *s.PerBar
			claimed += *s.Error
		}
		spread := math.Sqrt(squares/runs - sum*sum/runs/runs)
		if ratio := claimed / runs / spread; ratio < 0.85 || ratio > 1.2 {
			t.Errorf("%s: the error claimed is %.2f times the spread seen", name, ratio)
		}
	}
}

func TestEstimateSharpe_IsUndefinedWithASentence(t *testing.T) {
	for name, x := range map[string][]float64{
		"nothing": nil, "too few": {1, 2}, "constant": {0.1, 0.1, 0.1, 0.1}, "flat": make([]float64, 50),
		"not a number": {1, 2, math.NaN(), 4}, "infinite": {1, math.Inf(1), 2},
	} {
		s := EstimateSharpe(x, 6240)
		if s.PerBar != nil || s.Z != nil || s.Undefined == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestLongRun_OfAnAutoregression(t *testing.T) {
	r := num.NewRand(6)
	for _, c := range []struct{ share, low, high float64 }{
		{0, 0.9, 1.1}, {0.3, 1.6, 1.95}, {-0.3, 0.45, 0.65}, // (1+φ)/(1-φ), less what the weights take
	} {
		if got := LongRun(persistent(20_000, c.share, r)); got < c.low || got > c.high {
			t.Errorf("share %v: %v, want %v to %v", c.share, got, c.low, c.high)
		}
	}
	if got := LongRun(make([]float64, 10)); got != 1 {
		t.Errorf("a flat series has %v, want 1", got)
	}
}

// A few large gains lower the error by their skew. Z does not follow: its error is
// at least that of normal returns, widened where the bars hang together.
func TestEstimateSharpe_ZIsNotRaisedBySkew(t *testing.T) {
	r := num.NewRand(21)
	x := normals(1000, 0, r)
	for i := 0; i < len(x); i += 50 {
		x[i] += 8
	}
	s := EstimateSharpe(x, 0)
	floor := math.Sqrt(max(*s.LongRun, 1) / 999)
	if *s.Error > 0.95*floor {
		t.Fatalf("the example shows nothing: the error is %v and that of normal returns %v", *s.Error, floor)
	}
	near(t, "z", *s.Z, *s.PerBar/floor, 1e-12)

	var twice []float64 // every return comes twice
	for _, v := range x {
		twice = append(twice, v, v)
	}
	s = EstimateSharpe(twice, 0)
	floor = math.Sqrt(*s.LongRun / 1999)
	if *s.LongRun < 1.5 || *s.Error > 0.95*floor {
		t.Fatalf("the example shows nothing: the long run is %v and the error %v, that of normal returns %v", *s.LongRun, *s.Error, floor)
	}
	near(t, "z of bars that hang together", *s.Z, *s.PerBar/floor, 1e-12)

	raise(x, -0.4)
	negate(x)
	if s = EstimateSharpe(x, 0); *s.Error < 1.05*math.Sqrt(max(*s.LongRun, 1)/999) {
		t.Fatalf("the example shows nothing: the error is %v and that of normal returns smaller by less than 5 %%", *s.Error)
	}
	near(t, "z of large losses", *s.Z, *s.PerBar / *s.Error, 1e-12)
}
