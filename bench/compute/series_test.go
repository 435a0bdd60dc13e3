//go:build unix

package compute

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/market"
)

// talib is what TA-Lib's own functions cost beside its SMA (C, one million bars),
// for the eight that were measured.
var talib = map[string]float64{
	"sma": 1, "ema": 3.6 / 2.6, "rsi": 7.6 / 2.6, "macd": 3.4 / 2.6, "atr": 6.7 / 2.6,
	"bollingerbands": 6.5 / 2.6, "adx": 16.4 / 2.6, "stochastic": 17.5 / 2.6,
}

// indicators prints what a bar costs, with default parameters, beside sma.
func indicators(b *testing.B) {
	b.Helper()
	bars := market.Synth(market.SynthConfig{Bars: 200_000, Seed: 1})
	yard := computing(b, "sma", bars)
	for _, d := range indicator.Definitions() {
		took := best(9, yard, computing(b, d.Name, bars))
		perBar, ratio := nanoseconds(took[1], bars), took[1].Seconds()/took[0].Seconds()
		beside := ""
		if own, known := talib[d.Name]; known {
			beside = fmt.Sprintf("; TA-Lib %.2f x its own%s", own, aim(ratio <= 1.5*own, fmt.Sprintf("<= %.2f x", 1.5*own)))
		}
		line("indicator "+d.Name, "%6.1f ns/bar = %.2f x sma%s", perBar, ratio, beside)
	}
}

func computing(b *testing.B, name string, bars *market.Bars) func() {
	b.Helper()
	x, err := indicator.New(name, nil)
	check(b, err)
	out := make([][]float64, len(x.Outputs()))
	for i := range out {
		out[i] = make([]float64, bars.Len())
	}
	return func() { x.Compute(bars, out) }
}

func nanoseconds(d time.Duration, bars *market.Bars) float64 {
	return float64(d.Nanoseconds()) / float64(bars.Len())
}

// rules prints what a bar of a backtest without a network costs beside a plain
// loop that does the same trades and keeps the same equity curve.
func rules(b *testing.B) {
	b.Helper()
	bars := market.Synth(market.SynthConfig{Bars: 200_000, Seed: 7})
	signals := crossing(bars)
	for _, c := range []backtest.Config{
		{Commission: 0.0001, Slippage: 0.0001, AllowShort: true, Flip: true},
		{Commission: 0.0001, Slippage: 0.0001, AllowShort: true, Flip: true, StopLoss: 0.002, TakeProfit: 0.004},
	} {
		c.InitialCapital, c.PositionSize = 100_000, 0.25
		var r *backtest.Result
		var p plain
		var st backtest.RunState
		took := best(9,
			func() { st = backtest.RunState{}; check(b, backtest.Run(bars, signals, c, &st, bars.Len())) },
			func() {
				p = plain{cash: c.InitialCapital, config: c, equity: make([]float64, bars.Len())}
				p.run(bars, signals)
			},
			func() { var err error; r, err = backtest.Finish(bars, &st); check(b, err) })
		last := len(p.equity) - 1
		if r.Metrics.TotalTrades != len(p.trades) || math.Abs(p.equity[last]/st.Equity[last]-1) > 1e-9 {
			b.Fatalf("the engine made %d trades and %v, the plain loop %d and %v", r.Metrics.TotalTrades, st.Equity[last], len(p.trades),
				p.equity[last])
		}
		what := "rule backtest"
		if c.StopLoss > 0 {
			what += " with stops"
		}
		line(what, "%6.2f ns/bar, a plain loop %.2f = %.2f x ours; the figures of the result %.2f more; %d trades",
			nanoseconds(took[0], bars), nanoseconds(took[1], bars), took[1].Seconds()/took[0].Seconds(), nanoseconds(took[2], bars), len(p.trades))
	}
}

