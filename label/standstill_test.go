package label_test

import (
	"testing"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
)

// stalled moves for some bars and then stands still.
func stalled(moving, still int) *market.Bars {
	b := walk(moving, 5)
	price := b.Close[moving-1]
	for i := range still {
		b.Append(market.Bar{Time: int64(moving+i) * 3600, Open: price, High: price, Low: price, Close: price, Volume: 1})
	}
	return b
}

// In a standstill the volatility decays and is never 0. Where the barriers have come so
// near that they round to the close, touching them says nothing.
func TestTripleBarrier_AStandstillIsNoSample(t *testing.T) {
	const moving, still, holding = 50, 3000, 10
	b := stalled(moving, still)
	for _, vol := range []label.Volatility{label.RangeVolatility, label.ReturnVolatility} {
		s, err := label.TripleBarrier{Target: 1, Stop: 1, Holding: holding, Span: 20, Volatility: vol}.Label(b)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range s.Row {
			if row >= moving && s.Class[i] != label.Hold {
				t.Fatalf("volatility %d: bar %d of a standstill has class %d", vol, row, s.Class[i])
			}
		}
		if last := s.Row[len(s.Row)-1]; last > moving+1500 {
			t.Errorf("volatility %d: bar %d is still a sample, %d bars into the standstill", vol, last, last-moving)
		}
	}
}

// A market that hardly ever moves has a median range of 0: no move is a turning point
// then, and none of its bars is a sample.
func TestRegime_WithoutAMedianRange(t *testing.T) {
	b := stalled(40, 4000)
	for i := 100; i < b.Len(); i += 200 { // one bar in 200 moves, back and forth
		price := b.Close[i] * (1 + 0.001*float64(1-i/200%2*2))
		b.High[i], b.Low[i], b.Close[i] = max(price, b.High[i]), min(price, b.Low[i]), price
	}
	s, err := label.Regime{Macro: 3, Micro: 1, ATRPeriod: 14, Lookback: 40, Crisis: 1.6, Tolerance: 0.5}.Label(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range s.Row {
		if row > 200 {
			t.Fatalf("bar %d is a sample, and the median range has been 0 for long", row)
		}
	}
}
