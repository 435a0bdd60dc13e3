package label

import "github.com/ktrdr/ktrdr/market"

// Zigzag labels the legs between turning points of the close: BUY on the bars
// of a rising leg, SELL on those of a falling one, HOLD on the turning points
// themselves. A turning point is an extreme from which the close has since
// moved by Threshold (a fraction) the other way, and is known only then:
//
//	        pivot
//	       ╱‾╲   ← Threshold below the pivot: now it is known
//	  BUY ╱   ╲ SELL
//	pivot╱     ╲
//
// Bars after the last known turning point are no samples: their leg may still
// turn. A label looks as far as the bar that makes the end of its leg known.
type Zigzag struct {
	Threshold float64
}

// Label makes the labels.
func (z Zigzag) Label(b *market.Bars) (*Set, error) {
	if err := positive("zigzag", "zigzag_threshold", z.Threshold); err != nil {
		return nil, err
	}
	turns := pivots(b.Close, 0, func(int) float64 { return z.Threshold })
	s := newSet(SignalNames, b.Len())
	for k, p := range turns {
		s.addClass(int(p.at), Hold, p.known)
		if k+1 == len(turns) {
			break
		}
		next := turns[k+1]
		class := Sell
		if next.high {
			class = Buy
		}
		for t := p.at + 1; t < next.at; t++ {
			s.addClass(int(t), class, next.known)
		}
	}
	return s, nil
}

type pivot struct {
	at    int32 // its bar
	known int32 // the bar by which it is known
	high  bool
}

// pivots finds the turning points of x from bar start on. The threshold may
// differ from bar to bar; it is asked at the bar that is being looked at. The
// first pivot is the start itself, known once a direction is.
func pivots(x []float64, start int, threshold func(i int) float64) []pivot {
	var found []pivot
	extreme, up := start, false
	for i := start + 1; i < len(x); i++ {
		change := (x[i] - x[extreme]) / x[extreme]
		th := threshold(i)
		switch {
		case len(found) == 0: // no direction yet
			if change >= th || change <= -th {
				up = change > 0
				found = append(found, pivot{at: int32(start), known: int32(i), high: !up})
				extreme = i
			}
		case up && change > 0, !up && change < 0:
			extreme = i
		case up && change <= -th, !up && change >= th:
			found = append(found, pivot{at: int32(extreme), known: int32(i), high: up})
			extreme, up = i, !up
		}
	}
	return found
}
