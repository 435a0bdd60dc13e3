package panel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// SPA is Hansen's test for superior predictive ability (2005), with cash as the
// benchmark. The null hypothesis: no trial has a mean daily net return above 0. The
// statistic is the largest t-value, and at least 0.
//
// The three p-values differ in what resamples assume of trials that lost. P is the
// consistent one: trials that lost clearly do not count. Lower lets every trial that
// lost keep its loss, and Upper counts all trials as if they had a mean of 0 (the
// reality check of White).
type SPA struct {
	Statistic *float64 `json:"statistic"`
	Lower     *float64 `json:"p_lower"`
	P         *float64 `json:"p"`
	Upper     *float64 `json:"p_upper"`
	Best      *int     `json:"-"` // the trial with the largest t-value
	Undefined string   `json:"undefined,omitempty"`
}

// StepM says which trials have a mean daily net return above 0 (Romano and Wolf
// 2005). The probability of one or more false rejections is at most Level. Each trial
// has an adjusted p-value (Romano and Wolf 2016); those up to Level are rejected.
type StepM struct {
	Level     float64    `json:"level"`
	Rejected  []int      `json:"-"` // positions of trials, in their order
	P         []*float64 `json:"-"` // adjusted; nil for a trial whose returns do not vary
	T         []*float64 `json:"-"` // t-values
	Undefined string     `json:"undefined,omitempty"`
}

const (
	// FewestDays is how many days the tests need.
	FewestDays = 30
	// familyLevel is the level of StepM.
	familyLevel = 0.05
)

// Test makes both tests on the same resamples, which were drawn with blocks of this
// mean length.
func Test(p *Panel, resamples []Resample, mean float64) (SPA, StepM) {
	step := StepM{Level: familyLevel, P: make([]*float64, len(p.Returns)), T: make([]*float64, len(p.Returns))}
	why := ""
	var list []varying
	switch {
	case len(p.Days) < FewestDays && len(p.Returns) > 0:
		why = fmt.Sprintf("the trials share %d days, and at least %d are needed", len(p.Days), FewestDays)
	case len(resamples) == 0:
		why = "there are no resamples"
	default:
		if list = varyingTrials(p, mean); len(list) == 0 {
			why = "there is no trial with daily returns that vary"
		}
	}
	if why != "" {
		step.Undefined = why
		return SPA{Undefined: why}, step
	}
	drawn := resampled(p, list, resamples)
	step.fill(list, drawn)
	return superior(list, drawn, len(p.Days)), step
}

// varying is a trial whose returns vary.
type varying struct {
	trial    int
	mean, of float64 // the mean return; the standard deviation of its resamples
	t        float64 // see normalEquivalent
}

func varyingTrials(p *Panel, block float64) (list []varying) {
	n := float64(len(p.Days))
	kept, freedom := smallSample(len(p.Days), block)
	for i, x := range p.Returns {
		v := varying{trial: i, mean: num.Sum(x) / float64(len(x)), of: rootVariance(x, block) / math.Sqrt(n)}
		if v.of > 0 {
			v.t = normalEquivalent(v.mean/v.of*math.Sqrt(kept), freedom)
			list = append(list, v)
		}
	}
	// The largest t-value first, so that the trials that StepM still has to judge are a tail of the list.
	slices.SortStableFunc(list, func(a, b varying) int { return cmp.Compare(b.t, a.t) })
	return list
}

// smallSample says how far the estimated variance of a mean can be off, for returns
// without memory. kept is the expected share of the true variance: the mean is estimated
// too. freedom is its degrees of freedom: those of a chi-square number with the same
// relative variance. Without both, the tests reject too often on a year of days.
func smallSample(days int, block float64) (kept, freedom float64) {
	n, rho := float64(days), 1-1/block
	powers := make([]float64, days) // ρ^i
	powers[0] = 1
	for i := 1; i < days; i++ {
		powers[i] = float64(powers[i-1] * rho)
	}
	kept, spread := 1-1/n, 1.0
	for i := 1; i < days; i++ {
		share := float64(i) / n
		k := float64((1-share)*powers[i]) + float64(share*powers[days-i])
		kept -= float64(2*k*(1-share)) / n
		spread += float64(2 * k * k)
	}
	return kept, (n - 1) / spread
}

