package quality

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// Limits of runs of bars without a move.
const (
	flatBars      = 10   // shorter runs are not looked at
	flatSurprise  = 35.0 // natural logarithm of the odds against a run at its hours
	flatSevere    = 60.0
	flatDays      = 5   // days of trading that a severe run of bars of less than a day lasts
	flatDaily     = 20  // daily bars of a severe run
	flatLong      = 12  // weekly or monthly bars of a severe run
	closeOnlyBars = 20  // bars in a row without a range whose closes move
	closeOnlyMost = 0.5 // of a series: if more bars have no range, it is a series of closes
)

// flats finds runs of bars without a move, which are surprising at hours at
// which the price usually moves, and runs of bars without a range.
func (j *judge) flats() {
	odds := j.flatOdds()
	b := j.bars
	run, points, moved, ranges := 0, 0, 0, 0
	for i := range b.Places(1, b.Len()+1, 1) {
		point := i < b.Len() && b.High[i] == b.Low[i]
		flat := point && b.Close[i] == b.Close[i-1]
		if flat {
			run++
		} else {
			if run >= flatBars {
				j.flatRun(i-run, i, odds)
			}
			run = 0
		}
		if point {
			points++
			if !flat {
				moved++
			}
			continue
		}
		if i < b.Len() {
			ranges++
		}
		if points >= closeOnlyBars && 2*moved > points {
			j.closeOnly(i-points, i)
		}
		points, moved = 0, 0
	}
	if float64(ranges) < closeOnlyMost*float64(b.Len()) {
		j.seriesOfCloses()
	}
}

// closeOnly notes bars from i until k that have only a close.
func (j *judge) closeOnly(i, k int) {
	b := j.bars
	j.notes.add(CloseOnly, Warning, b.Time[i], b.Time[k-1], float64(k-i),
		"the %d bars from %s to %s have no range: their open, high, low and close are one price", k-i, when(b.Time[i]), when(b.Time[k-1]))
}

// seriesOfCloses turns the warnings about parts into one fact about the series.
func (j *judge) seriesOfCloses() {
	for i := range j.notes.all {
		if f := &j.notes.all[i]; f.Rule == CloseOnly {
			f.Severity = Info
		}
	}
}

// flatOdds is the logarithm of the share of bars that do not move, for each
// hour of the week; one share for bars of a day and longer.
func (j *judge) flatOdds() [hoursOfWeek]float64 {
	var seen, flat [hoursOfWeek]float64
	b := j.bars
	stride := max(1, b.Len()/(hoursOfWeek*1000))
	if stride%2 == 0 {
		stride++
	}
	for i := range b.Places(stride, b.Len(), stride) {
		h := j.hourAt(i)
		seen[h]++
		if b.High[i] == b.Low[i] && b.Close[i] == b.Close[i-1] {
			flat[h]++
		}
	}
	var odds [hoursOfWeek]float64
	for h := range odds {
		odds[h] = -num.Log((flat[h] + 1) / (seen[h] + 2))
	}
	return odds
}

func (j *judge) hourAt(i int) int {
	if !j.intraday() {
		return 0
	}
	return int(ofWeek(j.bars.Time[i]) / 3600)
}

// flatRun judges the bars from i until k, which do not move.
func (j *judge) flatRun(i, k int, odds [hoursOfWeek]float64) {
	surprise := 0.0
	b := j.bars
	for at := i; at < k; at++ {
		surprise += odds[j.hourAt(at)]
	}
	if surprise < flatSurprise {
		return
	}
	severity := Warning
	if surprise >= flatSevere && j.lasts(i, k) {
		severity = Severe
	}
	j.notes.add(ConstantRun, severity, b.Time[i], b.Time[k-1], float64(k-i),
		"the price stands at %s for %d bars, from %s to %s; at these hours 1 bar in %s does", price(b.Close[i]), k-i,
		when(b.Time[i]), when(b.Time[k-1]), oneIn(surprise/float64(k-i)))
}

func oneIn(logOdds float64) string { return fmt.Sprintf("%.0f", math.Max(1, num.Exp(logOdds))) }

// lasts tells whether bars from i until k last long enough to spoil a series.
func (j *judge) lasts(i, k int) bool {
	switch {
	case j.step == daySeconds:
		return k-i >= flatDaily
	case !j.intraday():
		return k-i >= flatLong
	}
	days, last := 0, int64(math.MinInt64)
	for at := i; at < k; at++ {
		if d := j.bars.Time[at] / daySeconds; d != last {
			days, last = days+1, d
		}
	}
	return days >= flatDays
}
