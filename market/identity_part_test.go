package market

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// spliced copies a series whose first bars are those of a foreign series at the
// same times.
func spliced(b *Bars, foreign func(i int) float64, bars int) *Bars {
	return altered(b, func(i int, t int64, c float64) (int64, float64) {
		if i < bars {
			c = foreign(i)
		}
		return t, c
	})
}

// TestCompare_RecognisesCopiesWithAForeignBeginning replaces the beginning of a
// copy by a random walk or by one price.
func TestCompare_RecognisesCopiesWithAForeignBeginning(t *testing.T) {
	base, minutes := from2015(H1, 12_000, 1), from2015(M1, 60_000, 5)
	for _, percent := range []int{5, 20, 40, 60, 75} {
		for _, b := range []*Bars{base, minutes} {
			other, bars := from2015(b.Timeframe, b.Len(), 77), b.Len()*percent/100
			walk := spliced(b, func(i int) float64 { return other.Close[i] }, bars)
			flat := spliced(b, func(int) float64 { return b.Close[0] }, bars)
			inverse := altered(walk, func(_ int, t int64, c float64) (int64, float64) { return t, 1 / c })
			for _, c := range []likenessCase{
				{name: "a random walk", a: b, b: walk},
				{name: "one price", a: b, b: flat},
				{name: "a random walk, inverted", a: b, b: inverse},
				{name: "a random walk, 7 hours behind", a: b, b: moved(walk, by(-7*time.Hour)), offset: 7 * time.Hour},
			} {
				c.want = Same
				t.Run(fmt.Sprintf("%s %d%% %s", b.Timeframe, percent, c.name), c.run)
			}
		}
	}
	europe := summer(t, "Europe/Athens")
	other := from2015(H1, base.Len(), 77)
	walk := spliced(base, func(i int) float64 { return other.Close[i] }, 6000)
	likenessCase{a: base, b: moved(walk, europe), want: Same, offset: -2 * time.Hour}.run(t)
}

// TestCompare_AsksAboutAPartThatIsAlmostACopy: a copy with noise after a foreign
// beginning is for the user to decide, and the sentence names the part.
func TestCompare_AsksAboutAPartThatIsAlmostACopy(t *testing.T) {
	base := from2015(H1, 12_000, 1)
	other := from2015(H1, base.Len(), 77)
	rough := noisy(base, 0.5, 4)
	b := spliced(rough, func(i int) float64 { return other.Close[i] }, 5000)
	l := Compare(NewPrices(base), NewPrices(b))
	if l.Identity() != Ask {
		t.Fatalf("%v: %v", l.Identity(), l)
	}
	s := Match{Series: "EURUSD 1h", Likeness: l}.String()
	if !strings.HasPrefix(s, "possibly the same market as EURUSD 1h: returns correlate 0.") || !strings.Contains(s, " of them in a row") ||
		strings.Contains(s, "too few") {
		t.Error(s)
	}
}

// TestCompare_RealCopiesWithAForeignBeginning does the same to real prices: the
// foreign beginning is another market.
func TestCompare_RealCopiesWithAForeignBeginning(t *testing.T) {
	all := realPairs(t)
	chf, pound := all["USDCHFh1"], all["GBPUSDh1"]
	for _, percent := range []int{5, 30, 60, 90} {
		n := min(chf.Len(), pound.Len())
		b := spliced(chf.Slice(0, n), func(i int) float64 { return pound.Close[i] }, n*percent/100)
		likenessCase{a: chf, b: b, want: Same}.run(t)
		if l := Compare(NewPrices(pound), NewPrices(b)); math.Abs(l.Correlation) > sameCorrelation && percent < 90 {
			t.Errorf("%d%% of GBPUSD: %v", percent, l)
		}
	}
}
