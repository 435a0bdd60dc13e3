package quality

import (
	"iter"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// AssetClass is the kind of a market, where the user says it.
type AssetClass string

// The classes. They decide which sentences make sense: only shares split, and
// only markets that never close have prices on weekends.
const (
	AnyClass AssetClass = ""       // not said: the bars decide
	Stock    AssetClass = "stock"  // shares and funds: splits and dividends
	Crypto   AssetClass = "crypto" // never closes
	Currency AssetClass = "fx"     // open from Sunday to Friday, no splits
	Future   AssetClass = "future" // rolls
)

// Split is a split of shares that the user knows: each share became Ratio shares.
type Split struct {
	At    time.Time // the day from which prices are those after it
	Ratio float64
}

// OpenSpan is a time from From until Until, which is not part of it.
type OpenSpan struct{ From, Until time.Time }

// Options are what is known of a market beside its bars. The zero value is
// enough.
type Options struct {
	Class  AssetClass // that the user says
	Named  AssetClass // that the name of the symbol says; where the bars have many weekends it is no share
	Splits []Split    // that are known: prices may jump there
	Open   []OpenSpan // times on weekends at which the market is known to trade
	// Trades says when the venue is open, holidays included. Nil: the bars decide.
	Trades func(time.Time) bool
	Sealed time.Time // where the holdout begins: what lies in it is counted and not told; zero: all is told
}

// Judge says what is doubtful in the content of a series, the worst first. It
// changes nothing.
func Judge(b *market.Bars, opt Options) []ContentFinding {
	if b.Len() < 3 {
		return nil
	}
	j := &judge{bars: b, opt: opt, step: stepOf(b.Timeframe), notes: notes{sealed: sealedFrom(opt.Sealed)}}
	j.measure()
	j.cutDays()
	j.precision()
	j.jumps()
	j.flats()
	j.repeats()
	j.clocks()
	if opt.Trades != nil {
		j.sessions()
	} else {
		j.weekends()
	}
	j.volumes()
	return j.notes.findings()
}

// judge is one judgement on its way.
type judge struct {
	bars  *market.Bars
	opt   Options
	step  int64 // seconds of a bar; 0 for months
	scale scales
	days  []dayBars
	joint map[int]bool // bars at which the number of decimals changes
	notes notes
}

func sealedFrom(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

const (
	daySeconds  = 24 * 60 * 60
	weekSeconds = 7 * daySeconds
	firstMonday = 4 * daySeconds // 5 January 1970
)

func stepOf(tf market.Timeframe) int64 {
	if tf == market.Mo1 {
		return 0
	}
	return tf.End(0) - 0
}

// intraday tells whether several bars make a day.
func (j *judge) intraday() bool { return j.step > 0 && j.step < daySeconds }

// ofWeek is the second of the week of t, from Monday.
func ofWeek(t int64) int64 { return modulo(t-firstMonday, weekSeconds) }

func modulo(a, n int64) int64 {
	if m := a % n; m < 0 {
		return m + n
	} else {
		return m
	}
}

// dayBars is the bars of one UTC day.
type dayBars struct {
	date     int64 // days since 1970
	from, to int   // bars, to excluded
	hash     uint64
	flat     int // bars without a move
}

// cutDays cuts the series into days in one pass, and hashes the prices of each.
func (j *judge) cutDays() {
	b := j.bars
	end := int64(-1 << 62)
	var d *dayBars
	for i := range b.Places(0, b.Len(), 1) {
		t := b.Time[i]
		if t >= end {
			if d != nil {
				d.to = i
			}
			date := (t - modulo(t, daySeconds)) / daySeconds
			end = (date + 1) * daySeconds
			j.days = append(j.days, dayBars{date: date, from: i})
			d = &j.days[len(j.days)-1]
		}
		d.hash = mix(d.hash, b.Open[i], b.High[i], b.Low[i], b.Close[i])
		if b.High[i] == b.Low[i] && (i == 0 || b.Close[i] == b.Close[i-1]) {
			d.flat++
		}
	}
	d.to = b.Len()
}

// eachDay gives the days in order, of which a part is in memory: see market.Bars.Places.
func (j *judge) eachDay() iter.Seq2[int, dayBars] {
	const bars = 1 << 10
	return func(yield func(int, dayBars) bool) {
		k := 0
		for at := range j.bars.Places(0, j.bars.Len(), bars) {
			for ; k < len(j.days) && j.days[k].from < at+bars; k++ {
				if !yield(k, j.days[k]) {
					return
				}
			}
		}
	}
}
