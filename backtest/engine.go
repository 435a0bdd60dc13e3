package backtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// Run carries a run to bar until, which is excluded, or to its ruin. It
// needs the signals and the bars up to there, the bars complete. The state may
// be fresh, or come from an earlier Run with the same configuration and bars,
// through storage or not: how a run is cut into calls leaves no trace.
//
// After an error the state must not be used.
func Run(bars *market.Bars, signals []Signal, cfg Config, st *RunState, until int) error {
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	if err := checkColumns(bars); err != nil {
		return err
	}
	if err := st.begin(cfg, bars, until); err != nil {
		return err
	}
	if st.Ruined || st.Bar >= until {
		return nil
	}
	if len(signals) < until {
		return fmt.Errorf("run until bar %d: there are only %d signals", until, len(signals))
	}
	if err := checkSignals(signals, st.Bar, until); err != nil {
		return err
	}
	st.grow(until, bars.Len())
	e := newEngine(bars, signals, st, until)
	if err := e.run(); err != nil {
		return err
	}
	if bad := notFinite(st.Equity[st.Bar:e.i]); bad >= 0 {
		return fmt.Errorf("the equity at bar %d is not a number; check the prices there and before", st.Bar+bad)
	}
	st.Bar, st.Equity, st.LastTime = e.i, st.Equity[:e.i], bars.Time[e.i-1]
	return nil
}

