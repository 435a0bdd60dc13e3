package evidence

import (
	"errors"
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
)

// WorstMove is how far the price of a symbol is taken to move at most within one bar, gaps included, as
// a fraction of the price at the bar's beginning.
type WorstMove struct {
	Down float64 `json:"down"`
	Up   float64 `json:"up"`
}

// Validate says what is wrong with the bounds.
func (m WorstMove) Validate() error {
	if !(m.Down > 0 && m.Down <= 1 && m.Up > 0 && m.Up <= 100) {
		return fmt.Errorf("the worst move of a bar is %v down and %v up; it must be above 0, at most 1 down and 100 up", m.Down, m.Up)
	}
	return nil
}

// Stake is one bar of an account or of a sum of accounts. All but Return is known before
// the bar. Fractions are of the equity at the close before.
type Stake struct {
	Time     int64   // opening of the bar
	Return   float64 // net of costs
	Exposure float64 // value of the position held, and of the one to be entered
	Loss     float64 // the most that can be lost in the bar
	Gain     float64 // the most that can be gained
}

// StakedAccount is an account that is to be followed bar by bar.
type StakedAccount struct {
	Bars    *market.Bars
	Signals []backtest.Signal
	Config  backtest.Config
	Worst   WorstMove
}

// Stakes trades accounts bar by bar and says what each bar returned and put at stake. The
// first bar is the one after the first decision. An open position stays open: the stakes of
// more bars begin with those of fewer bars, bit for bit.
func Stakes(accounts []StakedAccount) ([]Stake, error) {
	walks := make([]*accountWalk, len(accounts))
	for i, a := range accounts {
		w, err := newAccountWalk(a)
		if err != nil {
			return nil, err
		}
		walks[i] = w
	}
	var all []Stake
	for {
		at := int64(math.MaxInt64)
		for _, w := range walks {
			if t, ok := w.next(); ok {
				at = min(at, t)
			}
		}
		if at == math.MaxInt64 {
			return all, nil
		}
		s, err := stakeAt(walks, at)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
}

// stakeAt moves every account that has a bar at the instant.
func stakeAt(walks []*accountWalk, at int64) (s Stake, err error) {
	before, after := 0.0, 0.0
	s.Time = at
	for _, w := range walks {
		exposure, loss, gain := w.atStake()
		before += w.equity
		if t, ok := w.next(); ok && t == at {
			if err := w.step(); err != nil {
				return s, err
			}
		}
		after += w.equity
		s.Exposure, s.Loss, s.Gain = s.Exposure+exposure, s.Loss+loss, s.Gain+gain
	}
	if before <= 0 { // the money is gone, and nothing is at stake
		return Stake{Time: at}, nil
	}
	s.Return = after/before - 1
	s.Exposure, s.Loss, s.Gain = s.Exposure/before, s.Loss/before, s.Gain/before
	if after == before { // exactly
		s.Return = 0
	}
	return s, nil
}

// accountWalk is an account on its way, one bar after the other.
type accountWalk struct {
	StakedAccount
	state  backtest.RunState
	equity float64
	side   float64 // cost of a side, as a rate of its value
}

func newAccountWalk(a StakedAccount) (*accountWalk, error) {
	if err := a.Worst.Validate(); err != nil {
		return nil, err
	}
	if a.Bars.Len() != len(a.Signals) {
		return nil, errors.New("there must be one signal for each bar")
	}
	if err := a.Config.Validate(); err != nil {
		return nil, err
	}
	w := &accountWalk{StakedAccount: a, side: a.Config.Commission + a.Config.Slippage + float64(a.Config.Spread/2)}
	until := min(a.Config.StartBar+1, a.Bars.Len()) // the first decision, which trades nothing yet
	if err := backtest.Run(a.Bars, a.Signals, a.Config, &w.state, until); err != nil {
		return nil, err
	}
	w.Config = w.state.Config
	w.equity = w.state.Cash
	return w, nil
}

// next is the opening of the next bar.
func (w *accountWalk) next() (int64, bool) {
	if w.state.Bar >= w.Bars.Len() || w.state.Ruined {
		return 0, false
	}
	return w.Bars.Time[w.state.Bar], true
}

func (w *accountWalk) step() error {
	if err := backtest.Run(w.Bars, w.Signals, w.Config, &w.state, w.state.Bar+1); err != nil {
		return err
	}
	w.equity = w.state.Equity[len(w.state.Equity)-1]
	return nil
}

// atStake is the value of what is held and of what is to be entered, and the most that can be lost
// and gained in the next bar, in money. A stop-loss is no bound: a price may jump over it.
func (w *accountWalk) atStake() (exposure, loss, gain float64) {
	if w.state.Ruined || w.equity <= 0 {
		return 0, 0, 0
	}
	if units := w.state.Holding.Units; units != 0 {
		exposure = math.Abs(units) * w.Bars.Close[w.state.Bar-1]
		loss, gain = w.moves(exposure, units > 0, 1)
		l, g := w.carried()
		loss, gain = loss+l, gain+g
	}
	if w.state.Pending == backtest.Hold || exposure > 0 && !w.enters() {
		return exposure, loss, gain
	}
	value := float64((w.equity + gain) * w.size())
	l, g := w.moves(value, w.state.Pending == backtest.Buy, 2)
	return exposure + value, loss + l, gain + g
}

// carried is what holding the position costs or earns until the next bar opens.
func (w *accountWalk) carried() (loss, gain float64) {
	h, side := w.state.Holding, backtest.Long
	if h.Units < 0 {
		side = backtest.Short
	}
	k := w.state.Bar
	if k >= w.Bars.Len() {
		return 0, 0
	}
	c := float64(math.Abs(h.Units)*h.Price) * w.Config.CarryFor(side, w.Bars.Time[k]-w.Bars.Time[k-1])
	return max(c, 0), max(-c, 0)
}

// enters says whether the order enters a position after it has left one.
func (w *accountWalk) enters() bool {
	return w.Config.Flip && (w.state.Pending == backtest.Buy || w.state.Pending == backtest.Sell && w.Config.AllowShort)
}

// moves is what the worst and the best move of a price do to a position, with the costs of its sides.
func (w *accountWalk) moves(value float64, long bool, sides float64) (loss, gain float64) {
	against, with := w.Worst.Down, w.Worst.Up
	if !long {
		against, with = with, against
	}
	costs := float64(float64(float64(value*w.side)*sides) * (1 + w.Worst.Up))
	return float64(value*against) + costs, float64(value * with)
}

// size is the largest value of an entry, as a multiple of the equity.
func (w *accountWalk) size() float64 {
	c := &w.Config
	switch c.SizeMode {
	case backtest.Fraction:
		return min(c.PositionSize, c.Leverage)
	case backtest.Risk:
		return min(c.PositionSize/c.StopLoss, c.Leverage)
	}
	return c.Leverage // the price at which the units are bought is not known
}
