package panel

import (
	"cmp"
	"math"
	"slices"
)

// This file is written from the papers: with loops over days and lags, and without a
// line of the package. It is slow.

// daysOf are the positions of the days of a resample.
func daysOf(r Resample) (days []int) {
	for _, block := range r {
		for t := block.From; t < block.To; t++ {
			days = append(days, int(t))
		}
	}
	return days
}

func plainMean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// plainOmega is ω of Hansen (2005), section 3.1: sample autocovariances γ(i), and the
// kernel κ(n,i) = (n-i)/n (1-q)^i + i/n (1-q)^(n-i).
func plainOmega(x []float64, block float64) float64 {
	n, q, mean := float64(len(x)), 1/block, plainMean(x)
	gamma := func(i int) float64 {
		sum := 0.0
		for t := i; t < len(x); t++ {
			sum += (x[t] - mean) * (x[t-i] - mean)
		}
		return sum / n
	}
	v := gamma(0)
	for i := 1; i < len(x); i++ {
		k := float64(i)
		v += 2 * ((n-k)/n*math.Pow(1-q, k) + k/n*math.Pow(1-q, n-k)) * gamma(i)
	}
	return math.Sqrt(v)
}

// plainT is the t-value of a trial with the correction for few days: the variance is
// divided by its expected share for white noise, and the t-value is brought to the
// normal number that is as improbable, with (n-1)/(1+2Σκ²) degrees of freedom.
func plainT(x []float64, block float64) (t, standardError float64) {
	n, q := float64(len(x)), 1/block
	kept, spread := (n-1)/n, 1.0
	for i := 1.0; i < n; i++ {
		kappa := (n-i)/n*math.Pow(1-q, i) + i/n*math.Pow(1-q, n-i)
		kept -= 2 * kappa * (n - i) / n / n
		spread += 2 * kappa * kappa
	}
	standardError = plainOmega(x, block) / math.Sqrt(n)
	t, freedom := plainMean(x)/(standardError/math.Sqrt(kept)), (n-1)/spread
	return t * (1 - 1/(4*freedom)) / math.Sqrt(1+t*t/(2*freedom)), standardError
}

type plainSPA struct{ statistic, lower, consistent, upper float64 }

// plainTest is Hansen's test. The resampled mean return of each trial is recentred by
// g: by max(mean, 0), by the mean unless it is clearly below 0, by the mean.
func plainTest(returns [][]float64, resamples []Resample, block float64) plainSPA {
	n := float64(len(returns[0]))
	var ts, errors, means []float64
	var kept [][]float64
	for _, x := range returns {
		if slices.Max(x) == slices.Min(x) {
			continue
		}
		t, e := plainT(x, block)
		kept, ts, errors, means = append(kept, x), append(ts, t), append(errors, e), append(means, plainMean(x))
	}
	out := plainSPA{}
	for _, t := range ts {
		out.statistic = math.Max(out.statistic, t)
	}
	for i, g := range []func(t float64) float64{
		func(t float64) float64 { return math.Max(t, 0) },
		func(t float64) float64 {
			if t >= -math.Sqrt(2*math.Log(math.Log(n))) {
				return t
			}
			return 0
		},
		func(t float64) float64 { return t },
	} {
		reached := 1.0
		for _, r := range resamples {
			largest := 0.0
			for k, x := range kept {
				z := ts[k] - g(ts[k])
				for _, day := range daysOf(r) {
					z += (x[day] - means[k]) / n / errors[k]
				}
				largest = math.Max(largest, z)
			}
			if largest >= out.statistic {
				reached++
			}
		}
		*[]*float64{&out.lower, &out.consistent, &out.upper}[i] = reached / float64(len(resamples)+1)
	}
	return out
}

// plainStepM is the stepwise procedure of Romano and Wolf (2005) with studentised
// statistics: trials above the critical value are rejected, the critical value is found
// again without them, until no more are rejected. The critical value leaves at most the
// share level of the resamples, and of the sample itself, at or above it.
func plainStepM(returns [][]float64, resamples []Resample, block, level float64) (rejected []int) {
	left, ts, errors := map[int]bool{}, map[int]float64{}, map[int]float64{}
	for k, x := range returns {
		left[k] = slices.Max(x) > slices.Min(x)
		ts[k], errors[k] = plainT(x, block)
	}
	for {
		var largest []float64
		for _, r := range resamples {
			m := math.Inf(-1)
			for k, x := range returns {
				if !left[k] {
					continue
				}
				var drawn []float64
				for _, t := range daysOf(r) {
					drawn = append(drawn, x[t])
				}
				m = math.Max(m, (plainMean(drawn)-plainMean(x))/errors[k])
			}
			largest = append(largest, m)
		}
		slices.Sort(largest)
		allowed := int(math.Floor(level*float64(len(resamples)+1)+1e-9)) - 1 // that may be at or above it
		critical := largest[len(largest)-1-allowed]
		more := false
		for k := range returns {
			if left[k] && ts[k] > critical {
				rejected, left[k], more = append(rejected, k), false, true
			}
		}
		if !more {
			slices.Sort(rejected)
			return rejected
		}
	}
}

