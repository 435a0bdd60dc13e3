package instrument

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// EventKind is what changed the price of a unit without a gain or a loss of its holder.
type EventKind string

// The kinds of events.
const (
	SplitEvent    EventKind = "split"    // each share became several
	DividendEvent EventKind = "dividend" // was paid out, and the price fell by it
	RollEvent     EventKind = "roll"     // from one contract of a future to the next
)

// Event is such a change. Prices before it are adjusted to those after it.
type Event struct {
	Kind   EventKind
	On     time.Time // the day from which prices are those after it, 00:00 UTC
	Ratio  float64   // of a split: shares after it for one before; of a roll: price of the new contract to that of the old
	Amount float64   // of a dividend: for one share, in the currency of the prices of that day
}

// Factor is what prices before the event are multiplied by. before is the last close
// before it, as it was traded.
func (e Event) Factor(before float64) (float64, error) {
	switch e.Kind {
	case SplitEvent:
		return 1 / e.Ratio, nil
	case RollEvent:
		return e.Ratio, nil
	}
	if !(before > e.Amount) {
		return 0, fmt.Errorf("the dividend of %v on %s is not below the close before it, %v: correct it in %s", e.Amount,
			e.On.Format(time.DateOnly), before, FileName)
	}
	return 1 - e.Amount/before, nil
}

// sortEvents puts events in the order of their days.
func sortEvents(all []Event) {
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.On.Unix(), b.On.Unix()) })
}

// Session says when the market of a venue trades.
type Session struct {
	Zone        *time.Location
	Days        [7]bool       // by time.Weekday
	Open, Close time.Duration // since midnight of the zone; equal: all day
	Holidays    []time.Time   // days on which it is closed, 00:00 UTC
}

// Trades says whether the venue is open at an instant. An opening hour after the closing
// hour means that the session ends on the next day.
func (s *Session) Trades(at time.Time) bool {
	local := at.In(s.Zone)
	since := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute
	day := local
	switch {
	case s.Open == s.Close:
	case s.Open < s.Close && (since < s.Open || since >= s.Close):
		return false
	case s.Open > s.Close && since < s.Close:
		day = local.AddDate(0, 0, -1) // it began the day before
	case s.Open > s.Close && since < s.Open:
		return false
	}
	if !s.Days[day.Weekday()] {
		return false
	}
	date := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	_, closed := slices.BinarySearchFunc(s.Holidays, date, time.Time.Compare)
	return !closed
}

// Carry is what holding a position costs in a year, as a fraction of its value at entry.
// A rate below 0 is paid to the holder.
type Carry struct {
	Long  float64 `json:"carry_long,omitempty"`
	Short float64 `json:"carry_short,omitempty"`
}

// MaxCarry is the highest rate of a year that a file may give.
const MaxCarry = 2.0

// Carry is the sum of swap, funding and borrow costs. Funding is paid by longs to shorts.
func (x Instrument) Carry() Carry {
	return Carry{Long: x.Swap.Long + x.Funding, Short: x.Swap.Short - x.Funding + x.Borrow}
}
