package panel

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// made is a panel of trials with a common factor: trial k has a mean of edges[k]
// standard deviations a day, and some memory from day to day.
func made(days int, common, memory float64, edges []float64, seed uint64) *Panel {
	r := num.NewRand(seed)
	p := &Panel{Returns: make([][]float64, len(edges))}
	last := make([]float64, len(edges))
	for t := range days {
		p.Days = append(p.Days, int32(7*(t/5)+t%5))
		shared := r.Norm()
		for k, e := range edges {
			fresh := math.Sqrt(common)*shared + math.Sqrt(1-common)*r.Norm()
			last[k] = memory*last[k] + math.Sqrt(1-memory*memory)*fresh
			p.Returns[k] = append(p.Returns[k], 0.01*(last[k]+e))
		}
	}
	return p
}

func flat(n int) []float64 { return make([]float64, n) }

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9 {
		t.Errorf("%s is %v, the plain implementation has %v", what, deref(got), want)
	}
}

func deref(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

// panels are those on which both implementations are compared.
func panels() map[string]*Panel {
	edges := make([]float64, 40)
	strong := slices.Clone(edges)
	strong[3], strong[7], strong[8], strong[30], strong[31] = 0.4, 0.3, 0.22, -0.4, -0.15
	all := map[string]*Panel{
		"noise":              made(130, 0.3, 0, edges, 1),
		"memory":             made(200, 0.5, 0.4, edges[:12], 2),
		"some earn":          made(180, 0.2, 0.2, strong, 3),
		"two trials":         made(64, 0, 0, []float64{0, 0.1}, 4),
		"more than a tile":   made(70, 0.1, 0.1, make([]float64, 67), 5),
		"all lose":           made(90, 0.1, 0, []float64{-0.5, -0.4, -0.3, -0.6}, 6),
		"copies and a still": made(100, 0.1, 0, edges[:5], 7),
	}
	p := all["copies and a still"]
	p.Returns[4] = flat(100)
	p.Returns = append(p.Returns, slices.Clone(p.Returns[1]), flat(100))
	return all
}

func TestSPAAndStepM_AreThoseOfThePlainImplementation(t *testing.T) {
	for name, p := range panels() {
		t.Run(name, func(t *testing.T) {
			for _, block := range []float64{1, 3.7, 12} {
				resamples := Resamples(len(p.Days), 99, block, num.NewRand(8))
				spa, step := Test(p, resamples, block)
				want := plainTest(p.Returns, resamples, block)
				near(t, "statistic", spa.Statistic, want.statistic)
				near(t, "lower p", spa.Lower, want.lower)
				near(t, "consistent p", spa.P, want.consistent)
				near(t, "upper p", spa.Upper, want.upper)
				if rejected := plainStepM(p.Returns, resamples, block, step.Level); !slices.Equal(step.Rejected, rejected) {
					t.Errorf("StepM rejects %v, the plain implementation %v", step.Rejected, rejected)
				}
				p99 := plainP(p.Returns, resamples, block)
				for k, p := range step.P {
					if want, varies := p99[k]; varies != (p != nil) || varies && math.Abs(*p-want) > 1e-9 {
						t.Errorf("trial %d has the adjusted p-value %v, the plain implementation %v", k, deref(p), want)
					}
				}
			}
		})
	}
	spa, step := Test(panels()["some earn"], Resamples(180, 99, 2, num.NewRand(8)), 2)
	if len(step.Rejected) == 0 || *spa.P > 0.05 {
		t.Errorf("the panel with an edge rejects %v at p %v: the comparison shows nothing", step.Rejected, *spa.P)
	}
}

func TestOverfitting_IsThatOfThePlainImplementation(t *testing.T) {
	for name, p := range panels() {
		for _, blocks := range []int{2, 4, 8} {
			checkOverfitting(t, name, p, blocks)
		}
	}
	few := made(131, 0.2, 0.1, []float64{0, 0.1, 0, 0.05, 0}, 9) // 3 days fill no block
	checkOverfitting(t, "16 blocks", few, 16)
}

func checkOverfitting(t *testing.T, name string, p *Panel, blocks int) {
	t.Helper()
	got, want := Overfitting(p, blocks), plainOverfitting(p.Returns, blocks)
	year := math.Sqrt(float64(len(p.Days)-1) * 365.25 / float64(p.Days[len(p.Days)-1]-p.Days[0]))
	if got.Splits != want.splits {
		t.Fatalf("%s: %d splits, want %d", name, got.Splits, want.splits)
	}
	near(t, name+": PBO", got.PBO, want.pbo)
	near(t, name+": probability of loss", got.Loss, want.loss)
	near(t, name+": chosen Sharpe", got.Chosen, want.in*year)
	near(t, name+": other Sharpe", got.Other, want.other*year)
	if blocks > 2 { // with two halves the regression has two points
		near(t, name+": slope", got.Slope, want.slope)
		near(t, name+": intercept", got.Intercept, want.intercept*year)
	}
	near(t, name+": mean logit", &got.Logits.Mean, plainMean(want.logits))
	slices.Sort(want.logits)
	near(t, name+": median logit", &got.Logits.Median, (want.logits[(got.Splits-1)/2]+want.logits[got.Splits/2])/2)
	total := 0
	for _, n := range got.Tenths {
		total += n
	}
	lower := got.Tenths[0] + got.Tenths[1] + got.Tenths[2] + got.Tenths[3] + got.Tenths[4]
	if math.Abs(float64(lower)/float64(got.Splits)-want.pbo) > 1e-9 {
		t.Errorf("%s: %d of %d splits are in the lower tenths, PBO is %v", name, lower, got.Splits, want.pbo)
	}
	if total != got.Splits {
		t.Errorf("%s: the tenths hold %d of %d splits", name, total, got.Splits)
	}
}

func TestOverfitting_MakesAllSplitsOf16Blocks(t *testing.T) {
	if got := Overfitting(made(160, 0, 0, []float64{0, 0, 0}, 1), DefaultBlocks); got.Splits != 12_870 || got.Days != 160 {
		t.Errorf("%d splits of %d days, want 12870 of 160", got.Splits, got.Days)
	}
}

func TestEffectiveTrialsAndBlockLength_AreThoseOfThePlainImplementation(t *testing.T) {
	for name, p := range panels() {
		var moving [][]float64
		var lengths []float64
		for _, x := range p.Returns {
			if slices.Max(x) > slices.Min(x) {
				moving, lengths = append(moving, x), append(lengths, plainBlock(x))
			}
		}
		near(t, name+": effective trials", EffectiveTrials(p), plainEffective(moving))
		slices.Sort(lengths)
		n := len(lengths)
		near(t, name+": block length", new(BlockLength(p)), math.Max(1, (lengths[(n-1)/2]+lengths[n/2])/2))
	}
}

func TestEffectiveTrials_CountsCopiesOnce(t *testing.T) {
	p := made(2000, 0, 0, make([]float64, 20), 3)
	if n := *EffectiveTrials(p); n < 18 || n > 20 {
		t.Errorf("20 independent trials count as %.2f", n)
	}
	for k := range p.Returns {
		p.Returns[k] = p.Returns[k%4]
	}
	if n := *EffectiveTrials(p); n < 3.8 || n > 4.1 {
		t.Errorf("4 trials, each 5 times, count as %.2f", n)
	}
}

func TestJudge_GivesTheSameBits(t *testing.T) {
	p := made(300, 0.3, 0.1, make([]float64, 50), 11)
	a, b := Judge(p, Options{Draws: 200, Seed: 5}), Judge(p, Options{Draws: 200, Seed: 5})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two judgements of one panel differ:\n%+v\n%+v", a, b)
	}
	if a.SPA.Statistic == nil || a.PBO.Chosen == nil || a.Effective == nil {
		t.Fatalf("a figure is missing: SPA %+v, PBO %+v, effective trials %v", a.SPA, a.PBO, a.Effective)
	}
	// Exact bits: arithmetic, resamples and order are part of the result.
	if got := math.Float64bits(*a.SPA.Statistic) ^ math.Float64bits(a.Block) ^ math.Float64bits(*a.PBO.Chosen) ^
		math.Float64bits(*a.Effective); got != wantBits {
		t.Errorf("the bits are %#x, want %#x", got, uint64(wantBits))
	}
}

