package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// tailFrom is where the distribution's tail begins: below it a power series
// converges fast, above it a continued fraction does.
const tailFrom = 3

// NormCDF is the probability that a standard normal number is at most x. Its
// relative error stays below 1e-12 wherever the result is a normal float64.
func NormCDF(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x < -tailFrom:
		return tail(-x)
	case x > tailFrom:
		return 1 - tail(x)
	}
	// Φ(x) = 1/2 + φ(x)(x + x³/3 + x⁵/(3·5) + …): all terms of one sign, so that none of them cancels.
	term, sum := x, x
	for k := 3.0; math.Abs(term) > 1e-18*math.Abs(sum); k += 2 {
		term = float64(term * (float64(x*x) / k))
		sum += term
	}
	return 0.5 + float64(density(x)*sum)
}

// tail is the probability above x, for x from tailFrom on.
func tail(x float64) float64 { return density(x) / laplace(x) }

// laplace is Laplace's continued fraction x + 1/(x + 2/(x + …)), taken from its
// far end: φ(x) over the probability above x.
func laplace(x float64) float64 {
	const terms = 80 // enough for 1e-15 at tailFrom, and fewer are needed beyond
	f := x
	for k := terms; k > 0; k-- {
		f = x + float64(k)/f
	}
	return f
}

// tailRatio is the probability above a over that above b, for a ≥ b. It stays
// exact where both are too small for a float64.
func tailRatio(a, b float64) float64 {
	if b <= tailFrom {
		return NormCDF(-a) / NormCDF(-b)
	}
	return num.Exp(float64((b-a)*(b+a))/2) * laplace(b) / laplace(a)
}

func density(x float64) float64 {
	const overRoot2Pi = 0.39894228040143267793994605993438
	return overRoot2Pi * num.Exp(-x*x/2)
}

// NormQuantile is the x below which a standard normal number lies with
// probability p: the inverse of NormCDF, within 1e-12. It is -Inf for 0, +Inf
// for 1 and NaN for what is no probability.
func NormQuantile(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN()
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case p > 0.5:
		return -NormQuantile(1 - p) // 1-p is exact here
	}
	// A rational start that is right to 4.5e-4 (Abramowitz and Stegun,
	// 26.2.23), then Newton's method on the logarithm of the probability, whose
	// curvature is mild however far out the tail.
	t := math.Sqrt(-2 * num.Log(p))
	top := 2.515517 + float64(t*(0.802853+float64(t*0.010328)))
	bottom := 1 + float64(t*(1.432788+float64(t*(0.189269+float64(t*0.001308)))))
	x := top/bottom - t
	for range 4 {
		c := NormCDF(x)
		x -= float64(num.Log(c/p) * c / density(x))
	}
	return x
}
