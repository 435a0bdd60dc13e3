package backtest

import (
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// Result is a finished run. Its slices have one entry for each bar that was
// run, which is all of them unless Ended is OnRuin.
type Result struct {
	Config  Config  `json:"config"`
	Metrics Metrics `json:"metrics"`
	Ended   Reason  `json:"ended"` // OnEnd or OnRuin

	Trades   []Trade   `json:"trades"`
	Time     []int64   `json:"time"`     // the bars' opening instants; shared with them
	Equity   []float64 `json:"equity"`   // at each close; the last one after the forced exit
	Position []float32 `json:"position"` // units held at each close, negative when short; for drawing, the trades are exact
}

// Backtest runs signals, one for each bar, from the first bar to the last.
func Backtest(bars *market.Bars, signals []Signal, cfg Config) (*Result, error) {
	if len(signals) != bars.Len() {
		return nil, fmt.Errorf("%d signals do not fit %d bars; there must be one for each", len(signals), bars.Len())
	}
	var st RunState
	if err := Run(bars, signals, cfg, &st, bars.Len()); err != nil {
		return nil, err
	}
	return Finish(bars, &st)
}

// Finish leaves an open position at the last close, at full cost, and makes
// the result of a run that has come to its last bar or its ruin. An order
// still pending lapses. The state is used up: the result owns its slices.
func Finish(bars *market.Bars, st *RunState) (*Result, error) {
	n := bars.Len()
	if st.Config == (Config{}) || st.Bar != n && !st.Ruined {
		return nil, fmt.Errorf("the run stands before bar %d of %d; run it to the end first", st.Bar, n)
	}
	if st.Bar < 1 || st.Bar > n || len(st.Equity) != st.Bar || bars.Time[st.Bar-1] != st.LastTime {
		return nil, errors.New("the run was made on other bars than those it is to be finished with")
	}
	if st.Holding.Units != 0 {
		e := newEngine(bars, nil, st, n)
		e.i = n - 1
		e.exit(e.close[e.i], OnEnd)
		e.equity[e.i] = st.Cash
	}
	st.Pending = Hold
	m, err := Measure(st.Equity[min(st.Config.StartBar, st.Bar-1):], st.Trades, BarsPerYear(bars))
	if err != nil {
		return nil, err
	}
	m.UnfilledOrders = st.Unfilled
	m.hold(bars, st.Config)
	r := &Result{
		Config: st.Config, Metrics: m, Ended: OnEnd,
		Trades: st.Trades, Time: bars.Time[:st.Bar:st.Bar], Equity: st.Equity, Position: positions(st.Trades, st.Bar),
	}
	if r.Trades == nil {
		r.Trades = []Trade{} // a list in JSON, even when empty
	}
	if st.Ruined {
		r.Ended = OnRuin
	}
	return r, nil
}

// positions spreads closed trades over n bars: what was held at each close.
func positions(trades []Trade, n int) []float32 {
	p := make([]float32, n)
	for k := range trades {
		t := &trades[k]
		units := float32(t.Quantity) * float32(t.Side)
		for i := t.EntryBar; i < t.ExitBar; i++ {
			p[i] = units
		}
	}
	return p
}

// hold measures what buying everything at the first open that a signal could
// have had, and selling it at the last close, would have made at the same
// costs. A market that begins with its last bar has no such trade.
func (m *Metrics) hold(bars *market.Bars, c Config) {
	first, last := c.StartBar+1, bars.Len()-1
	if first > last {
		return
	}
	paid := bars.Open[first] * (1 + c.friction()) * (1 + c.Commission)
	got := bars.Close[last] * (1 - c.friction()) * (1 - c.Commission)
	rate := got/paid - 1
	if c.CarryLong != 0 {
		rate -= c.CarryFor(Long, bars.Time[last]-bars.Time[first])
	}
	m.BuyAndHoldReturn = num.Finite(rate * c.InitialCapital)
	m.BuyAndHoldReturnPct = num.Finite(rate * percent)
}