// plainP are the adjusted p-values of Romano and Wolf (2016): in the order of the
// t-values, the share of resamples in which a trial or one behind it reaches its
// t-value, and never less than that of the trial before.
func plainP(returns [][]float64, resamples []Resample, block float64) map[int]float64 {
	ts, errors := map[int]float64{}, map[int]float64{}
	var order []int
	for k, x := range returns {
		if slices.Max(x) > slices.Min(x) {
			ts[k], errors[k] = plainT(x, block)
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ts[b], ts[a]) })
	out, before := map[int]float64{}, 0.0
	for at, k := range order {
		reached := 1.0
		for _, r := range resamples {
			for _, behind := range order[at:] {
				var drawn []float64
				for _, t := range daysOf(r) {
					drawn = append(drawn, returns[behind][t])
				}
				if (plainMean(drawn)-plainMean(returns[behind]))/errors[behind] >= ts[k] {
					reached++
					break
				}
			}
		}
		before = math.Max(before, reached/float64(len(resamples)+1))
		out[k] = before
	}
	return out
}

type plainPBO struct {
	splits                                 int
	pbo, loss, slope, intercept, in, other float64
	logits                                 []float64
}

// plainOverfitting is CSCV of Bailey et al. (2015), section 3: the matrix is cut into
// submatrices of rows, every half of them is J, the others are J bar.
func plainOverfitting(returns [][]float64, blocks int) (out plainPBO) {
	size := len(returns[0]) / blocks
	skip := len(returns[0]) - size*blocks
	ratio := func(x []float64, chosen []bool) float64 {
		var part []float64
		for b, in := range chosen {
			if in {
				part = append(part, x[skip+b*size:skip+(b+1)*size]...)
			}
		}
		m, v := plainMean(part), 0.0
		for _, r := range part {
			v += (r - m) * (r - m) / float64(len(part)-1)
		}
		if v < 1e-25 {
			return 0
		}
		return m / math.Sqrt(v)
	}
	var ins, outs []float64
	var walk func(chosen []bool, left int)
	walk = func(chosen []bool, left int) {
		if len(chosen) < blocks {
			if left > 0 {
				walk(append(slices.Clone(chosen), true), left-1)
			}
			if blocks-len(chosen) > left {
				walk(append(slices.Clone(chosen), false), left)
			}
			return
		}
		rest := make([]bool, blocks)
		for b := range rest {
			rest[b] = !chosen[b]
		}
		best, top := 0, math.Inf(-1)
		for k, x := range returns {
			if s := ratio(x, chosen); s > top+1e-12 {
				best, top = k, s
			}
		}
		mine, rank := ratio(returns[best], rest), 0.5
		for _, x := range returns {
			switch s := ratio(x, rest); {
			case math.Abs(s-mine) <= 1e-12:
				rank += 0.5
			case s < mine:
				rank++
			}
		}
		w := rank / float64(len(returns)+1)
		logit := math.Log(w / (1 - w))
		out.splits++
		out.logits = append(out.logits, logit)
		if logit <= 1e-15 {
			out.pbo++
		}
		if mine < 0 {
			out.loss++
		}
		ins, outs = append(ins, top), append(outs, mine)
	}
	walk(nil, blocks/2)
	n := float64(out.splits)
	out.pbo, out.loss, out.in, out.other = out.pbo/n, out.loss/n, plainMean(ins), plainMean(outs)
	var xx, xy float64
	for i := range ins {
		xx += (ins[i] - out.in) * (ins[i] - out.in)
		xy += (ins[i] - out.in) * (outs[i] - out.other)
	}
	out.slope = xy / xx
	out.intercept = out.other - out.slope*out.in
	return out
}

// plainEffective is the participation ratio from the correlations one by one.
func plainEffective(returns [][]float64) float64 {
	total := 0.0
	for i, x := range returns {
		for k, y := range returns {
			mx, my := plainMean(x), plainMean(y)
			var xy, xx, yy float64
			for t := range x {
				xy += (x[t] - mx) * (y[t] - my)
				xx += (x[t] - mx) * (x[t] - mx)
				yy += (y[t] - my) * (y[t] - my)
			}
			square := xy * xy / xx / yy
			if i != k {
				square -= (1 - square) / float64(len(x)-2)
			}
			total += square
		}
	}
	return math.Min(math.Max(float64(len(returns)*len(returns))/total, 1), float64(len(returns)))
}

// plainBlock is the choice of Politis and White (2004) for the stationary bootstrap,
// with the variance of Patton, Politis and White (2009): 2 g(0)².
func plainBlock(x []float64) float64 {
	n, mean := len(x), plainMean(x)
	gamma := func(k int) float64 {
		sum := 0.0
		for t := k; t < n; t++ {
			sum += (x[t] - mean) * (x[t-k] - mean)
		}
		return sum / float64(n)
	}
	largest := int(math.Ceil(math.Sqrt(float64(n)))) + 5
	bound := 2 * math.Sqrt(math.Log10(float64(n))/float64(n))
	m := largest
search:
	for hat := 0; hat+5 <= largest; hat++ {
		for k := 1; k <= 5; k++ {
			if math.Abs(gamma(hat+k)/gamma(0)) >= bound {
				continue search
			}
		}
		m = min(2*max(hat, 1), largest)
		break
	}
	weight := func(s float64) float64 {
		if math.Abs(s) <= 0.5 {
			return 1
		}
		return 2 * (1 - math.Abs(s))
	}
	g, spectrum := 0.0, 0.0
	for k := -m; k <= m; k++ {
		a := int(math.Abs(float64(k)))
		w := weight(float64(k) / float64(m))
		g += w * float64(a) * gamma(a)
		spectrum += w * gamma(a)
	}
	b := math.Pow(2*g*g/(2*spectrum*spectrum), 1.0/3) * math.Pow(float64(n), 1.0/3)
	return math.Min(b, math.Ceil(math.Min(3*math.Sqrt(float64(n)), float64(n)/3)))
}
