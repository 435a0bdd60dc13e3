package quality_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// planted is a defect that was planted in a clean series, and how it shall be named.
type planted struct {
	name  string
	in    world
	plant func(b *market.Bars)
	want  quality.ContentRule
	at    quality.Severity // it is to be found at this severity or a higher one
}

func times(f float64, from, to int) func(*market.Bars) {
	return func(b *market.Bars) {
		for i := from; i < min(to, b.Len()); i++ {
			for _, c := range [][]float64{b.Open, b.High, b.Low, b.Close} {
				c[i] *= f
			}
		}
	}
}

func volumeTimes(f float64, from, to int) func(*market.Bars) {
	return func(b *market.Bars) {
		for i := from; i < min(to, b.Len()); i++ {
			b.Volume[i] *= f
		}
	}
}

func freeze(from, n int) func(*market.Bars) {
	return func(b *market.Bars) {
		for i := from; i < from+n; i++ {
			p := b.Close[from-1]
			b.Open[i], b.High[i], b.Low[i], b.Close[i] = p, p, p, p
		}
	}
}

// copyDay gives the bars of the day of bar i the prices of those before days earlier.
func copyDay(i int, before int64) func(*market.Bars) {
	return func(b *market.Bars) {
		day := b.Time[i] - b.Time[i]%86400
		at := map[int64]int{}
		for k, t := range b.Time {
			at[t] = k
		}
		for k, t := range b.Time {
			if from, ok := at[t-before*86400]; ok && t >= day && t < day+86400 {
				copyBar(b, k, from)
			}
		}
	}
}

func copyBars(from, to, n int) func(*market.Bars) {
	return func(b *market.Bars) {
		for k := range n {
			copyBar(b, to+k, from+k)
		}
	}
}

func copyBar(b *market.Bars, to, from int) {
	b.Open[to], b.High[to], b.Low[to], b.Close[to], b.Volume[to] = b.Open[from], b.High[from], b.Low[from], b.Close[from], b.Volume[from]
}

// shift moves the times of weeks, counted from that of the first bar.
func shift(by int64, from, to int64) func(*market.Bars) {
	return func(b *market.Bars) {
		const monday = 4 * 86400
		first := (b.Time[0] - monday) / 604800
		for i, t := range b.Time {
			if w := (t+10*3600-monday)/604800 - first; w >= from && w < to {
				b.Time[i] += by
			}
		}
	}
}

func wick(i int, f float64) func(*market.Bars) {
	return func(b *market.Bars) {
		if f > 1 {
			b.High[i] *= f
		} else {
			b.Low[i] *= f
		}
	}
}

// insert adds bars at weekends from bar from on: flat ones or such that move.
func weekends(every int, flat bool) func(*market.Bars) {
	return func(b *market.Bars) {
		out := market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
		n := 0
		for i := range b.Len() {
			out.Append(b.At(i))
			if i+1 == b.Len() || b.Time[i+1]-b.Time[i] < 40*3600 {
				continue
			}
			if n++; n%every != 0 {
				continue
			}
			for t := b.Timeframe.End(b.Time[i]); t < b.Time[i+1]; t = b.Timeframe.End(t) {
				x := b.At(i)
				x.Time, x.Open, x.High, x.Low, x.Volume = t, x.Close, x.Close, x.Close, 0
				if !flat {
					x.High, x.Low = x.Close*1.001, x.Close*0.999
					x.Close = x.Low
				}
				out.Append(x)
			}
		}
		*b = out
	}
}

// without leaves out bars of which a time is one that clocks of New York or Berlin skip.
func without(skipped ...int64) func(*market.Bars) {
	return func(b *market.Bars) {
		out := market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
		for i := range b.Len() {
			keep := true
			for _, t := range skipped {
				keep = keep && (b.Time[i] < t || b.Time[i] >= t+3600)
			}
			if keep {
				out.Append(b.At(i))
			}
		}
		*b = out
	}
}

const all = 1 << 30

