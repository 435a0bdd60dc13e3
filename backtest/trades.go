package backtest

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

type tally struct {
	n                   int
	net, hours, extreme float64
}

func (a *tally) add(net, hours float64) {
	if a.n == 0 || math.Abs(net) > math.Abs(a.extreme) {
		a.extreme = net
	}
	a.n++
	a.net += net
	a.hours += hours
}

// mean is a sum over the trades, or nothing when there are none.
func (a *tally) mean(sum float64) *float64 { return num.Finite(sum / float64(a.n)) }

func (m *Metrics) trades(trades []Trade) {
	var all, wins, losses tally
	for k := range trades {
		t := &trades[k]
		hours := float64(t.ExitTime-t.EntryTime) / 3600
		all.add(t.Net, hours)
		m.CostTotal += t.Costs
		switch {
		case t.Net > 0:
			wins.add(t.Net, hours)
		case t.Net < 0:
			losses.add(t.Net, hours)
		}
	}
	m.TotalTrades, m.WinningTrades, m.LosingTrades = all.n, wins.n, losses.n
	m.WinRate = all.mean(float64(wins.n))
	m.AvgTrade, m.AvgHoldingPeriod = all.mean(all.net), all.mean(all.hours)
	m.AvgWin, m.AvgWinHoldingPeriod = wins.mean(wins.net), wins.mean(wins.hours)
	m.AvgLoss, m.AvgLossHoldingPeriod = losses.mean(losses.net), losses.mean(losses.hours)
	m.LargestWin, m.LargestLoss = extreme(wins), extreme(losses)
	if losses.n > 0 {
		m.ProfitFactor = num.Finite(wins.net / -losses.net)
	}
	m.TradeTStat = tradeTStat(trades)
}

func extreme(a tally) *float64 {
	if a.n == 0 {
		return nil
	}
	return num.Finite(a.extreme)
}

// tradeTStat asks whether the mean net return of a trade on its entry value differs
// from zero. Returns, not money: a growing account would weigh its last trades most.
func tradeTStat(trades []Trade) *float64 {
	if len(trades) < 2 {
		return nil
	}
	n := float64(len(trades))
	var sum, squares float64
	for k := range trades {
		sum += trades[k].Net / trades[k].value()
	}
	mean := sum / n
	for k := range trades {
		d := trades[k].Net/trades[k].value() - mean
		squares += float64(d * d)
	}
	sd := math.Sqrt(squares / (n - 1))
	if sd <= noise*math.Abs(mean) {
		return nil
	}
	return num.Finite(mean / (sd / math.Sqrt(n)))
}
