package evidence

import (
	"math"
	"testing"
)

func TestNormCDF_AgreesWithErfcToTwelveDigits(t *testing.T) {
	for x := -37.0; x <= 9; x += 0.0137 {
		got, want := NormCDF(x), math.Erfc(-x/math.Sqrt2)/2
		// Far out the reference loses digits itself: it rounds x/√2 before it
		// squares it.
		limit := 1e-12 * max(1, x*x/50)
		if math.Abs(got-want) > limit*want {
			t.Fatalf("NormCDF(%v) = %v, want %v", x, got, want)
		}
	}
	if NormCDF(0) != 0.5 || NormCDF(math.Inf(1)) != 1 || NormCDF(math.Inf(-1)) != 0 || !math.IsNaN(NormCDF(math.NaN())) {
		t.Error("NormCDF is wrong at 0, an infinity or NaN")
	}
}

func TestNormQuantile_HasThePublishedValues(t *testing.T) {
	for _, c := range []struct{ p, want float64 }{ // Abramowitz and Stegun, table 26.5, and its continuations
		{0.5, 0},
		{0.75, 0.6744897501960817},
		{0.9, 1.2815515655446004},
		{0.95, 1.6448536269514722},
		{0.975, 1.959963984540054},
		{0.99, 2.3263478740408408},
		{0.001, -3.090232306167813},
		{1e-10, -6.361340902404056},
	} {
		if got := NormQuantile(c.p); math.Abs(got-c.want) > 1e-12*max(1, math.Abs(c.want)) {
			t.Errorf("NormQuantile(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

func TestNormQuantile_UndoesTheCDF(t *testing.T) {
	for x := -30.0; x <= 5; x += 0.0371 {
		got := NormQuantile(NormCDF(x))
		limit := 1e-12 * max(1, math.Abs(x))
		if x > 1 { // so close to 1 a probability has few digits left
			limit = 4e-16 / density(x)
		}
		if math.Abs(got-x) > max(limit, 1e-12) {
			t.Fatalf("NormQuantile(NormCDF(%v)) = %v", x, got)
		}
	}
	if !math.IsInf(NormQuantile(0), -1) || !math.IsInf(NormQuantile(1), 1) || !math.IsNaN(NormQuantile(1.1)) ||
		!math.IsNaN(NormQuantile(math.NaN())) {
		t.Error("NormQuantile is wrong at or outside the ends")
	}
}
