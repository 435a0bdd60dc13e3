package label

import (
	"errors"

	"github.com/ktrdr/ktrdr/market"
)

// ForwardReturn is a regression on the return over the next Horizon bars:
// (close[t+h] - close[t]) / close[t]. The last h bars are no samples.
type ForwardReturn struct {
	Horizon int
}

// Label makes the labels.
func (f ForwardReturn) Label(b *market.Bars) (*Set, error) {
	if err := atLeast("forward_return", "horizon", f.Horizon, 1); err != nil {
		return nil, err
	}
	n := max(b.Len()-f.Horizon, 0)
	s := newSet(nil, n)
	for t := range n {
		s.addValue(t, forward(b.Close, t, f.Horizon), int32(t+f.Horizon))
	}
	return s, nil
}

func forward(c []float64, t, h int) float64 { return (c[t+h] - c[t]) / c[t] }

// ContextNames name the classes of Context.
var ContextNames = []string{"BULLISH", "BEARISH", "NEUTRAL"}

// Context tells whether the next Horizon bars rise by more than Bullish, fall
// below Bearish (a negative return), or do neither.
type Context struct {
	Horizon          int
	Bullish, Bearish float64
}

// Label makes the labels.
func (c Context) Label(b *market.Bars) (*Set, error) {
	if err := atLeast("context", "horizon", c.Horizon, 1); err != nil {
		return nil, err
	}
	if !(c.Bearish < 0 && c.Bullish > 0) {
		return nil, errors.New("context labels: bearish_threshold must be below 0 and bullish_threshold above")
	}
	n := max(b.Len()-c.Horizon, 0)
	s := newSet(ContextNames, n)
	for t := range n {
		class := int8(2)
		switch r := forward(b.Close, t, c.Horizon); {
		case r > c.Bullish:
			class = 0
		case r < c.Bearish:
			class = 1
		}
		s.addClass(t, class, int32(t+c.Horizon))
	}
	return s, nil
}
