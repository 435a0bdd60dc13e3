package backtest

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/market"
)

// oracle is the engine told again, bar by bar, as the package comment tells
// it: no phases, no resuming, the account as the sum of what trades made. It
// is also the plain loop beside which the benchmark puts the engine.
type oracle struct {
	cfg     Config
	bars    *market.Bars
	account float64 // all that closed trades left
	at      Trade   // the open position, if Quantity is not 0
	quote   float64
	paid    float64 // commission of the entry
	lo, hi  float64
	last    int
	held    int // the last bar with a signal in the position's direction
	ruined  bool

	trades []Trade
	equity []float64
}

func newOracle(bars *market.Bars, cfg Config) *oracle {
	cfg, err := cfg.complete()
	if err != nil {
		panic(err)
	}
	return &oracle{cfg: cfg, bars: bars, account: cfg.InitialCapital, last: -1, equity: make([]float64, 0, bars.Len())}
}

func (o *oracle) run(signals []Signal) {
	b, c, pending := o.bars, o.cfg, Hold
	for t := range b.Len() {
		if pending != Hold {
			was := o.at
			if was.Quantity != 0 {
				why := OnSignal
				if pending == timeUp {
					why = OnTime
				}
				o.leave(t, b.Open[t], why)
			}
			if pending != timeUp && !o.ruined && (was.Quantity == 0 || c.Flip && (pending == Buy || c.AllowShort)) {
				o.take(t, Side(pending))
			}
			pending = Hold
		}
		if o.at.Quantity != 0 {
			o.watch(t)
		}
		if t == b.Len()-1 && o.at.Quantity != 0 {
			o.leave(t, b.Close[t], OnEnd)
		}
		o.equity = append(o.equity, o.worth(t, b.Close[t]))
		if o.ruined {
			return
		}
		s := signals[t]
		near := o.last >= 0 && b.Time[t]-b.Time[o.last] < int64(c.MinSeparation/time.Second)
		same := o.at.Quantity != 0 && Signal(o.at.Side) == s
		barred := o.at.Quantity == 0 && s == Sell && !c.AllowShort
		if t >= c.StartBar && !near && !same && !barred {
			pending = s
		}
		if same {
			o.held = t
		}
		if pending == Hold && o.at.Quantity != 0 && c.ExitAfter > 0 && t-o.held >= c.ExitAfter {
			pending = timeUp
		}
	}
}

// worth is the account and what the open position would add to it.
func (o *oracle) worth(t int, price float64) float64 {
	if o.at.Quantity == 0 {
		return o.account
	}
	return o.account + float64(o.at.Side)*o.at.Quantity*(price-o.at.EntryPrice) - o.paid - o.carried(t)
}

// carried is what holding the open position has cost until bar t.
func (o *oracle) carried(t int) float64 {
	rate := o.cfg.CarryLong
	if o.at.Side == Short {
		rate = o.cfg.CarryShort
	}
	years := float64(o.bars.Time[t]-o.at.EntryTime) / (365.25 * 24 * 3600)
	return rate * years * o.at.Quantity * o.at.EntryPrice
}

func (o *oracle) take(t int, side Side) {
	c, quote := o.cfg, o.bars.Open[t]
	price := quote * (1 + float64(side)*(c.Slippage+c.Spread/2))
	most := o.account * c.Leverage / (price * (1 + c.Commission))
	q := o.account * c.PositionSize / (price * (1 + c.Commission))
	switch c.SizeMode {
	case Units:
		q = c.PositionSize
	case Risk:
		q = o.account * c.PositionSize / (price * c.StopLoss)
	}
	q = min(q, most)
	if c.LotSize > 0 {
		q = math.Floor(q/c.LotSize) * c.LotSize
	}
	if q == 0 {
		return
	}
	o.at = Trade{EntryTime: o.bars.Time[t], EntryBar: int32(t), Side: side, Quantity: q, EntryPrice: price}
	o.quote, o.paid, o.lo, o.hi, o.last, o.held = quote, c.Commission*q*price, math.Inf(1), math.Inf(-1), t, t-1
}

