package num

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
)

// TestBits_AreTheSameOnEveryMachine holds each function to the bits it gave
// when it was written. A failure on another machine or compiler means that
// results no longer travel; a failure after a change of the formulas means that
// old checkpoints no longer resume to the same end.
func TestBits_AreTheSameOnEveryMachine(t *testing.T) {
	points := func(lo, hi float64) []float64 {
		r := NewRand(Mix(math.Float64bits(lo), math.Float64bits(hi)))
		x := make([]float64, 20_000)
		for i := range x {
			x[i] = lo + float64((hi-lo)*r.Float64())
		}
		return x
	}
	for _, c := range []struct {
		name, want string
		f          func(float64) float64
		lo, hi     float64
	}{
		{"exp", "ac7edbacf25932e6ff55d315a1ab1bb5", Exp, -750, 710},
		{"exp near 0", "7af66d94076688a1be1a33a5590ac35e", Exp, -1, 1},
		{"log", "56140be86af0edab870e62a9d82b7078", Log, 0, 4},
		{"log of large numbers", "e56849a5945cbc01e6407e44447cb098", Log, 0, 1e300},
		{"sigmoid", "10d1aaebbe2aee45ef6d2c4bc5313852", Sigmoid, -30, 30},
		{"cos", "2ea19e26250dddd69ef1769d9bef77ab", Cos, -100, 100},
		{"cos of large numbers", "b9b9cda543d56760646a41f528977fda", Cos, -1e200, 1e200},
		{"square root by pow", "f3a0a25ecdb6d36c86e9faebfde48bad", func(x float64) float64 { return Pow(x, 0.5) }, 0, 1e6},
		{"discounting by pow", "0acfe9655c7a145806fe2211b985254a", func(x float64) float64 { return Pow(1.0001, x) }, -1e6, 1e6},
	} {
		if got := digest(points(c.lo, c.hi), c.f); got != c.want {
			t.Errorf("%s: the digest of the results is %s, want %s", c.name, got, c.want)
		}
	}
}

func digest(x []float64, f func(float64) float64) string {
	h := sha256.New()
	var b [8]byte
	for _, v := range x {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(f(v)))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
