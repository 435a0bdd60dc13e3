package evidence

import (
	"math"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/num"
)

// Trades sum up closed trades. Returns are net, on the value of the entry.
type Trades struct {
	Count          int      `json:"count"`
	Wins           int      `json:"wins"`
	Losses         int      `json:"losses"`
	Net            float64  `json:"net"`              // money
	NetWithoutBest float64  `json:"net_without_best"` // what one lucky trade leaves
	Expectancy     *float64 `json:"expectancy"`       // mean return
	Deviation      *float64 `json:"deviation"`
	TStat          *float64 `json:"t_stat"` // of the mean return, against 0
	Best           *float64 `json:"best"`
	Worst          *float64 `json:"worst"`
	LongestWin     int      `json:"longest_winning_run"`
	LongestLoss    int      `json:"longest_losing_run"`
	HeldBars       int      `json:"held_bars"`
	Exposure       *float64 `json:"exposure"`            // share of the bars with a position
	Undefined      string   `json:"undefined,omitempty"` // why there is no t statistic
}

// TradesOf sums up trades made over a number of bars.
func TradesOf(trades []backtest.Trade, bars int) Trades {
	s := Trades{Count: len(trades)}
	returns := make([]float64, 0, len(trades))
	var won, lost int
	best := 0.0
	for k := range trades {
		t := &trades[k]
		s.Net += t.Net
		best = max(best, t.Net)
		s.HeldBars += t.Bars()
		if v := t.Quantity * t.EntryPrice; v > 0 {
			returns = append(returns, t.Net/v)
		}
		switch {
		case t.Net > 0:
			s.Wins++
			won, lost = won+1, 0
		case t.Net < 0:
			s.Losses++
			won, lost = 0, lost+1
		default:
			won, lost = 0, 0
		}
		s.LongestWin, s.LongestLoss = max(s.LongestWin, won), max(s.LongestLoss, lost)
	}
	s.NetWithoutBest = s.Net - best
	if bars > 0 {
		s.Exposure = num.Finite(float64(s.HeldBars) / float64(bars))
	}
	s.spread(returns)
	return s
}

// spread sets what follows from the trades' returns.
func (s *Trades) spread(returns []float64) {
	if len(returns) == 0 {
		s.Undefined = "there are no trades"
		return
	}
	low, high, sum := returns[0], returns[0], 0.0
	for _, v := range returns {
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	s.Best, s.Worst, s.Expectancy = num.Finite(high), num.Finite(low), num.Finite(sum/float64(len(returns)))
	m, err := measure(returns)
	if err != nil {
		s.Undefined = err.Error()
		return
	}
	s.Deviation, s.TStat = num.Finite(m.deviation), num.Finite(m.mean/m.deviation*math.Sqrt(m.n))
}
