package market_test

import (
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

func TestInCommon_CountsTheSameInstantsAndComparesTheirReturns(t *testing.T) {
	bars := func(times []int64, closes ...float64) *market.Bars {
		b := &market.Bars{Symbol: "X", Timeframe: market.H1}
		for i, c := range closes {
			b.Append(market.Bar{Time: times[i], Open: c, High: c, Low: c, Close: c})
		}
		return b
	}
	a := bars([]int64{1, 2, 3, 5, 6}, 100, 110, 99, 50, 60)
	b := bars([]int64{2, 3, 4, 5, 7}, 10, 12, 77, 6, 9)
	// In common are 2, 3 and 5: returns -10 %, -49.4949 % and 20 %, -50 %.
	n, r := market.InCommon(a, b)
	if n != 3 || math.Abs(r-1) > 1e-9 { // two returns lie on a line
		t.Errorf("%d bars, correlation %v", n, r)
	}
	c := bars([]int64{1, 2, 3, 5, 6}, 100, 90, 99, 150, 130)
	// The returns of a: 10, -10, -49.49, 20 %; of c: -10, 10, 51.52, -13.33 %.
	if n, r := market.InCommon(a, c); n != 5 || math.Abs(r+0.99505534) > 1e-8 {
		t.Errorf("%d bars, correlation %v", n, r)
	}
	if n, r := market.InCommon(a, bars(nil)); n != 0 || r != 0 {
		t.Errorf("nothing in common: %d, %v", n, r)
	}
}