const wantBits = 0x28233253bbb6a3

func TestJudge_SaysWhyAFigureIsMissing(t *testing.T) {
	for name, p := range map[string]*Panel{
		"nothing": {}, "one trial": made(100, 0, 0, []float64{0}, 1), "few days": made(20, 0, 0, []float64{0, 0, 0}, 1),
		"one day":      made(1, 0, 0, []float64{0, 0, 0}, 1),
		"nothing done": {Days: made(100, 0, 0, nil, 1).Days, Returns: [][]float64{flat(100), flat(100)}},
	} {
		j := Judge(p, Options{Draws: 50})
		if (j.SPA.P == nil) != (j.SPA.Undefined != "") || (j.PBO.PBO == nil) != (j.PBO.Undefined != "") ||
			(j.SPA.P == nil) != (j.StepM.Undefined != "") {
			t.Errorf("%s: a figure and its reason do not fit: %+v", name, j)
		}
		if len(j.StepM.P) != len(p.Returns) {
			t.Errorf("%s: %d p-values of %d trials", name, len(j.StepM.P), len(p.Returns))
		}
		if name == "nothing done" && (j.PBO.PBO == nil || *j.PBO.PBO != 1 || j.Effective != nil) {
			t.Errorf("%s: PBO %v and %v effective trials", name, deref(j.PBO.PBO), deref(j.Effective))
		}
	}
}

func TestAlign_LeavesOutTrialsOfAnotherTestPartAndFillsNoDay(t *testing.T) {
	series := func(from, to int32, without ...int32) (s TrialDays) {
		for d := from; d < to; d++ {
			if !slices.Contains(without, d) {
				s.Days, s.Returns = append(s.Days, d), append(s.Returns, float64(1000*from+d))
			}
		}
		return s
	}
	p, members := Align([]TrialDays{
		series(100, 200), series(100, 200), {}, series(101, 200, 150), series(99, 260), series(40, 140), series(100, 189),
	})
	if !slices.Equal(members, []int{0, 1, 3, 4}) {
		t.Fatalf("the members are %v", members)
	}
	if len(p.Days) != 98 || slices.Contains(p.Days, 100) || slices.Contains(p.Days, 150) || slices.Contains(p.Days, 200) {
		t.Errorf("%d days: %v", len(p.Days), p.Days)
	}
	for k, i := range members {
		from := []float64{100, 100, 0, 101, 99}[i]
		for at, d := range p.Days {
			if p.Returns[k][at] != 1000*from+float64(d) {
				t.Fatalf("trial %d has %v on day %d", i, p.Returns[k][at], d)
			}
		}
	}
	if p, members := Align(nil); len(p.Days) != 0 || members != nil {
		t.Errorf("no trials make a panel of %d days", len(p.Days))
	}
}
