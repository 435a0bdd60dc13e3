package market

import "math"

// tickTimeframe is that of bars that are made of ticks where nothing says another.
const tickTimeframe = M1

// priceDigits is how many decimals a float64 near 1 holds for certain.
const priceDigits = 14

// ticks makes bars of quotes or trades, which come as bars whose Close is the price.
// Rows may fall in time instead of rising: the oldest of a bar is then its last row.
//
//	12:00:03  1.1000  1.1002  ┐
//	12:00:41  1.1004  1.1006  │ 12:00  open 1.1000 high 1.1004 low 1.0999 close 1.0999 spread 0.0002
//	12:00:59  1.0999  1.1001  ┘
//	12:01:02  1.1003  1.1005    12:01  …
type ticks struct {
	cal   calendar
	rows  *rows
	rep   *DataReport
	count bool // the volume of a bar is the number of its ticks

	bar     Bar
	line    int
	n       int   // ticks of the bar
	first   int64 // the time of the first tick that can be used
	last    int64 // that of the last one
	any     bool
	falling bool
	spread  meanOf
}

func newTicks(k kind, tf Timeframe, to *rows, rep *DataReport) *ticks {
	return &ticks{cal: tf.calendar(), rows: to, rep: rep, count: k == quoteRows}
}

// add adds a tick.
func (k *ticks) add(line int, x Bar) {
	if !k.usable(line, &x) {
		k.rep.Dropped++
		return
	}
	switch {
	case !k.any:
		k.any, k.first = true, x.Time
	case k.last == k.first && x.Time < k.last: // all ticks so far are of one second
		k.falling = true
		k.bar.Open, k.bar.Close = k.bar.Close, k.bar.Open
	case k.falling != (x.Time < k.last) && x.Time != k.last:
		k.rep.add(line, OutOfOrder, "%s comes after %s", moment(x.Time), moment(k.last))
		k.rep.Sorted = true
		k.rep.Dropped++
		return
	}
	k.last = x.Time
	if start := k.cal.start(x.Time); k.n == 0 || start != k.bar.Time {
		k.flush()
		k.line = line
		k.bar = Bar{Time: start, Open: x.Close, High: x.Close, Low: x.Close, Close: x.Close}
	}
	k.n++
	k.bar.High, k.bar.Low = max(k.bar.High, x.Close), min(k.bar.Low, x.Close)
	if k.falling {
		k.bar.Open = x.Close
	} else {
		k.bar.Close = x.Close
	}
	k.bar.Volume += x.Volume // not known if one of them is not
	k.spread.add(x.Spread)
}

// usable tells whether a tick has a price, and notes what is wrong with it.
func (k *ticks) usable(line int, x *Bar) bool {
	switch {
	case math.IsNaN(x.Close):
		k.rep.add(line, NaN, "the price is not a number")
	case math.IsInf(x.Close, 0):
		k.rep.add(line, Infinite, "the price is %v", x.Close)
	case x.Close <= 0:
		k.rep.add(line, NonPositive, "the price is %v", x.Close)
	case x.Close < leastPrice, x.Close > most:
		k.rep.add(line, Extreme, "the price is %v", x.Close)
	default:
		if x.Volume < 0 {
			k.rep.add(line, Negative, "volume is %v", x.Volume)
			x.Volume = 0
			k.rep.Cleared++
		}
		if x.Spread < 0 {
			k.rep.add(line, NegativeSpread, "spread is %v: the ask is below the bid", x.Spread)
			x.Spread = math.NaN()
		}
		return true
	}
	return false
}

// flush adds the bar that has ended to the table.
func (k *ticks) flush() {
	if k.n == 0 {
		return
	}
	if k.count {
		k.bar.Volume = float64(k.n)
	}
	k.bar.Spread = withoutNoise(k.spread.take(), k.bar.Close)
	k.rows.add(k.line, k.bar)
	k.n = 0
}

// withoutNoise rounds a difference of prices to the digits that prices of this size have.
func withoutNoise(difference, price float64) float64 {
	digits := priceDigits
	for digits > 0 && price >= 10 {
		price, digits = price/10, digits-1
	}
	return math.Round(difference*tens[digits]) / tens[digits]
}

// quote is the bid and the ask that count. MetaTrader writes only the one that changed.
type quote struct {
	bid, ask float64
	told     [2]bool
	skipped  int // rows before both are known
}

// next gives the price and the spread of a row; false where a side was never told yet.
func (q *quote) next(bid, ask float64) (price, spread float64, ok bool) {
	if bid == bid {
		q.bid, q.told[0] = bid, true
	}
	if ask == ask {
		q.ask, q.told[1] = ask, true
	}
	if !q.told[0] || !q.told[1] {
		q.skipped++
		return 0, 0, false
	}
	return q.bid, q.ask - q.bid, true
}

// askLessBid is the spread of a bar beside which its last bid and ask stand, or a bar of bids with its last ask.
func askLessBid(b *Bar, f *fields) float64 {
	bid := f.bid
	if bid != bid {
		bid = b.Close
	}
	return withoutNoise(f.ask-bid, b.Close)
}
