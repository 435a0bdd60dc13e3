package num

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"testing"
)

// ulps is the distance of got from the true value in units of the float32 grid
// at that value.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

func TestFloat32FunctionsStayWithinTheirErrorBound(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, f := range []struct {
		name   string
		f      func(float32) float32
		exact  func(float64) float64
		lo, hi float32
		bound  float64
	}{
		{"Exp32", Exp32, math.Exp, exp32min, exp32max, 1.5},
		{"Exp32 around one", Exp32, math.Exp, -1, 1, 1.5},
		{"Tanh32", Tanh32, math.Tanh, -12, 12, 2.5},
		{"Tanh32 at its split", Tanh32, math.Tanh, tanh32split - 1e-3, tanh32split + 1e-3, 2.5},
		{"Tanh32 near zero", Tanh32, math.Tanh, -1e-3, 1e-3, 2.5},
		{"Sigmoid32", Sigmoid32, sigmoid, -87, 30, 2.5},
		{"Sigmoid32 around zero", Sigmoid32, sigmoid, -2, 2, 2.5},
	} {
		worst, at := 0.0, float32(0)
		const n = 300_000
		for i := range n {
			x := f.lo + (f.hi-f.lo)*float32(i)/(n-1)
			if u := ulps(f.f(x), f.exact(float64(x))); u > worst {
				worst, at = u, x
			}
		}
		if !(worst <= f.bound) {
			t.Errorf("%s(%g) = %g is %.3f ulp off, want at most %g", f.name, at, f.f(at), worst, f.bound)
		}
		t.Logf("%s: at most %.3f ulp off, at %g", f.name, worst, at)
	}
}

func TestFloat32FunctionsAtTheEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name      string
		got, want float32
	}{
		{"exp of +Inf", Exp32(inf), inf},
		{"exp of -Inf", Exp32(-inf), 0},
		{"exp past the largest", Exp32(math.Nextafter32(exp32max, inf)), inf},
		{"exp below the smallest", Exp32(math.Nextafter32(exp32min, -inf)), 0},
		{"exp of 0", Exp32(0), 1},
		{"tanh of +Inf", Tanh32(inf), 1},
		{"tanh of -Inf", Tanh32(-inf), -1},
		{"sigmoid of +Inf", Sigmoid32(inf), 1},
		{"sigmoid of -Inf", Sigmoid32(-inf), 0},
		{"sigmoid of 0", Sigmoid32(0), 0.5},
	} {
		if c.got != c.want {
			t.Errorf("%s = %g, want %g", c.name, c.got, c.want)
		}
	}
	for _, x := range []float32{Exp32(nan), Tanh32(nan), Sigmoid32(nan)} {
		if x == x {
			t.Errorf("a function of NaN gave %g, want NaN", x)
		}
	}
	if y := Exp32(exp32max); y > math.MaxFloat32 {
		t.Errorf("exp(%g) = %g, want a finite number", float32(exp32max), y)
	}
	if math.Float32bits(Tanh32(float32(math.Copysign(0, -1)))) != 1<<31 {
		t.Error("tanh(-0) is not -0")
	}
}

func TestFloat32FunctionsNeverReturnADenormal(t *testing.T) {
	for x := float32(exp32min); x > exp32min-20; x = math.Nextafter32(x, -100) - 1e-4 {
		for _, y := range []float32{Exp32(x), Sigmoid32(x)} {
			if y != Normal32(y) {
				t.Fatalf("exp or sigmoid of %g is the denormal %g", x, y)
			}
		}
	}
	if y := Tanh32(0x1p-130); y != 0 {
		t.Errorf("tanh(2^-130) = %g, want 0", y)
	}
	if y := Exp32(exp32min); y < 0x1p-126 {
		t.Errorf("exp(%g) = %g, want at least 2^-126", float32(exp32min), y)
	}
}

// The bits themselves: a change of one of them, by a compiler or a platform, is
// a change of every result that was ever stored.
func TestFloat32FunctionsKeepTheirBits(t *testing.T) {
	h := fnv.New64a()
	for i := -4000; i <= 4000; i++ {
		x := float32(i) * 0.02197265625
		fmt.Fprintf(h, "%08x%08x%08x", math.Float32bits(Exp32(x)), math.Float32bits(Tanh32(x)), math.Float32bits(Sigmoid32(x)))
	}
	if got, want := h.Sum64(), uint64(0x82c90dbd71ad6eee); got != want {
		t.Errorf("hash of the bits = %#x, want %#x", got, want)
	}
}

// exactFMA is x*y + z rounded once, by arbitrary precision.
func exactFMA(x, y, z float32) float32 {
	p := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
	s := new(big.Float).SetPrec(2000).Add(p, big.NewFloat(float64(z)))
	r, _ := s.Float32()
	return r
}

