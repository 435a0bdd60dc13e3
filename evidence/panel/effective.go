package panel

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// EffectiveTrials is how many uncorrelated trials spread as much as those of the
// panel: the participation ratio of the eigenvalues of their correlation matrix,
//
//	(Σ λ)² / Σ λ²  =  K² / Σ over all pairs of ρ²
//
// which needs no eigenvalue. Chance alone gives a ρ² of about 1/days, so each ρ² of
// two different trials is lowered by (1-ρ²)/(days-2). The result is bounded by 1 and
// K, the number of trials whose returns vary. It is nil for no such trial, and for
// fewer than FewestDays days.
func EffectiveTrials(p *Panel) *float64 {
	var z [][]float64
	for _, x := range p.Returns {
		if u := unit(x); u != nil {
			z = append(z, u)
		}
	}
	if len(z) == 0 || len(p.Days) < FewestDays {
		return nil
	}
	k, scale := float64(len(z)), 1/float64(len(p.Days)-2)
	total := k // the diagonal
	for i := range z {
		row := 0.0
		j := i + 1
		for ; j+4 <= len(z); j += 4 {
			for _, rho := range products(z[i], z[j], z[j+1], z[j+2], z[j+3]) {
				row += unbiased(rho, scale)
			}
		}
		for ; j < len(z); j++ {
			row += unbiased(products(z[i], z[j], z[j], z[j], z[j])[0], scale)
		}
		total += float64(2 * row)
	}
	if !(total > k) {
		return &k
	}
	return new(max(1, float64(k*k)/total))
}

func unbiased(rho, scale float64) float64 {
	square := float64(rho * rho)
	return square - float64((1-square)*scale)
}

// unit is the returns less their mean, with a length of 1; nil if they do not vary.
func unit(x []float64) []float64 {
	mean, squares, plain := num.Sum(x)/float64(max(len(x), 1)), 0.0, 0.0
	u := make([]float64, len(x))
	for i, v := range x {
		u[i] = v - mean
		squares += float64(u[i] * u[i])
		plain += float64(v * v)
	}
	if !(squares > equal*plain) {
		return nil
	}
	length := math.Sqrt(squares)
	for i := range u {
		u[i] /= length
	}
	return u
}

// products are the inner products of x with four others.
func products(x, a, b, c, d []float64) (out [4]float64) {
	a, b, c, d = a[:len(x)], b[:len(x)], c[:len(x)], d[:len(x)]
	var s0, s1, s2, s3 float64
	for i, v := range x {
		s0 += float64(v * a[i])
		s1 += float64(v * b[i])
		s2 += float64(v * c[i])
		s3 += float64(v * d[i])
	}
	return [4]float64{s0, s1, s2, s3}
}
