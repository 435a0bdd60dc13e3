package num

import (
	"math"
	"math/bits"
)

// Rand is a stream of random numbers whose whole future is its State: save the four
// words, and the stream continues from there, on any machine, as if it had never
// stopped. It is xoshiro256++ seeded through splitmix64. It is not for secrets, and
// not safe for use by several goroutines: give each its own, with a seed from Mix.
type Rand struct{ s [4]uint64 }

// golden is 2^64 divided by the golden ratio: splitmix64's step.
const golden = 0x9e3779b97f4a7c15

// NewRand returns the stream of a seed.
func NewRand(seed uint64) *Rand {
	r := &Rand{}
	for i := range r.s {
		seed += golden
		r.s[i] = finish(seed)
	}
	return r
}

// RandFrom returns the stream that continues from a saved state. Four zeros are
// no state of any stream: it would give zeros for ever.
func RandFrom(state [4]uint64) *Rand {
	if state == [4]uint64{} {
		panic("num: RandFrom: the state is all zeros, which no stream of random numbers has")
	}
	return &Rand{s: state}
}

// State is the argument of RandFrom that continues the stream.
func (r *Rand) State() [4]uint64 { return r.s }

// Mix makes one seed of several numbers, such as a run's seed and the number
// of a fold. Their order and their count matter.
func Mix(parts ...uint64) uint64 {
	h := uint64(len(parts))
	for _, p := range parts {
		h = finish(h+golden) ^ p
	}
	return finish(h + golden)
}

// finish is splitmix64's output function: a bijection in which every bit of
// the input moves about half of the output.
func finish(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	s := &r.s
	out := bits.RotateLeft64(s[0]+s[3], 23) + s[0]
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = bits.RotateLeft64(s[3], 45)
	return out
}

// Uint64n returns a number below n, each equally often. It panics for n = 0.
func (r *Rand) Uint64n(n uint64) uint64 {
	if n == 0 {
		panic("num: Rand.Uint64n: there is no number below 0")
	}
	// The high word of a product with n is the answer; the few low words that
	// would favour some answers are drawn again.
	hi, lo := bits.Mul64(r.Uint64(), n)
	if lo < n {
		for unfair := -n % n; lo < unfair; {
			hi, lo = bits.Mul64(r.Uint64(), n)
		}
	}
	return hi
}

// Float64 returns a number in [0,1), a multiple of 2^-53.
func (r *Rand) Float64() float64 { return float64(float64(r.Uint64()>>11) * 0x1p-53) }

// Float32 returns a number in [0,1), a multiple of 2^-24.
func (r *Rand) Float32() float32 { return float32(float32(r.Uint64()>>40) * 0x1p-24) }

// Norm returns a number of the normal distribution with mean 0 and variance 1.
// It uses the polar method and throws the second number of each pair away, so
// that the state is all there is to save.
func (r *Rand) Norm() float64 {
	for {
		u, v := float64(2*r.Float64())-1, float64(2*r.Float64())-1
		q := float64(u*u) + float64(v*v)
		if q > 0 && q < 1 {
			return float64(u * math.Sqrt(-2*Log(q)/q))
		}
	}
}

// Perm fills dst with the numbers from 0 to len(dst)-1 in random order.
func (r *Rand) Perm(dst []int32) {
	for i := range dst {
		dst[i] = int32(i)
	}
	for i := len(dst) - 1; i > 0; i-- {
		j := r.Uint64n(uint64(i) + 1)
		dst[i], dst[j] = dst[j], dst[i]
	}
}