// fma32 is what FMA32FTZ does where two roundings are not as good as one.
func fma32(x, y, z float32) float32 { return float32(fmaToOdd(x, y, z)) }

func TestFMA_RoundsOnce(t *testing.T) {
	x, z := float32(1+0x1p-12), float32(0x1p-60)
	if got, want := fma32(x, x, z), exactFMA(x, x, z); got != want {
		t.Errorf("fma32(1+2^-12, 1+2^-12, 2^-60) = %x, want %x", got, want)
	}
	if twice := float32(math.FMA(float64(x), float64(x), float64(z))); twice == exactFMA(x, x, z) {
		t.Error("the case does not tell one rounding from two")
	}
	if got := fma32(x, x, -z); got != exactFMA(x, x, -z) {
		t.Errorf("fma32(1+2^-12, 1+2^-12, -2^-60) = %x, want %x", got, exactFMA(x, x, -z))
	}
	r := NewRand(1)
	for range 200_000 {
		x, y, z := wide(r), wide(r), wide(r)
		if r.Uint64()&1 == 0 { // a sum that nearly cancels, or whose parts are far apart
			z = -float32(x*y) * (1 + float32(r.Uint64n(5))*0x1p-23) * float32(math.Ldexp(1, -int(r.Uint64n(3)*30)))
		}
		if got, want := fma32(x, y, z), exactFMA(x, y, z); got != want && !(got != got && want != want) {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
}

// wide draws finite float32 of any exponent, often with few significant bits,
// which is where ties come from.
func wide(r *Rand) float32 {
	b := uint32(r.Uint64())
	b &^= 1<<r.Uint64n(24) - 1
	if b&0x7f800000 == 0x7f800000 {
		b &^= 0x40000000
	}
	if r.Uint64()&1 == 0 { // exponents whose products and sums meet
		b = b&^0x7f800000 | uint32(64+r.Uint64n(16))<<23
	}
	return math.Float32frombits(b)
}

func TestFMA_OfWhatIsNotFinite(t *testing.T) {
	inf := float32(math.Inf(1))
	if got := fma32(inf, 2, 1); got != inf {
		t.Errorf("fma32(Inf, 2, 1) = %g, want +Inf", got)
	}
	if got := fma32(math.MaxFloat32, 2, 1); got != inf {
		t.Errorf("fma32(max, 2, 1) = %g, want +Inf", got)
	}
	if got := fma32(inf, 1, -inf); got == got {
		t.Errorf("fma32(Inf, 1, -Inf) = %g, want NaN", got)
	}
}

// flushed is what FTZ means, in arbitrary precision: round to 24 bits as if the
// exponent had no lower end, then see whether the result is too small.
func flushed(s *big.Float) float32 {
	r, _ := new(big.Float).SetPrec(24).SetMode(big.ToNearestEven).Set(s).Float64()
	if math.Abs(r) < 0x1p-126 {
		return float32(math.Copysign(0, r))
	}
	f, _ := s.Float32()
	return f
}

func TestFlushToZero_LooksAtTheRoundedResult(t *testing.T) {
	r := NewRand(2)
	near := func() float32 { // numbers whose products lie around 2^-126
		return math.Float32frombits(uint32(r.Uint64()&1)<<31 | uint32(61+r.Uint64n(4))<<23 | uint32(r.Uint64())>>9)
	}
	for range 100_000 {
		x, y := near(), near()
		z := math.Float32frombits(uint32(r.Uint64n(0x02000000)) | uint32(r.Uint64()&1)<<31)
		p := new(big.Float).SetPrec(200).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		if got, want := Mul32FTZ(x, y), flushed(p); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("Mul32FTZ(%x, %x) = %x, want %x", x, y, got, want)
		}
		s := new(big.Float).SetPrec(200).Add(p, big.NewFloat(float64(Normal32(z))))
		if got, want := FMA32FTZ(x, y, z), flushed(s); got != want {
			t.Fatalf("FMA32FTZ(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
	// 2^-126 - 2^-150 has 24 bits, so it is below 2^-126 after rounding, although
	// the float32 grid would take it up to 2^-126.
	if x, y := float32(1-0x1p-24), float32(0x1p-126); Mul32FTZ(x, y) != 0 || float32(x*y) == 0 {
		t.Errorf("Mul32FTZ(1-2^-24, 2^-126) = %x, want 0", Mul32FTZ(x, y))
	}
}

func BenchmarkFloat32(b *testing.B) {
	for _, f := range []struct {
		name string
		f    func(float32) float32
	}{{"Exp32", Exp32}, {"Tanh32", Tanh32}, {"Sigmoid32", Sigmoid32}} {
		b.Run(f.name, func(b *testing.B) {
			x := float32(0)
			for b.Loop() {
				x += f.f(0.3)
			}
		})
	}
}
