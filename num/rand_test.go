package num

import (
	"math"
	"testing"
)

// TestRand_GivesTheStreamOfItsSeed pins the generator: xoshiro256++ from four
// words of splitmix64.
func TestRand_GivesTheStreamOfItsSeed(t *testing.T) {
	if got, want := NewRand(0).State(), ([4]uint64{
		0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
		0xf88bb8a8724c81ec,
	}); got != want {
		t.Errorf("seed 0 gives the state %x, want splitmix64's first outputs %x", got, want)
	}
	r := RandFrom([4]uint64{1, 2, 3, 4})
	for i, want := range []uint64{41943041, 58720359, 3588806011781223, 3591011842654386} {
		if got := r.Uint64(); got != want {
			t.Errorf("output %d from the state 1 2 3 4 is %d, want %d", i, got, want)
		}
	}
	r = NewRand(7)
	var got [5]uint64
	got[0] = math.Float64bits(r.Norm())
	got[1] = math.Float64bits(r.Float64())
	got[2] = uint64(math.Float32bits(r.Float32()))
	got[3] = r.Uint64n(1_000_003)
	got[4] = Mix(7, 11, 13)
	if want := [5]uint64{0x3ffac8da7097b412, 0x3feed64c7e5eaf20, 0x3eee70b6, 0xb0bc5, 0xd6099e8b8bd47744}; got != want {
		t.Errorf("the stream of seed 7 is %#x, want %#x", got, want)
	}
}

func TestRand_ContinuesFromASavedState(t *testing.T) {
	a := NewRand(3)
	for range 100 {
		a.Norm()
	}
	b := RandFrom(a.State())
	pa, pb := make([]int32, 50), make([]int32, 50)
	for i := range 200 {
		a.Perm(pa)
		b.Perm(pb)
		if x, y := a.Norm(), b.Norm(); x != y || pa[0] != pb[0] {
			t.Fatalf("draw %d: %v and %v after the same state", i, x, y)
		}
	}
}

func TestRand_RefusesWhatHasNoAnswer(t *testing.T) {
	for name, f := range map[string]func(){
		"a number below 0": func() { NewRand(1).Uint64n(0) },
		"an empty state":   func() { RandFrom([4]uint64{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestRand_Uint64nFavoursNobody uses an n just above 2^63, where a plain
// remainder would give the lower half twice as often.
func TestRand_Uint64nIsUniform(t *testing.T) {
	const n = 3 << 62
	r, low := NewRand(5), 0
	const draws = 30_000
	for range draws {
		v := r.Uint64n(n)
		if v >= n {
			t.Fatalf("%d is not below %d", v, uint64(n))
		}
		if v < n/3 {
			low++
		}
	}
	if share := float64(low) / draws; math.Abs(share-1.0/3) > 0.015 {
		t.Errorf("the lowest third came up with share %.3f", share)
	}
}

func TestRand_NormHasTheMomentsOfTheNormalDistribution(t *testing.T) {
	r := NewRand(11)
	const n = 200_000
	var m [5]float64
	for range n {
		x, p := r.Norm(), 1.0
		for k := range m {
			m[k] += p / n
			p *= x
		}
	}
	for k, want := range []float64{1, 0, 1, 0, 3} {
		if math.Abs(m[k]-want) > 0.05 {
			t.Errorf("moment %d is %.4f, want %v", k, m[k], want)
		}
	}
}

func TestRand_UnitNumbersStayBelowOne(t *testing.T) {
	r := NewRand(13)
	var top float32
	for range 1_000_000 {
		if f := r.Float32(); f >= 1 || f < 0 {
			t.Fatalf("Float32 gave %v", f)
		} else {
			top = max(top, f)
		}
		if f := r.Float64(); f >= 1 || f < 0 {
			t.Fatalf("Float64 gave %v", f)
		}
	}
	if top < 0.99999 {
		t.Errorf("the largest of a million is %v", top)
	}
}

func TestRand_PermHoldsEveryNumberOnce(t *testing.T) {
	r := NewRand(17)
	first := make([]int, 10)
	for range 10_000 {
		p := make([]int32, 10)
		r.Perm(p)
		seen := 0
		for _, v := range p {
			seen |= 1 << v
		}
		if seen != 1<<10-1 {
			t.Fatalf("%v is no permutation", p)
		}
		first[p[0]]++
	}
	for v, n := range first {
		if n < 850 || n > 1150 {
			t.Errorf("%d came first %d times of 10000", v, n)
		}
	}
}

func TestMix_TellsOrderAndCountApart(t *testing.T) {
	seen := map[uint64][]uint64{}
	for _, parts := range [][]uint64{nil, {0}, {0, 0}, {1}, {1, 0}, {0, 1}, {1, 2, 3}, {3, 2, 1}, {1, 2}, {2, 3}} {
		h := Mix(parts...)
		if other, ok := seen[h]; ok {
			t.Errorf("%v and %v mix to the same seed", parts, other)
		}
		seen[h] = parts
	}
}
