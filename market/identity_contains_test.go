package market

import "testing"

// TestContains_ComparesPrices: neither the same times nor likeness in a part
// make a series contained.
func TestContains_ComparesPrices(t *testing.T) {
	b, other := from2015(H1, 12_000, 1), from2015(H1, 12_000, 2)
	hidden := func(from, to int) *Bars {
		return altered(b, func(i int, t int64, c float64) (int64, float64) {
			if i >= from && i < to {
				c = other.Close[i]
			}
			return t, c
		})
	}
	for _, c := range []struct {
		name         string
		longer, part *Bars
		want         bool
	}{
		{"itself", b, b, true},
		{"a part", b, b.Slice(3000, 9000), true},
		{"the whole in a part", b.Slice(3000, 9000), b, false},
		{"a bar more", b.Slice(0, 11_999), b, true},
		{"2% more", b.Slice(0, 11_760), b, false},
		{"other prices at the same times", other, b, false},
		{"other prices for a while", hidden(5000, 5500), b, false},
		{"the rest of those", hidden(5000, 5500), b.Slice(6000, 12_000), true},
		{"another timeframe", b, resampled(t, b, H4), false},
		{"later", b.Slice(0, 5000), b.Slice(6000, 12_000), false},
		{"no bars", b, b.Slice(0, 0), false},
	} {
		if got := Contains(NewPrices(c.longer), NewPrices(c.part)); got != c.want {
			t.Errorf("%s: contained is %v, want %v", c.name, got, c.want)
		}
	}
}