// crossing is long while a fast mean is above a slow one, else short.
func crossing(b *market.Bars) []backtest.Signal {
	s := make([]backtest.Signal, b.Len())
	fast, slow := b.Close[0], b.Close[0]
	for i, c := range b.Close {
		fast += (c - fast) / 10
		slow += (c - slow) / 50
		switch {
		case i < 50:
		case fast > slow:
			s[i] = backtest.Buy
		default:
			s[i] = backtest.Sell
		}
	}
	return s
}

// plain trades in one loop as anyone would write it, and keeps what the engine
// keeps: the trades with their extremes, and the equity at every close.
type plain struct {
	cash         float64 // all that is not in the position
	side, units  float64 // of the position; 0 for none
	entry        float64
	bar          int
	low, high    float64 // since the entry
	stop, target float64
	config       backtest.Config

	trades []backtest.Trade
	equity []float64
}

func (p *plain) run(b *market.Bars, signals []backtest.Signal) {
	c, pending := p.config, backtest.Hold
	for t := range b.Len() {
		if pending != backtest.Hold {
			if p.side != 0 {
				p.leave(b, t, b.Open[t], backtest.OnSignal)
			}
			p.enter(t, float64(pending), b.Open[t])
			pending = backtest.Hold
		}
		if p.side != 0 {
			p.low, p.high = min(p.low, b.Low[t]), max(p.high, b.High[t])
			if c.StopLoss > 0 {
				p.watch(b, t)
			}
		}
		if t == b.Len()-1 && p.side != 0 {
			p.leave(b, t, b.Close[t], backtest.OnEnd)
		}
		p.equity[t] = p.cash + p.side*p.units*(b.Close[t]-p.entry)
		if s := signals[t]; s != backtest.Hold && float64(s) != p.side {
			pending = s
		}
	}
}

func (p *plain) enter(t int, side, quote float64) {
	c := p.config
	p.side, p.bar, p.low, p.high = side, t, quote, quote
	p.entry = quote * (1 + side*c.Slippage)
	p.units = p.cash * c.PositionSize / (p.entry * (1 + c.Commission))
	p.cash -= c.Commission * p.units * p.entry
	p.stop, p.target = p.entry*(1-side*c.StopLoss), p.entry*(1+side*c.TakeProfit)
}

// watch leaves at the stop, or else the target, if the bar touched it.
func (p *plain) watch(b *market.Bars, t int) {
	if p.side > 0 {
		switch {
		case b.Low[t] <= p.stop:
			p.leave(b, t, min(b.Open[t], p.stop), backtest.OnStop)
		case b.High[t] >= p.target:
			p.leave(b, t, max(b.Open[t], p.target), backtest.OnTarget)
		}
		return
	}
	switch {
	case b.High[t] >= p.stop:
		p.leave(b, t, max(b.Open[t], p.stop), backtest.OnStop)
	case b.Low[t] <= p.target:
		p.leave(b, t, min(b.Open[t], p.target), backtest.OnTarget)
	}
}

func (p *plain) leave(b *market.Bars, t int, quote float64, why backtest.Reason) {
	c := p.config
	price := quote * (1 - p.side*c.Slippage)
	gross, paid := p.side*p.units*(price-p.entry), c.Commission*p.units*price
	p.cash += gross - paid
	costs := paid + c.Commission*p.units*p.entry
	down, up := (p.entry-p.low)/p.entry, (p.high-p.entry)/p.entry
	if p.side < 0 {
		down, up = up, down
	}
	p.trades = append(p.trades, backtest.Trade{
		EntryTime: b.Time[p.bar], ExitTime: b.Time[t], EntryBar: int32(p.bar), ExitBar: int32(t),
		Side: backtest.Side(p.side), Reason: why, Quantity: p.units, EntryPrice: p.entry, ExitPrice: price,
		Gross: gross, Costs: costs, Net: gross - costs, MAE: max(down, 0), MFE: max(up, 0),
	})
	p.side, p.units = 0, 0
}