// watch looks for the stop, the ruin and the target in bar t: at its open, then
// within it.
func (o *oracle) watch(t int) {
	b, c, side, entry := o.bars, o.cfg, float64(o.at.Side), o.at.EntryPrice
	against, with := b.Low[t], b.High[t]
	if o.at.Side == Short {
		against, with = with, against
	}
	// worse says that price a is no better for the position than price b.
	worse := func(a, b float64) bool { return side*a <= side*b }

	ruin := entry - side*(o.account-o.paid)/o.at.Quantity
	stop, why := ruin, OnRuin
	if c.StopLoss > 0 && worse(ruin, entry*(1-side*c.StopLoss)) {
		stop, why = entry*(1-side*c.StopLoss), OnStop
	}
	target := entry * (1 + side*c.TakeProfit)
	switch {
	case worse(b.Open[t], stop):
		o.leave(t, b.Open[t], why)
	case c.TakeProfit > 0 && worse(target, b.Open[t]):
		o.leave(t, b.Open[t], OnTarget)
	case worse(against, stop):
		o.leave(t, stop, why)
	case c.TakeProfit > 0 && worse(target, with):
		if o.at.Side == Long {
			o.lo = min(o.lo, against)
		} else {
			o.hi = max(o.hi, against)
		}
		o.leave(t, target, OnTarget)
	default:
		o.lo, o.hi = min(o.lo, b.Low[t]), max(o.hi, b.High[t])
	}
}

func (o *oracle) leave(t int, quote float64, why Reason) {
	c, x, side := o.cfg, o.at, float64(o.at.Side)
	friction := c.Slippage + c.Spread/2
	x.ExitTime, x.ExitBar, x.Reason = o.bars.Time[t], int32(t), why
	x.ExitPrice = quote * (1 - side*friction)
	paid := o.paid + c.Commission*x.Quantity*x.ExitPrice + o.carried(t)
	x.Gross = side * x.Quantity * (quote - o.quote)
	x.Net = side*x.Quantity*(x.ExitPrice-x.EntryPrice) - paid
	x.Costs = paid + friction*x.Quantity*(quote+o.quote)
	lo, hi := min(o.lo, quote), max(o.hi, quote)
	x.MAE, x.MFE = max(0, 1-lo/x.EntryPrice), max(0, hi/x.EntryPrice-1)
	if x.Side == Short {
		x.MAE, x.MFE = x.MFE, x.MAE
	}
	o.account += x.Net
	o.trades = append(o.trades, x)
	o.at, o.last = Trade{}, t
	o.ruined = why == OnRuin || o.account <= ruinShare*c.InitialCapital
}

func TestRun_AgreesWithThePlainTelling(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		got, o := d.run(rt), newOracle(d.bars, d.cfg)
		o.run(d.signals)
		if len(got.Trades) != len(o.trades) {
			rt.Fatalf("%d trades, want %d", len(got.Trades), len(o.trades))
		}
		scale := got.Metrics.InitialCapital // of the largest amounts in play
		for _, x := range o.equity {
			scale = max(scale, math.Abs(x))
		}
		scale *= got.Config.Leverage
		for k := range got.Trades {
			compareTrade(rt, k, got.Trades[k], o.trades[k], scale)
		}
		if len(got.Equity) != len(o.equity) {
			rt.Fatalf("a curve of %d bars, want %d", len(got.Equity), len(o.equity))
		}
		for i, want := range o.equity {
			if !near(got.Equity[i], want, 1e-12, scale) {
				rt.Fatalf("equity at bar %d is %v, want %v", i, got.Equity[i], want)
			}
		}
	})
}

func compareTrade(t *rapid.T, k int, got, want Trade, scale float64) {
	g, w := got, want
	for j, x := range g.sums() {
		y := w.sums()[j]
		of := scale
		if j < 3 { // quantity and prices
			of = *y
		}
		if j > 5 { // fractions
			of = 1 + *y
		}
		if !near(*x, *y, 1e-12, of) {
			t.Fatalf("trade %d: %s is %v, want %v", k, tradeSums[j], *x, *y)
		}
		*x, *y = 0, 0
	}
	if g != w {
		t.Fatalf("trade %d is %+v, want %+v", k, got, want)
	}
}
