package backtest

import (
	"fmt"
	"math"
	"slices"
)

// Prices outside these are no prices, and would overflow quantities.
const (
	leastPrice = 1e-100
	mostPrice  = 1e100
)

// ruinShare is what is left of the capital when nothing is: an account
// that holds only a residue of rounding does not trade.
const ruinShare = 1e-9

func (e *engine) fill() error {
	quote := e.open[e.i]
	if !(quote >= leastPrice && quote <= mostPrice) {
		return fmt.Errorf("bar %d opens at %v, where an order is to be filled; repair the bars", e.i, quote)
	}
	s := e.Pending
	e.Pending = Hold
	if s == timeUp {
		e.exit(quote, OnTime)
		return nil
	}
	if e.Holding.Units != 0 {
		e.exit(quote, OnSignal)
		if e.Ruined || !e.Config.Flip || s == Sell && !e.Config.AllowShort {
			return nil
		}
	}
	e.enter(Side(s), quote)
	return nil
}

func (e *engine) enter(side Side, quote float64) {
	price := float64(quote * (1 + float64(float64(side)*e.friction)))
	q := e.quantity(price)
	if q == 0 {
		e.Unfilled++
		return
	}
	value := float64(q * price)
	commission := float64(value * e.Config.Commission)
	h := Holding{
		Units: float64(side) * q, Bar: e.i, Held: e.i - 1, Quote: quote, Price: price,
		Costs: float64(float64(q*quote)*e.friction) + commission,
		Low:   math.Inf(1), High: math.Inf(-1), // the bar of the entry sets them
	}
	e.Cash -= float64(float64(side)*value) + commission
	h.protect(e.Config, e.Cash)
	e.Holding = h
	e.LastFill = e.i
}

// quantity is how much to buy or sell at a price: never more than leverage
// and equity allow, and a whole number of lots.
func (e *engine) quantity(price float64) float64 {
	c := &e.Config
	spent := price * (1 + c.Commission) // for one unit
	var q float64
	switch c.SizeMode {
	case Fraction:
		q = e.Cash * c.PositionSize / spent
	case Units:
		q = c.PositionSize
	case Risk:
		q = e.Cash * c.PositionSize / (price * c.StopLoss)
	}
	q = min(q, e.Cash*c.Leverage/spent)
	if c.LotSize > 0 {
		q = math.Floor(q/c.LotSize) * c.LotSize
	}
	return q
}

// protect sets the stop and the target. The stop is also where the equity
// would be used up, if that comes first: a broker does not wait for the close.
func (h *Holding) protect(c Config, cash float64) {
	ruin := -cash / h.Units // cash + units × ruin = 0; below zero for a long that was paid in full
	side, long := 1.0, h.Units > 0
	h.Stop, h.Target = 0, math.Inf(1)
	if !long {
		side, h.Stop, h.Target = -1, math.Inf(1), 0
	}
	if c.StopLoss > 0 {
		h.Stop = float64(h.Price * (1 - float64(side*c.StopLoss)))
	}
	if c.TakeProfit > 0 {
		h.Target = float64(h.Price * (1 + float64(side*c.TakeProfit)))
	}
	if long && ruin > h.Stop || !long && ruin < h.Stop {
		h.Stop, h.Ruin = ruin, true
	}
}

func (h *Holding) stopReason() Reason {
	if h.Ruin {
		return OnRuin
	}
	return OnStop
}

// exit leaves the position at the quoted price in bar i and writes the trade.
func (e *engine) exit(quote float64, why Reason) {
	h := e.Holding
	q, side := h.Units, Long
	if h.Units < 0 {
		q, side = -h.Units, Short
	}
	price := float64(quote * (1 - float64(float64(side)*e.friction)))
	commission := float64(float64(q*price) * e.Config.Commission)
	e.Cash += float64(h.Units*price) - commission

	gross := float64(h.Units * (quote - h.Quote))
	costs := h.Costs + float64(float64(q*quote)*e.friction) + commission
	if carry := e.carry(); carry != 0 { // from the opening of the entry's bar to that of this one
		held := float64(carry * float64(e.time[e.i]-e.time[h.Bar]))
		e.Cash -= held
		costs += held
	}
	down, up := (h.Price-min(h.Low, quote))/h.Price, (max(h.High, quote)-h.Price)/h.Price
	if side == Short {
		down, up = up, down
	}
	if len(e.Trades) == cap(e.Trades) {
		e.Trades = slices.Grow(e.Trades, len(e.Trades)+64) // append alone would copy a long list many times
	}
	e.Trades = append(e.Trades, Trade{
		EntryTime: e.time[h.Bar], ExitTime: e.time[e.i], EntryBar: int32(h.Bar), ExitBar: int32(e.i),
		Side: side, Reason: why, Quantity: q, EntryPrice: h.Price, ExitPrice: price,
		Gross: gross, Costs: costs, Net: gross - costs, MAE: max(down, 0), MFE: max(up, 0),
	})
	e.Holding = Holding{}
	e.LastFill = e.i
	e.Ruined = why == OnRuin || e.Cash <= float64(ruinShare*e.Config.InitialCapital)
}
