package quality

const (
	weekendHours  = 48
	usualWeekend  = 0.5 // share of weeks in which an hour of the weekend has bars, if the market trades then
	filledShare   = 0.8 // share of bars on weekends that do not move, if they are filled in
	filledSevere  = 5   // weekends that are filled in
	fewestWeeks   = 6
	saturdayStart = 5 * daySeconds
)

// weekends finds bars on weekends of a market that is usually closed then, and
// weekends that were filled with the last price.
func (j *judge) weekends() {
	if j.step == 0 || j.step > daySeconds || j.opt.Class == Crypto {
		return
	}
	weeks, trades := j.weekendHours()
	if weeks < fewestWeeks {
		return
	}
	usual := usualHours(trades, weeks)
	odd, flat, on := 0, 0, 0
	var first, last, week int64
	b := j.bars
	for _, d := range j.eachDay() {
		if ofWeek(d.date*daySeconds) < saturdayStart {
			continue
		}
		for i := d.from; i < d.to; i++ {
			t := b.Time[i]
			if usual[(ofWeek(t)-saturdayStart)/3600] || j.open(t) {
				continue
			}
			if odd == 0 {
				first = t
			}
			if w := (t - firstMonday) / weekSeconds; odd == 0 || w != week {
				on, week = on+1, w
			}
			odd, last = odd+1, t
			if i > 0 && b.High[i] == b.Low[i] && b.Close[i] == b.Close[i-1] {
				flat++
			}
		}
	}
	switch {
	case odd > 0:
		j.oddWeekends(odd, flat, on, weeks, first, last)
	default:
		j.filledWeekends()
	}
}

func (j *judge) oddWeekends(odd, flat, on, weeks int, first, last int64) {
	severity, kind := Warning, ""
	if float64(flat) >= filledShare*float64(odd) {
		kind = ", most of them without a move"
		if on >= filledSevere {
			severity = Severe
		}
	}
	j.notes.add(WeekendBars, severity, first, last, 1,
		"%d bars stand on %d of %d weekends, at hours at which this market is otherwise closed%s", odd, on, weeks, kind)
	j.notes.count(WeekendBars, severity, odd)
}

// weekendHours counts the weeks, and in how many of them each hour of the weekend has bars.
func (j *judge) weekendHours() (weeks int, trades [weekendHours]int) {
	var week int64 = -1 << 62
	var seen [weekendHours]int64
	for i := range seen {
		seen[i] = week
	}
	for _, d := range j.eachDay() {
		at := d.date * daySeconds
		w := (at - ofWeek(at) - firstMonday) / weekSeconds
		if w != week {
			weeks, week = weeks+1, w
		}
		if ofWeek(at) < saturdayStart {
			continue
		}
		for _, t := range j.bars.Time[d.from:d.to] {
			if h := (ofWeek(t) - saturdayStart) / 3600; seen[h] != w {
				seen[h] = w
				trades[h]++
			}
		}
	}
	return weeks, trades
}

// usualHours are the hours of the weekend at which the market trades in most
// weeks, and those beside them: summer times move them by one.
func usualHours(trades [weekendHours]int, weeks int) [weekendHours]bool {
	var usual, wide [weekendHours]bool
	for h, n := range trades {
		usual[h] = float64(n) >= usualWeekend*float64(weeks)
	}
	wide[0], wide[weekendHours-1] = true, true // Friday evening and Monday morning count as trading
	for h, trades := range usual {
		if trades {
			for k := max(0, h-1); k <= min(h+1, weekendHours-1); k++ {
				wide[k] = true
			}
		}
	}
	return wide
}

// filledWeekends notes a series whose weekends have bars and never a move.
func (j *judge) filledWeekends() {
	b := j.bars
	var bars, flat [2]int
	first, last := int64(0), int64(0)
	for _, d := range j.eachDay() {
		kind := 0
		if ofWeek(d.date*daySeconds) >= saturdayStart {
			kind = 1
			if first == 0 {
				first = b.Time[d.from]
			}
			last = b.Time[d.to-1]
		}
		bars[kind] += d.to - d.from
		flat[kind] += d.flat
	}
	if bars[1] < filledSevere || float64(flat[1]) < filledShare*float64(bars[1]) || 2*flat[0] > bars[0] {
		return
	}
	j.notes.add(WeekendBars, Severe, first, last, 1,
		"%d of the %d bars on weekends do not move: weekends were filled with the last price", flat[1], bars[1])
	j.notes.count(WeekendBars, Severe, bars[1])
}

// open tells whether the user knows that the market trades at t.
func (j *judge) open(t int64) bool {
	for _, s := range j.opt.Open {
		if t >= s.From.Unix() && t < s.Until.Unix() {
			return true
		}
	}
	return false
}
