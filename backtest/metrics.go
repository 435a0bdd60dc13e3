package backtest

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// Metrics are the figures of a run. Money is in the account's currency; names
// in _pct are percentages, other rates are fractions; what is undefined (a
// Sharpe ratio without variance, a profit factor without losses) is null, never
// a number that looks like one. Everything per year uses the bars that the
// series really has in a year.
type Metrics struct {
	Bars        int      `json:"bars"`          // from the first that could decide
	BarsPerYear *float64 `json:"bars_per_year"` // measured: see BarsPerYear

	InitialCapital   float64  `json:"initial_capital"`
	FinalEquity      float64  `json:"final_equity"` // after the forced exit
	TotalReturn      float64  `json:"total_return"`
	TotalReturnPct   float64  `json:"total_return_pct"`
	AnnualizedReturn *float64 `json:"annualized_return"` // compound

	BuyAndHoldReturn    *float64 `json:"buy_and_hold_return"` // same capital and costs, from the first open to the last close
	BuyAndHoldReturnPct *float64 `json:"buy_and_hold_return_pct"`

	// Of the returns from close to close; deviations divide by n-1.
	Volatility *float64 `json:"volatility"`
	Sharpe     *float64 `json:"sharpe_ratio"`
	Sortino    *float64 `json:"sortino_ratio"` // over the root mean square of the negative returns, the others counting as 0
	Skew       *float64 `json:"skew"`
	Kurtosis   *float64 `json:"kurtosis"` // 3 for a normal distribution

	MaxDrawdown         float64  `json:"max_drawdown"`          // deepest fall below the highest equity until then
	MaxDrawdownPct      float64  `json:"max_drawdown_pct"`      // deepest in proportion to that height; may be another fall
	MaxDrawdownDuration int      `json:"max_drawdown_duration"` // longest stretch of bars below an earlier height
	Calmar              *float64 `json:"calmar_ratio"`          // annualized return over the proportional drawdown
	RecoveryFactor      *float64 `json:"recovery_factor"`       // total return over the drawdown

	TotalTrades    int      `json:"total_trades"`
	WinningTrades  int      `json:"winning_trades"` // net of all costs above 0
	LosingTrades   int      `json:"losing_trades"`  // below 0
	UnfilledOrders int      `json:"unfilled_orders"`
	WinRate        *float64 `json:"win_rate"`
	ProfitFactor   *float64 `json:"profit_factor"`
	AvgTrade       *float64 `json:"avg_trade"`
	AvgWin         *float64 `json:"avg_win"`
	AvgLoss        *float64 `json:"avg_loss"` // negative
	LargestWin     *float64 `json:"largest_win"`
	LargestLoss    *float64 `json:"largest_loss"` // negative
	TradeTStat     *float64 `json:"trade_t_stat"` // of the net returns on the entry values, against 0

	AvgHoldingPeriod     *float64 `json:"avg_holding_period"` // hours, from bar to bar
	AvgWinHoldingPeriod  *float64 `json:"avg_win_holding_period"`
	AvgLossHoldingPeriod *float64 `json:"avg_loss_holding_period"`

	Exposure  *float64 `json:"exposure"`   // share of the bars with a position; of a portfolio the mean of its accounts
	Turnover  *float64 `json:"turnover"`   // traded value, entries and exits, over the mean equity
	CostTotal float64  `json:"cost_total"` // commission, spread and slippage
}

const percent = 100

// Measure computes the figures from the equity at each close, which begins
// with the capital before the first trade, from the closed trades, and from
// the number of bars in a year, 0 if unknown. What needs prices is left null.
func Measure(equity []float64, trades []Trade, barsPerYear float64) (Metrics, error) {
	if len(equity) == 0 {
		return Metrics{}, fmt.Errorf("metrics: the equity curve is empty")
	}
	for i, x := range [2]float64{equity[0], equity[len(equity)-1]} {
		if !finite(x) || i == 0 && x <= 0 {
			return Metrics{}, fmt.Errorf("metrics: the equity curve goes from %v to %v; it must begin above 0 and hold numbers only", equity[0], x)
		}
	}
	r := newMoments(equity)
	if !finite(r.Mean) {
		at := "some bar" // numbers all, but too far apart for a return
		if i := notFinite(equity); i >= 0 {
			at = fmt.Sprintf("bar %d of the curve", i)
		}
		return Metrics{}, fmt.Errorf("metrics: the equity at %s is not a number; check the bars there", at)
	}
	m := Metrics{Bars: len(equity), InitialCapital: equity[0], FinalEquity: equity[len(equity)-1]}
	if barsPerYear > 0 {
		m.BarsPerYear = num.Finite(barsPerYear)
	}
	m.TotalReturn = m.FinalEquity - m.InitialCapital
	m.TotalReturnPct = m.TotalReturn / m.InitialCapital * percent
	m.returns(r, barsPerYear)
	m.drawdown(equity)
	m.trades(trades)
	if periods := len(equity) - 1; periods > 0 {
		held := 0
		for k := range trades {
			held += trades[k].Bars()
		}
		m.Exposure = num.Finite(float64(held) / float64(periods))
	}
	m.turnover(equity, trades)
	return m, nil
}

