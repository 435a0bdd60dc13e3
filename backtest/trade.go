package backtest

import "fmt"

// Side is the direction of a position.
type Side int8

// The sides.
const (
	Long  Side = 1
	Short Side = -1
)

// String is the side's name.
func (s Side) String() string {
	switch s {
	case Long:
		return "long"
	case Short:
		return "short"
	}
	return fmt.Sprintf("Side(%d)", int8(s))
}

// MarshalText writes the side's name.
func (s Side) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a side's name.
func (s *Side) UnmarshalText(b []byte) error {
	for _, side := range []Side{Long, Short} {
		if side.String() == string(b) {
			*s = side
			return nil
		}
	}
	return fmt.Errorf("side %q is neither long nor short", b)
}

// Reason says why a position was left, or why a run ended.
type Reason int8

// The reasons.
const (
	OnSignal Reason = iota // an opposite signal, at the open
	OnStop                 // the stop, within the bar or at its open
	OnTarget               // the target, within the bar or at its open
	OnEnd                  // the last bar, at its close
	OnRuin                 // the equity was used up
	OnTime                 // no signal in its direction for Config.ExitAfter bars, at the open
)

var reasons = [...]string{OnSignal: "signal", OnStop: "stop", OnTarget: "target", OnEnd: "end", OnRuin: "ruin", OnTime: "time"}

func (r Reason) known() bool { return r >= 0 && int(r) < len(reasons) }

// String is the reason's name.
func (r Reason) String() string {
	if r.known() {
		return reasons[r]
	}
	return fmt.Sprintf("Reason(%d)", int8(r))
}

// MarshalText writes the reason's name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a reason's name.
func (r *Reason) UnmarshalText(b []byte) error {
	for i, name := range reasons {
		if name == string(b) {
			*r = Reason(i)
			return nil
		}
	}
	return fmt.Errorf("reason %q is not one of %v", b, reasons)
}

// Trade is a position from its entry to its exit, with all it cost.
//
//	Gross − Costs = Net = what the account gained
//
// EntryPrice and ExitPrice are what was paid: the bar's price with spread and
// slippage. Gross is what the same trade would have made at the bars' own prices;
// Costs is the difference, spread and slippage, the commission of both sides, and what
// holding the position cost.
type Trade struct {
	Symbol     string  `json:"symbol,omitempty"` // of a trade of a portfolio; empty where there is one account
	EntryTime  int64   `json:"entry_time"`       // opening instants of the bars, Unix seconds
	ExitTime   int64   `json:"exit_time"`
	EntryBar   int32   `json:"entry_bar"`
	ExitBar    int32   `json:"exit_bar"`
	Side       Side    `json:"side"`
	Reason     Reason  `json:"reason"`
	Quantity   float64 `json:"quantity"`
	EntryPrice float64 `json:"entry_price"`
	ExitPrice  float64 `json:"exit_price"`
	Gross      float64 `json:"gross"`
	Costs      float64 `json:"costs"`
	Net        float64 `json:"net"`

	// MAE and MFE are how far the price went against and for the position while
	// it was held, as fractions of the entry price, never negative. Of the bar
	// in which a stop or target ended it, only what the order of assumptions
	// allows is counted: not the high of a long that was stopped, not beyond
	// the price at which it was left.
	MAE float64 `json:"mae"`
	MFE float64 `json:"mfe"`
}

// Bars is the number of bars in which the position was held for some time. A
// bar at whose open an order closed it is not one of them.
func (t *Trade) Bars() int {
	n := int(t.ExitBar - t.EntryBar)
	if t.Reason != OnSignal && t.Reason != OnTime {
		n++
	}
	return n
}

func (t *Trade) value() float64 { return t.Quantity * t.EntryPrice }
