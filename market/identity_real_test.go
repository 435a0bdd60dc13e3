package market

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// realPairs reads the public currency prices beside the project where they are
// present.
func realPairs(t testing.TB) map[string]*Bars {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "data", "ejtrader")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("kept beside the project: the public data sets")
	}
	all := map[string]*Bars{}
	for name, points := range map[string]float64{
		"AUDUSDh1": 1e5, "EURGBPh1": 1e5, "EURJPYh1": 1e3, "EURUSDd1": 1e5, "EURUSDh4": 1e5,
		"GBPUSDh1": 1e5, "USDCADh1": 1e5, "USDCHFh1": 1e5, "USDJPYh1": 1e3, "XAUUSDh1": 1e2,
	} {
		b, _, err := ReadFile(t.Context(), filepath.Join(dir, name+".csv.gz"), ImportOptions{Symbol: name[:6], Divide: points})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = b
	}
	return all
}

// crossed makes a series of two, where both have a bar.
func crossed(a, b *Bars, cross func(x, y float64) float64) *Bars {
	k := 0
	return altered(a, func(_ int, t int64, c float64) (int64, float64) {
		for k < b.Len() && b.Time[k] < t {
			k++
		}
		if k == b.Len() || b.Time[k] != t {
			return 0, 0
		}
		return t, cross(c, b.Close[k])
	})
}

// viaPound and viaYen are EURUSD made of two other pairs each.
func viaPound(all map[string]*Bars) *Bars {
	return crossed(all["EURGBPh1"], all["GBPUSDh1"], func(x, y float64) float64 { return x * y })
}

func viaYen(all map[string]*Bars) *Bars {
	return crossed(all["EURJPYh1"], all["USDJPYh1"], func(x, y float64) float64 { return x / y })
}

func TestCompare_RealPricesOfOneMarketAreOne(t *testing.T) {
	all := realPairs(t)
	pound, yen, chf := viaPound(all), viaYen(all), all["USDCHFh1"]
	days := func(b *Bars, cut time.Duration) *Bars { return resampled(t, moved(b, by(cut)), D1) }
	for _, c := range []likenessCase{
		{name: "EURUSD by pound and by yen", a: pound, b: yen},
		{name: "EURUSD 4h and by pound", a: all["EURUSDh4"], b: pound},
		{name: "EURUSD 1d and by yen", a: all["EURUSDd1"], b: yen},
		{name: "EURUSD 1d and 4h", a: all["EURUSDd1"], b: all["EURUSDh4"]},
		{
			name: "EURUSD 4h and USDEUR by yen in New York's time", a: all["EURUSDh4"],
			b: moved(altered(yen, func(_ int, t int64, c float64) (int64, float64) { return t, 1 / c }), by(-7*time.Hour)), offset: 7 * time.Hour,
		},
		{name: "a vendor's copy", a: chf, b: noisy(chf, 0.2, 1)},
		{name: "a vendor's copy of days", a: days(noisy(chf, 0.2, 1), 0), b: chf},
		{
			name: "times 1.0001 and rounded", a: chf,
			b: altered(chf, func(_ int, t int64, c float64) (int64, float64) { return t, math.Round(c*1.0001*1e5) / 1e5 }),
		},
		{name: "one bar shorter", a: chf, b: chf.Slice(0, chf.Len()-1)},
		{name: "days of Tokyo", a: chf, b: days(chf, 9*time.Hour), offset: -9 * time.Hour},
		{name: "days of Tokyo and of the broker", a: days(chf, 0), b: days(chf, 9*time.Hour)},
		{name: "the broker's summer time", a: chf, b: moved(chf, summer(t, "Europe/Athens")), offset: -2 * time.Hour},
		{name: "gold in 4 hours", a: all["XAUUSDh1"], b: resampled(t, all["XAUUSDh1"], H4)},
	} {
		c.want = Same
		t.Run(c.name, c.run)
	}
}

func TestCompare_RealMarketsStayApart(t *testing.T) {
	all := realPairs(t)
	all["EURUSDvia"] = viaYen(all)
	for first, a := range all {
		for second, b := range all {
			if first >= second || first[:6] == second[:6] {
				continue
			}
			t.Run(first+" and "+second, func(t *testing.T) {
				l := Compare(NewPrices(a), NewPrices(b))
				t.Logf("%v; %.4f over %d returns in a row", l, l.PartCorrelation, l.Part)
				if l.Identity() != Different {
					t.Error(Match{Series: second, Likeness: l})
				}
			})
		}
	}
}

// TestCompare_RealMarketsStayApartInTheirMostAlikeYears slides over EURUSD and
// USDCHF, which move against each other for years.
func TestCompare_RealMarketsStayApartInTheirMostAlikeYears(t *testing.T) {
	all := realPairs(t)
	chf := NewPrices(all["USDCHFh1"])
	for name, b := range map[string]*Bars{"4h": all["EURUSDh4"], "1h": viaYen(all)} {
		for _, bars := range []int{2010, 3000, 6000} {
			most := Likeness{}
			for i := 0; i+bars <= b.Len(); i += bars / 4 {
				l := Compare(NewPrices(b.Slice(i, i+bars)), chf)
				if l.Shared >= sameReturns && math.Abs(l.Correlation) > math.Abs(most.Correlation) {
					most = l
				}
				if l.Identity() == Same {
					t.Errorf("%s bars from %s on: %v", name, clock(b.Time[i]), l)
				}
			}
			t.Log(fmt.Sprint(bars, " bars: ", most))
		}
	}
}