var defects = []planted{
	{"a close 5 % off, currency", fx, times(1.05, 4000, 4001), quality.Spike, quality.Severe},
	{"a close a fifth off, daily shares", daily, times(0.7, 1500, 1501), quality.Spike, quality.Warning},
	{"three closes 4 % off, 15 minutes", fx.every(market.M15, 9000), times(0.96, 5000, 5003), quality.Spike, quality.Severe},
	{"a close 30 % off, crypto minutes", coin.every(market.M1, 20000), times(1.3, 9000, 9001), quality.Spike, quality.Severe},
	{"a high 6 % off, currency", fxServer, wick(7000, 1.06), quality.Spike, quality.Warning},
	{"a low of half the price, daily shares", daily, wick(2000, 0.4), quality.Spike, quality.Warning},
	{"a low 5 % off, 5 minutes", fx.every(market.M5, 9000), wick(777, 0.95), quality.Spike, quality.Warning},
	{"a weekly close of twice the price", weekly, times(2.3, 400, 401), quality.Spike, quality.Warning},
	{"a close 20 % off, half-hourly shares", share, times(1.2, 3000, 3001), quality.Spike, quality.Severe},

	{"points from the middle on, currency", fx, times(100000, 4500, all), quality.UnitJump, quality.Severe},
	{"pips before the middle", fxServer, times(10000, 0, 4500), quality.UnitJump, quality.Severe},
	{"a tenth from the middle on, crypto", coin, times(0.1, 9000, all), quality.UnitJump, quality.Severe},
	{"pence, then pounds, daily shares", daily, times(100, 0, 1000), quality.UnitJump, quality.Severe},
	{"one bar in cents, crypto minutes", coin.every(market.M1, 9000), times(100, 6000, 6001), quality.UnitJump, quality.Severe},
	{"fifty bars times 1,000, 4 hours", fx.every(market.H4, 5000), times(1000, 2000, 2050), quality.UnitJump, quality.Severe},
	{"a high times 10, half-hourly shares", share, wick(2000, 10), quality.UnitJump, quality.Severe},
	{"weeks times 100", weekly, times(100, 500, all), quality.UnitJump, quality.Severe},
	{"months times 10", monthly, times(10, 100, all), quality.UnitJump, quality.Severe},

	{"a feed that stood still for a week, currency", fx, freeze(3000, 120), quality.ConstantRun, quality.Severe},
	{"a night of minutes without a move", fx.every(market.M1, 20000), freeze(7000, 300), quality.ConstantRun, quality.Warning},
	{"a month without a move, daily shares", daily, freeze(700, 22), quality.ConstantRun, quality.Severe},
	{"six days without a move, crypto", coin, freeze(8000, 144), quality.ConstantRun, quality.Severe},
	{"two weeks without a move, illiquid", illiquid, freeze(3000, 240), quality.ConstantRun, quality.Severe},
	{"fifteen weeks without a move", weekly, freeze(300, 15), quality.ConstantRun, quality.Severe},

	{"a day that is the day before, currency", fx, copyDay(4000, 1), quality.RepeatedDay, quality.Severe},
	{"a day of the week before, crypto quarter hours", coin.every(market.M15, 9000), copyDay(4000, 7), quality.RepeatedDay, quality.Severe},
	{"a day of exchange that comes again", share, copyDay(4005, 7), quality.RepeatedDay, quality.Severe},
	{"two weeks of days that come again", daily, copyBars(1000, 1500, 10), quality.RepeatedDay, quality.Severe},
	{"a day of six bars that comes again", fxServer.every(market.H4, 4000), copyDay(2000, 1), quality.RepeatedDay, quality.Severe},
	{"a day of minutes that comes again", fx.every(market.M1, 20000), copyDay(9000, 1), quality.RepeatedDay, quality.Severe},

	{"three weeks an hour late, currency", fx, shift(3600, 20, 23), quality.ShiftedClock, quality.Severe},
	{"the last half two hours late", fxServer, shift(7200, 40, 1000), quality.ShiftedClock, quality.Severe},
	{"two weeks an hour early, half hours", fxServer.every(market.M30, 9000), shift(-3600, 10, 12), quality.ShiftedClock, quality.Severe},
	{"four weeks an hour late, exchange", share, shift(3600, 30, 34), quality.ShiftedClock, quality.Severe},
	{"a quarter of a year five hours early", fx, shift(-5*3600, 12, 25), quality.ShiftedClock, quality.Severe},
	{"New York times read as UTC, crypto", coin, without(1457834400, 1489284000), quality.SkippedHour, quality.Severe},
	{"Berlin times read as UTC, crypto", coin, without(1459044000, 1490493600), quality.SkippedHour, quality.Severe},

	{"every third weekend filled, currency", fxServer, weekends(3, true), quality.WeekendBars, quality.Severe},
	{"all weekends filled, currency", fxServer, weekends(1, true), quality.WeekendBars, quality.Severe},
	{"prices on some Saturdays, daily", daily, weekends(9, false), quality.WeekendBars, quality.Warning},
	{"prices on one weekend, half-hourly shares", share, weekends(25, false), quality.WeekendBars, quality.Warning},

	{"adjusted before the middle, daily shares", daily, times(0.8132157, 0, 1500), quality.AdjustedJoined, quality.Severe},
	{"adjusted after the middle, daily shares", daily, times(1.1718231, 1500, all), quality.AdjustedJoined, quality.Severe},
	{"adjusted before the middle, weeks", weekly, times(0.7132157, 0, 500), quality.AdjustedJoined, quality.Severe},
	{"adjusted before the middle, half hours", share, times(0.8718231, 0, 4004), quality.AdjustedJoined, quality.Severe},

	{"a split of 4 missed, daily shares", daily, times(0.25, 1800, all), quality.SplitMissed, quality.Severe},
	{"a split of 2 missed, half-hourly shares", share, times(0.5, 4004, all), quality.SplitMissed, quality.Severe},
	{"a split of 3 missed, weeks", weekly, times(1.0/3, 400, all), quality.SplitMissed, quality.Severe},
	{"a split of 20 missed, daily shares", daily, times(0.05, 800, all), quality.SplitMissed, quality.Severe},
	{"a split of 7 applied twice, daily shares", daily, times(1.0/7, 0, 1200), quality.SplitTwice, quality.Severe},
	{"a split of 2 applied twice, half-hourly shares", share, times(0.5, 0, 4004), quality.SplitTwice, quality.Severe},

	{"lots, then shares, daily", daily, volumeTimes(100, 1500, all), quality.VolumeUnit, quality.Warning},
	{"units, then lots, currency", fx, volumeTimes(1e-5, 5000, all), quality.VolumeUnit, quality.Warning},
	{"coins, then dollars, crypto", coin, volumeTimes(20000, 9000, 12000), quality.VolumeUnit, quality.Warning},

	{"another market in the middle", fxServer, times(1.27, 4000, 4800), quality.OtherMarket, quality.Severe},
	{"another market at the end, crypto", coin, times(0.063, 15000, all), quality.LevelJump, quality.Severe},
}