// normalEquivalent is the normal number that is about as improbable as a t-value with
// these degrees of freedom (Wallace 1959, in the form of Abramowitz and Stegun 26.7.8).
// The t-values of resamples are normal: their standard error is not estimated again.
func normalEquivalent(t, freedom float64) float64 {
	return t * (1 - 1/(4*freedom)) / math.Sqrt(1+float64(t*t)/(2*freedom))
}

const tile = 32 // trials that are summed up side by side

// resampled are the t-values of each resample, centred at the mean of the trial: one
// row for each resample, in the order of the list. The sum of a block is the
// difference of two sums from the first day on.
func resampled(p *Panel, list []varying, resamples []Resample) [][]float64 {
	n := len(p.Days)
	out := make([][]float64, len(resamples))
	all := make([]float64, len(resamples)*len(list))
	for b := range out {
		out[b] = all[b*len(list) : (b+1)*len(list)]
	}
	sums := make([][tile]float64, n+1)
	for from := 0; from < len(list); from += tile {
		some := list[from:min(from+tile, len(list))]
		for k, v := range some {
			x := p.Returns[v.trial]
			for t := range n {
				sums[t+1][k] = sums[t][k] + (x[t] - v.mean)
			}
		}
		for b, blocks := range resamples {
			var total [tile]float64
			for _, block := range blocks {
				to, begin := &sums[block.To], &sums[block.From]
				for k := range total {
					total[k] += to[k] - begin[k]
				}
			}
			for k, v := range some {
				out[b][from+k] = total[k] / float64(n) / v.of
			}
		}
	}
	return out
}

// superior is the test of all trials together. drawn are centred t-values.
func superior(list []varying, drawn [][]float64, days int) SPA {
	statistic := max(list[0].t, 0)
	lost := -math.Sqrt(2 * num.Log(num.Log(float64(days)))) // a t-value below it: the trial lost clearly
	lower, consistent, upper := 0, 0, 0
	for _, row := range drawn {
		var l, c, u float64
		for k, centred := range row {
			t := list[k].t
			u = max(u, centred)
			if t >= 0 {
				l = max(l, centred)
			} else {
				l = max(l, centred+t)
			}
			if t >= lost {
				c = max(c, centred)
			} else {
				c = max(c, centred+t)
			}
		}
		for _, x := range []struct {
			largest float64
			count   *int
		}{{l, &lower}, {c, &consistent}, {u, &upper}} {
			if x.largest >= statistic {
				*x.count++
			}
		}
	}
	share := func(n int) *float64 { return new(float64(n+1) / float64(len(drawn)+1)) }
	return SPA{
		Statistic: &statistic, Lower: share(lower), P: share(consistent), Upper: share(upper), Best: &list[0].trial,
	}
}

// fill judges the trials one after the other, the largest t-value first. The largest
// centred t-value of a trial and all behind it must reach its t-value rarely. A trial
// is not better than the one before it.
func (s *StepM) fill(list []varying, drawn [][]float64) {
	reached := make([]int, len(list))
	for _, row := range drawn {
		largest := math.Inf(-1)
		for k := len(list) - 1; k >= 0; k-- {
			if largest = max(largest, row[k]); largest >= list[k].t {
				reached[k]++
			}
		}
	}
	p := 0.0
	for k, v := range list {
		p = max(p, float64(reached[k]+1)/float64(len(drawn)+1))
		s.P[v.trial], s.T[v.trial] = new(p), new(v.t)
		if p <= s.Level {
			s.Rejected = append(s.Rejected, v.trial)
		}
	}
	slices.Sort(s.Rejected)
}
