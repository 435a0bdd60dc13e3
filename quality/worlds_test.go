package quality_test

import (
	"math"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// world is a market that never was: when it trades and how it moves.
type world struct {
	tf     market.Timeframe
	trades func(t time.Time) bool
	sigma  float64 // volatility of a bar
	gap    float64 // of an opening after a break, in units of sigma
	tails  int     // degrees of freedom of its moves; 0: normal
	garch  bool
	jumps  float64 // chance of a jump at a bar
	drift  float64 // of a bar
	quiet  float64 // share of bars at night that do not move
	tick   float64
	start  float64 // first price
	bars   int
}

var newYork = func() *time.Location {
	l, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return l
}()

func always(time.Time) bool { return true }

// currencyWeek is open from Sunday 17:00 to Friday 17:00 in New York.
func currencyWeek(t time.Time) bool {
	l := t.In(newYork)
	switch l.Weekday() {
	case time.Saturday:
		return false
	case time.Sunday:
		return l.Hour() >= 17
	case time.Friday:
		return l.Hour() < 17
	default:
		return true
	}
}

// serverWeek is the week of a broker's clock: Monday 00:00 to Friday 23:59.
func serverWeek(t time.Time) bool { return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday }

// exchange is open from 9:30 to 16:00 in New York.
func exchange(t time.Time) bool {
	l := t.In(newYork)
	m := l.Hour()*60 + l.Minute()
	return serverWeek(l) && m >= 9*60+30 && m < 16*60
}

var (
	fx = world{
		tf: market.H1, trades: currencyWeek, sigma: 0.0009, gap: 2, tails: 5, garch: true, tick: 1e-5, start: 1.12, bars: 9000,
	}
	fxServer = world{
		tf: market.H1, trades: serverWeek, sigma: 0.0009, gap: 2, tails: 4, garch: true, tick: 1e-5, start: 1.3, bars: 9000,
	}
	coin  = world{tf: market.H1, trades: always, sigma: 0.006, tails: 3, garch: true, tick: 0.01, start: 20000, bars: 20000}
	share = world{
		tf: market.M30, trades: exchange, sigma: 0.003, gap: 4, tails: 4, garch: true, tick: 0.01, start: 180, bars: 9000,
	}
	daily = world{
		tf: market.D1, trades: serverWeek, sigma: 0.013, gap: 0.5, tails: 4, garch: true, drift: 0.0003, tick: 0.01, start: 90, bars: 3000,
	}
	weekly = world{
		tf: market.W1, trades: always, sigma: 0.03, gap: 0.2, tails: 4, garch: true, drift: 0.001, tick: 0.01, start: 70, bars: 900,
	}
	monthly = world{
		tf: market.Mo1, trades: always, sigma: 0.055, gap: 0.1, tails: 4, drift: 0.005, tick: 0.01, start: 70, bars: 300,
	}
	illiquid = world{
		tf: market.H1, trades: serverWeek, sigma: 0.002, tails: 4, quiet: 0.9, tick: 0.001, start: 12, bars: 9000,
	}
)

func (w world) with(change func(*world)) world {
	change(&w)
	return w
}

func (w world) every(tf market.Timeframe, bars int) world {
	scale := math.Sqrt(float64(tf.End(0)) / float64(w.tf.End(0)))
	w.sigma, w.tf, w.bars = w.sigma*scale, tf, bars
	return w
}

// make makes the bars of a seed.
func (w world) make(seed uint64) *market.Bars {
	r := num.NewRand(num.Mix(seed, 0x7175616c))
	b := &market.Bars{Symbol: "MADE", Timeframe: w.tf}
	t := w.tf.Start(time.Date(2016, 2, 1, 0, 0, 0, 0, time.UTC).Unix())
	price, cluster, last := w.start, 1.0, t
	for b.Len() < w.bars {
		at := time.Unix(t, 0).UTC()
		if !w.trades(at) {
			t = w.tf.End(t)
			continue
		}
		sigma := w.sigma * math.Sqrt(cluster)
		open := price
		if b.Len() > 0 && t > w.tf.End(last) || w.tf.End(0) >= 86400 {
			open *= num.Exp(sigma * w.gap * w.shock(r))
		}
		x := w.shock(r)
		move := sigma*x + w.drift
		if r.Float64() < w.jumps {
			move += sigma * 12 * r.Norm()
		}
		if w.garch {
			cluster = min(25, 0.03+0.07*cluster*x*x+0.90*cluster)
		}
		up, down := sigma*math.Abs(r.Norm())*0.7, sigma*math.Abs(r.Norm())*0.7
		if h := at.Hour(); w.quiet > 0 && (h < 8 || h > 18) && r.Float64() < w.quiet {
			open, move, up, down = price, 0, 0, 0
		}
		c := open * num.Exp(move)
		bar := market.Bar{
			Time: t, Open: w.round(open), Close: w.round(c), High: w.round(max(open, c) * (1 + up)), Low: w.round(min(open, c) * (1 - down)),
			Volume: math.Round(1000 * num.Exp(0.6*r.Norm()) * (1 + math.Abs(x))),
		}
		b.Append(bar)
		price, last, t = bar.Close, t, w.tf.End(t)
	}
	return b
}

// shock is a random number of mean 0 and variance 1.
func (w world) shock(r *num.Rand) float64 {
	z := r.Norm()
	if w.tails == 0 {
		return z
	}
	sum := 0.0
	for range w.tails {
		n := r.Norm()
		sum += n * n
	}
	df := float64(w.tails)
	return z / math.Sqrt(sum/df) * math.Sqrt((df-2)/df)
}

func (w world) round(p float64) float64 {
	per := math.Round(1 / w.tick)
	return max(1, math.Round(p*per)) / per
}