func (m *Metrics) returns(r moments, barsPerYear float64) {
	if r.N < 1 {
		return
	}
	if barsPerYear > 0 {
		years := float64(r.N) / barsPerYear
		switch growth := m.FinalEquity / m.InitialCapital; {
		case growth <= 0:
			m.AnnualizedReturn = num.Finite(-1)
		default:
			m.AnnualizedReturn = num.Finite(num.Exp(num.Log(growth)/years) - 1)
		}
	}
	if r.N < 2 {
		return
	}
	sd, year := r.Deviation(), math.Sqrt(barsPerYear)
	if barsPerYear > 0 {
		m.Volatility = num.Finite(sd * year)
	}
	if !r.vary() {
		return
	}
	m.Skew, m.Kurtosis = num.Finite(r.Skew()), num.Finite(r.Kurtosis())
	if barsPerYear <= 0 {
		return
	}
	m.Sharpe = num.Finite(r.Mean / sd * year)
	if down := r.downside(); down > 0 {
		m.Sortino = num.Finite(r.Mean / down * year)
	}
}

// drawdown sets the falls below the running peak, and what is divided by them.
func (m *Metrics) drawdown(equity []float64) {
	peak, at := equity[0], 0
	var deepest, worst float64
	for i, x := range equity {
		if x >= peak {
			peak, at = x, i
			continue
		}
		fall := peak - x
		deepest = max(deepest, fall)
		if fall > float64(worst*peak) {
			worst = fall / peak
		}
		m.MaxDrawdownDuration = max(m.MaxDrawdownDuration, i-at)
	}
	m.MaxDrawdown, m.MaxDrawdownPct = deepest, worst*percent
	if deepest == 0 {
		return
	}
	m.RecoveryFactor = num.Finite(m.TotalReturn / deepest)
	if m.AnnualizedReturn != nil {
		m.Calmar = num.Finite(*m.AnnualizedReturn / worst)
	}
}

func (m *Metrics) turnover(equity []float64, trades []Trade) {
	var sum, traded float64
	for _, x := range equity {
		sum += x
	}
	for k := range trades {
		t := &trades[k]
		traded += float64(t.Quantity*t.EntryPrice) + float64(t.Quantity*t.ExitPrice)
	}
	if mean := sum / float64(len(equity)); mean > 0 {
		m.Turnover = num.Finite(traded / mean)
	}
}

// moments are those of a curve's returns from one close to the next.
type moments struct {
	num.Moments

	negative float64 // sum of squares of the negative returns
}

// newMoments goes through the curve twice, first for the mean. Both passes run at the pace of the division.
func newMoments(equity []float64) (r moments) {
	if len(equity) < 2 {
		return r
	}
	var sum, negative float64
	last := equity[0]
	for _, x := range equity[1:] {
		v := change(last, x)
		sum += v
		loss := (v - math.Abs(v)) / 2 // v if negative, else 0, without a branch that cannot be predicted
		negative += float64(loss * loss)
		last = x
	}
	r.Mean, r.negative = sum/float64(len(equity)-1), negative
	last = equity[0]
	for _, x := range equity[1:] {
		r.Add(change(last, x))
		last = x
	}
	return r
}

// change is the return from one equity to the next. What is not above zero cannot earn a return.
func change(from, to float64) float64 {
	if from <= 0 {
		return 0
	}
	return (to - from) / from
}

// noise is the deviation, in proportion to the mean, that rounding alone can
// give to returns that are all the same.
const noise = 1e-9

// vary says whether the returns differ by more than rounding.
func (r *moments) vary() bool { return r.N > 1 && r.Deviation() > noise*math.Abs(r.Mean) }

func (r *moments) downside() float64 { return math.Sqrt(r.negative / float64(r.N-1)) }

const (
	yearSeconds = 365.25 * 24 * 3600
	// enough is the least span, in seconds, that shows how many bars a market
	// has in a year: four weeks, so that weekends are in it.
	enough = 28 * 24 * 3600
)

// BarsPerYear is how many bars the series has in a year of 365.25 days,
// measured by its own timestamps, so that weekends, nights and holidays count
// as what they are: hourly bars of a stock are not hourly bars of a currency.
// A series shorter than four weeks does not show that; for it the figure is
// what the timeframe gives around the clock, and 0 if it has no timeframe.
func BarsPerYear(b *market.Bars) float64 {
	n := b.Len()
	if n > 1 {
		if span := b.Time[n-1] - b.Time[0]; span >= enough {
			return float64(n-1) / float64(span) * yearSeconds
		}
	}
	if b.Timeframe == market.Mo1 {
		return 12
	}
	if length := b.Timeframe.End(0); length > 0 {
		return yearSeconds / float64(length)
	}
	return 0
}
