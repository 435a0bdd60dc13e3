package panel

import (
	"cmp"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/num"
)

// Resample is the blocks of one resample of the stationary bootstrap, in their
// order. Together they have as many days as the panel. A block that wraps around
// the end is two of them.
type Resample []Block

// Block is the days from From up to, but without, To.
type Block struct{ From, To int32 }

// Resamples draws resamples of days: blocks begin anywhere, and their lengths have a
// geometric distribution with this mean. All trials of a panel share them, so what
// trials have in common stays.
func Resamples(days, draws int, mean float64, r *num.Rand) []Resample {
	out := make([]Resample, draws)
	for d := range out {
		for from, to := range evidence.Blocks(days, mean, r) {
			out[d] = append(out[d], Block{int32(from), int32(to)})
		}
	}
	return out
}

// insignificant is how many autocorrelations in a row are near 0 behind the last
// that counts: max(5, sqrt(log10 n)) of Politis and White, which is 5 for every n.
const insignificant = 5

// BlockLength is the mean length of blocks that fits a panel: the median of what
// Politis and White (2004, with the correction of 2009) choose for each trial that
// varies. It is at least 1.
func BlockLength(p *Panel) float64 {
	var lengths []float64
	for _, x := range p.Returns {
		if b, ok := blockLength(x); ok {
			lengths = append(lengths, b)
		}
	}
	if len(lengths) == 0 {
		return 1
	}
	slices.Sort(lengths)
	n := len(lengths)
	return max(1, (lengths[(n-1)/2]+lengths[n/2])/2)
}

func blockLength(x []float64) (float64, bool) {
	n := float64(len(x))
	most := int(math.Ceil(math.Sqrt(n))) + insignificant
	if len(x) < 2*most {
		most = len(x) / 2
	}
	r := autocovariances(x, most)
	if most <= insignificant || !(r[0] > 0) {
		return 1, r[0] > 0
	}
	small := 2 * math.Sqrt(num.Log(n)/math.Ln10/n) * r[0]
	m, near := most, 0
	for k := 1; k <= most; k++ {
		if near++; math.Abs(r[k]) >= small {
			near = 0
		}
		if near == insignificant {
			m = min(2*max(k-insignificant, 1), most)
			break
		}
	}
	g, spectrum := 0.0, r[0]
	for k := 1; k <= m; k++ {
		weight := min(1, float64(2*(1-float64(k)/float64(m)))) // a flat top, then a slope
		g += float64(2 * weight * float64(k) * r[k])
		spectrum += float64(2 * weight * r[k])
	}
	longest := math.Ceil(min(3*math.Sqrt(n), n/3))
	ratio := g / spectrum
	b := num.Pow(float64(ratio*ratio)*n, 1.0/3)
	if !(b < longest) { // the spectrum may be 0
		b = longest
	}
	return b, true
}

// autocovariances are those of lags 0 to most.
func autocovariances(x []float64, most int) []float64 {
	mean, n := num.Sum(x)/float64(len(x)), len(x)
	d := make([]float64, n)
	for i, v := range x {
		d[i] = v - mean
	}
	r := make([]float64, most+1)
	for k := range r {
		sum := 0.0
		for i, v := range d[:n-k] {
			sum += float64(v * d[i+k])
		}
		r[k] = sum / float64(n)
	}
	return r
}

// rootVariance is the standard deviation of sqrt(n) times the mean of a resample, in
// closed form: sqrt(γ0 + 2 Σ κ(i) γi) with the kernel κ of Hansen (2005). It is the
// sum over the circular autocovariances c of (1-i/n) ρ^i c(i), ρ = 1 - 1/mean, which
// two recursions give without a loop over lags. It is 0 for returns that do not vary.
func rootVariance(x []float64, mean float64) float64 {
	n := len(x)
	centre, rho := num.Sum(x)/float64(n), 1-1/mean
	at := func(i int) float64 { return x[i%n] - centre }
	var near, far, power float64 // Σ ρ^i x(t+i) and Σ i ρ^i x(t+i), for i from 1 to n-1
	power = 1
	for i := 1; i < n; i++ {
		power = float64(power * rho)
		near += float64(power * at(i))
		far += float64(float64(i) * float64(power*at(i)))
	}
	power = float64(power * rho) // ρ^n
	squares, cross := 0.0, 0.0
	for t := n; t > 0; t-- { // from t = n, which is t = 0, down
		v := at(t)
		squares += float64(v * v)
		cross += float64(v * (near - far/float64(n)))
		before := at(t - 1)
		far = float64(rho*(v+near+far)) - float64(float64(n)*float64(power*before))
		near = float64(rho*(v+near)) - float64(power*before)
	}
	v := (squares + float64(2*cross)) / float64(n)
	if !(v > cmp.Or(squares, 1)*1e-12/float64(n)) {
		return 0
	}
	return math.Sqrt(v)
}