// notFinite is the index of the first NaN or infinity, or -1.
func notFinite(xs []float64) int {
	return slices.IndexFunc(xs, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

func checkColumns(b *market.Bars) error {
	n := b.Len()
	if n == 0 {
		return fmt.Errorf("bars of %s: there are none", b.Symbol)
	}
	if n > math.MaxInt32 {
		return fmt.Errorf("bars of %s: %d are more than a run can number; take a part of them", b.Symbol, n)
	}
	if len(b.Open) != n || len(b.High) != n || len(b.Low) != n || len(b.Close) != n {
		return fmt.Errorf("bars of %s: the columns have different lengths", b.Symbol)
	}
	return nil
}

func checkSignals(signals []Signal, from, until int) error {
	for i, s := range signals[from:until] {
		if s < Sell || s > Buy {
			return fmt.Errorf("signal %d at bar %d is not one of %d, %d and %d", s, from+i, Sell, Hold, Buy)
		}
	}
	return nil
}

// engine is one call of Run. It goes from phase to phase, flat, long or short,
// each a tight loop over bars in which nothing happens but marking; the broker
// does what happens in between.
type engine struct {
	*RunState
	time                           []int64
	open, high, low, close, equity []float64
	signals                        []Signal

	i, until   int
	friction   float64
	separation int64 // seconds
}

func newEngine(b *market.Bars, signals []Signal, st *RunState, until int) *engine {
	return &engine{
		RunState: st, i: st.Bar, until: until,
		time: b.Time, open: b.Open, high: b.High, low: b.Low, close: b.Close, equity: st.Equity, signals: signals,
		friction: st.Config.friction(), separation: int64(st.Config.MinSeparation / time.Second),
	}
}

func (e *engine) run() error {
	for warm := min(e.Config.StartBar, e.until); e.i < warm; e.i++ {
		e.equity[e.i] = e.Cash
	}
	for e.i < e.until && !e.Ruined {
		if e.Pending != Hold {
			if err := e.fill(); err != nil {
				return err
			}
		}
		switch {
		case e.Ruined:
		case e.Holding.Units == 0:
			e.flat()
		case e.Holding.Units > 0:
			e.long()
		default:
			e.short()
		}
		if e.Ruined {
			e.equity[e.i] = e.Cash
			e.i++
		}
	}
	return nil
}

// flat marks bars until one decides to enter.
func (e *engine) flat() {
	from, cash := e.i, e.Cash
	signals := e.signals[from:e.until]
	equity := e.equity[from:e.until][:len(signals)]
	floor := Sell // a signal below it enters
	if e.Config.AllowShort {
		floor = Hold
	}
	for k, s := range signals {
		equity[k] = cash
		if s > Hold || s < floor {
			e.i = from + k + 1
			e.decide(s)
			return
		}
	}
	e.i = e.until
}

// long marks bars until a stop, a target or a Sell. The stop can only be
// reached by a new low and the target only by a new high, so that keeping the
// extremes costs no comparison more than watching the two prices. The open is
// asked only about a bar that touched one of them: it came first, and decides.
func (e *engine) long() {
	from, h := e.i, &e.Holding
	closes := e.close[from:e.until]
	high, low := e.high[from:e.until][:len(closes)], e.low[from:e.until][:len(closes)]
	equity, signals := e.equity[from:e.until][:len(closes)], e.signals[from:e.until][:len(closes)]
	cash, units, stop, target, lo, hi := e.Cash, h.Units, h.Stop, h.Target, h.Low, h.High
	held, most := h.Held-from, e.patience()
	carry, since := e.carry(), e.time[from:e.until][:len(closes)]
	for k, c := range closes {
		if x := low[k]; x < lo {
			if x <= stop {
				h.Low, h.High, e.i = lo, hi, from+k
				if e.open[e.i] >= target {
					e.exit(e.open[e.i], OnTarget)
				} else {
					e.exit(min(e.open[e.i], stop), h.stopReason())
				}
				return
			}
			lo = x
		}
		if x := high[k]; x > hi {
			if x >= target {
				e.i = from + k
				if e.open[e.i] >= target {
					lo = slices.Min(append(low[:k:k], h.Low)) // left before this bar's low
				}
				h.Low, h.High = lo, hi
				e.exit(max(e.open[e.i], target), OnTarget)
				return
			}
			hi = x
		}
		equity[k] = cash + float64(units*c)
		if carry != 0 {
			equity[k] -= float64(carry * float64(since[k]-e.time[h.Bar]))
		}
		switch s := signals[k]; {
		case s == Buy:
			held = k
		case s == Sell || k-held >= most:
			h.Low, h.High, h.Held, e.i = lo, hi, from+held, from+k+1
			e.leave(s, k-held >= most)
			return
		}
	}
	h.Low, h.High, h.Held, e.i = lo, hi, from+held, e.until
}

// short is long upside down.
func (e *engine) short() {
	from, h := e.i, &e.Holding
	closes := e.close[from:e.until]
	high, low := e.high[from:e.until][:len(closes)], e.low[from:e.until][:len(closes)]
	equity, signals := e.equity[from:e.until][:len(closes)], e.signals[from:e.until][:len(closes)]
	cash, units, stop, target, lo, hi := e.Cash, h.Units, h.Stop, h.Target, h.Low, h.High
	held, most := h.Held-from, e.patience()
	carry, since := e.carry(), e.time[from:e.until][:len(closes)]
	for k, c := range closes {
		if x := high[k]; x > hi {
			if x >= stop {
				h.Low, h.High, e.i = lo, hi, from+k
				if e.open[e.i] <= target {
					e.exit(e.open[e.i], OnTarget)
				} else {
					e.exit(max(e.open[e.i], stop), h.stopReason())
				}
				return
			}
			hi = x
		}
		if x := low[k]; x < lo {
			if x <= target {
				e.i = from + k
				if e.open[e.i] <= target {
					hi = slices.Max(append(high[:k:k], h.High))
				}
				h.Low, h.High = lo, hi
				e.exit(min(e.open[e.i], target), OnTarget)
				return
			}
			lo = x
		}
		equity[k] = cash + float64(units*c)
		if carry != 0 {
			equity[k] -= float64(carry * float64(since[k]-e.time[h.Bar]))
		}
		switch s := signals[k]; {
		case s == Sell:
			held = k
		case s == Buy || k-held >= most:
			h.Low, h.High, h.Held, e.i = lo, hi, from+held, from+k+1
			e.leave(s, k-held >= most)
			return
		}
	}
	h.Low, h.High, h.Held, e.i = lo, hi, from+held, e.until
}

// carry is what the open position costs in a second.
func (e *engine) carry() float64 {
	h := &e.Holding
	if h.Units < 0 {
		return e.Config.carry(-h.Units*h.Price, Short)
	}
	return e.Config.carry(h.Units*h.Price, Long)
}

// patience is how many bars a position is held without a signal in its direction.
func (e *engine) patience() int {
	if e.Config.ExitAfter > 0 {
		return e.Config.ExitAfter
	}
	return math.MaxInt32
}

// leave makes the signal of the bar just marked, against the position or none, an
// order. Where it makes none, a position whose time is over is left all the same.
func (e *engine) leave(s Signal, over bool) {
	if s != Hold {
		e.decide(s)
	}
	if e.Pending == Hold && over {
		e.Pending = timeUp
	}
}

// decide makes the signal of the bar just marked an order, unless the last fill
// is too near. The phases ask only about signals that would change the position.
func (e *engine) decide(s Signal) {
	if e.LastFill >= 0 && e.time[e.i-1]-e.time[e.LastFill] < e.separation {
		return
	}
	e.Pending = s
}