func found(findings []quality.ContentFinding, want quality.ContentRule, least quality.Severity) bool {
	for _, f := range findings {
		if f.Rule == want && (f.Severity == quality.Severe || f.Severity == least) {
			return true
		}
	}
	return false
}

func TestPlantedDefects_AreFound(t *testing.T) {
	hit := 0
	say := func(name string, ok bool, got any) {
		if ok {
			hit++
			return
		}
		t.Logf("missed: %s: got %v", name, got)
	}
	for i, d := range defects {
		b := d.in.make(uint64(1000 + i))
		d.plant(b)
		got := quality.Judge(b, quality.Options{})
		say(d.name, found(got, d.want, d.at), got)
	}
	for _, c := range compared {
		old := c.in.make(77)
		got := quality.Compare(old, c.now(old), time.Time{})
		say(c.name, found(got, c.want, c.at), got)
	}
	for name, text := range notPrices {
		_, rep, err := market.ReadCSV(strings.NewReader(text), market.ImportOptions{})
		say(name, err != nil, rep)
	}
	total := len(defects) + len(compared) + len(notPrices)
	t.Logf("%d of %d planted defects found", hit, total)
	if total < 60 || hit < total-2 {
		t.Errorf("found %d of %d planted defects, want at least %d of 60", hit, total, total-2)
	}
}

// notPrices is what a download may hold in place of prices.
var notPrices = map[string]string{
	"a web page":       "<!DOCTYPE html>\n<html><head><title>503</title></head>\n<body>try later</body></html>\n",
	"JSON":             `{"chart":{"result":null,"error":{"code":"Not Found"}}}` + "\n",
	"a page in a file": csvHead(200) + "<html><body>limit reached</body></html>\n",
}

func csvHead(n int) string {
	var w bytes.Buffer
	w.WriteString("time,open,high,low,close,volume\n")
	b := fx.make(5)
	for i := range n {
		x := b.At(i)
		w.WriteString(strings.Join([]string{itoa(x.Time), ftoa(x.Open), ftoa(x.High), ftoa(x.Low), ftoa(x.Close), ftoa(x.Volume)}, ",") + "\n")
	}
	return w.String()
}

// compared are bars that come after others under one name.
var compared = []struct {
	name string
	in   world
	now  func(old *market.Bars) *market.Bars
	want quality.ContentRule
	at   quality.Severity
}{
	{"a file of another market", fx, func(*market.Bars) *market.Bars { return fx.make(78) }, quality.OtherMarket, quality.Severe},
	{"the same market in points", fx, changed(times(1e5, 0, all)), quality.UnitJump, quality.Severe},
	{"the same market, adjusted", daily, changed(times(0.93, 0, all)), quality.AdjustedJoined, quality.Severe},
	{"the same market in another zone", fx, changed(func(b *market.Bars) {
		for i := range b.Time {
			b.Time[i] += 3 * 3600
		}
	}), quality.ShiftedClock, quality.Severe},
	{"old bars that were revised", fx, changed(times(1.0004, 4000, 4030)), quality.Revised, quality.Warning},
}

func changed(f func(*market.Bars)) func(*market.Bars) *market.Bars {
	return func(old *market.Bars) *market.Bars {
		b := clone(old)
		f(b)
		return b
	}
}
