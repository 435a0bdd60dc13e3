package backtest

import (
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr/market"
)

// RunState is a run between two bars: all that the bars to come need from the
// bars gone by. The zero State is a run that has not begun. It may be stored at
// any bar with MarshalBinary; a run that resumes from what UnmarshalBinary
// read ends with the same bits as one that was never interrupted.
//
//	zero ──Run──▶ Bar = until ──Run──▶ … ──▶ Bar = all ──Finish──▶ Result
//	                 │
//	                 └─ Ruined: no bar follows ──Finish──▶ Result
type RunState struct {
	Config Config // with its defaults filled in; zero before the first Run
	Bar    int    // the next bar, and the number of bars done

	Cash    float64 // the account's balance; equity is Cash + Holding.Units × close
	Holding Holding
	Pending Signal // decided at the last close, to be filled at the next open

	LastFill int // bar of the last fill, -1 before the first
	Unfilled int // orders that came to no unit
	Ruined   bool
	LastTime int64 // of bar Bar-1: a state does not resume with other bars

	Trades []Trade
	Equity []float64 // at each close so far
}

// Holding is the open position, if any.
type Holding struct {
	Units float64 // negative when short, 0 when flat
	Bar   int     // where it was entered
	Held  int     // the last bar with a signal in its direction
	Quote float64 // the bar's price at entry
	Price float64 // what was paid
	Costs float64 // of the entry

	Stop   float64 // the price at which it is left with a loss; without a stop one that is never reached
	Ruin   bool    // the stop is where the equity is used up, not the configured one
	Target float64 // the price at which it is left with a gain; without a target one that is never reached

	Low, High float64 // extremes since the entry
}

// begin readies the state for a run over bars up to until.
func (st *RunState) begin(cfg Config, bars *market.Bars, until int) error {
	n := bars.Len()
	if until < 0 || until > n {
		return fmt.Errorf("run until bar %d: there are %d bars", until, n)
	}
	if cfg.StartBar >= n {
		return fmt.Errorf("start_bar is %d, but there are only %d bars", cfg.StartBar, n)
	}
	if st.Config == (Config{}) {
		*st = RunState{Config: cfg, Cash: cfg.InitialCapital, LastFill: -1, Equity: make([]float64, 0, n)}
		return nil
	}
	if st.Config != cfg {
		return errors.New("the run was begun with another configuration; start it again from its first bar")
	}
	if st.Bar > n || st.Bar > 0 && bars.Time[st.Bar-1] != st.LastTime {
		return fmt.Errorf("the run was begun on other bars: its bar %d opened at %d; start it again from its first bar", st.Bar-1, st.LastTime)
	}
	return nil
}

// grow makes room in the curve for the bars up to until.
func (st *RunState) grow(until, all int) {
	if cap(st.Equity) < until {
		longer := make([]float64, len(st.Equity), all)
		copy(longer, st.Equity)
		st.Equity = longer
	}
	st.Equity = st.Equity[:until]
}
