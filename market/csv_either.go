package market

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/internal/text"
)

// eitherRow is a row whose date has two meanings, such as 03/04/2020, or that
// stands between such rows.
type eitherRow struct {
	line  int
	bar   Bar   // its time has the day first
	other int64 // its time with the month first
	local bool
}

const eitherBytes = 80

// place adds a row, or keeps it back until the order of day and month is known.
//
//	03/04/2020  kept back
//	04/04/2020  kept back
//	13/04/2020  decides: the day comes first; all are added
func (c *csvReader) place(b Bar, s stamp) {
	if s.either || len(c.either) > 0 && c.stamps.order == "" {
		other := s.sec
		if s.either {
			other = s.other
		}
		c.either = append(c.either, eitherRow{c.lines.line, b, other, s.local})
		return
	}
	c.release()
	c.placer.add(c.lines.line, b, s.local)
}

// release adds the rows that were kept back, in the order that is known now.
func (c *csvReader) release() {
	for _, r := range c.either {
		if c.stamps.order == MonthFirst {
			r.bar.Time = r.other
		}
		c.placer.add(r.line, r.bar, r.local)
	}
	c.either = nil
}

// decide settles a file in which no date has only one meaning. It is right that
// rows are in order, and that no month is missing between bars of a day or less.
func (c *csvReader) decide() error {
	if len(c.either) == 0 {
		return nil
	}
	day := shapeOf(c.either, func(r *eitherRow) int64 { return r.bar.Time })
	month := shapeOf(c.either, func(r *eitherRow) int64 { return r.other })
	short := day.intraday || c.opt.Timeframe != "" && c.opt.Timeframe != Mo1 && c.opt.Timeframe != W1
	switch {
	case day.ordered && (!month.ordered || short && 3*day.gap < month.gap):
		c.stamps.order = DayFirst
	case month.ordered && (!day.ordered || short && 3*month.gap < day.gap):
		c.stamps.order = MonthFirst
	default:
		r := c.either[0]
		return fmt.Errorf("line %d: the date may be %s or %s, and no date of the file decides: give --dates %s or --dates %s",
			r.line, clock(r.bar.Time)[:10], clock(r.other)[:10], DayFirst, MonthFirst)
	}
	c.release()
	return nil
}

// shape is how the times of rows follow each other.
type shape struct {
	ordered  bool  // they only rise, or only fall
	intraday bool  // some are less than a day apart
	gap      int64 // the longest step in seconds
}

func shapeOf(rows []eitherRow, time func(*eitherRow) int64) shape {
	up, down := true, true
	var s shape
	for i := 1; i < len(rows); i++ {
		step := time(&rows[i]) - time(&rows[i-1])
		up, down = up && step > 0, down && step < 0
		step = max(step, -step)
		s.gap, s.intraday = max(s.gap, step), s.intraday || step > 0 && step < day
	}
	s.ordered = len(rows) > 1 && (up || down)
	return s
}

// conclude notes what only the whole file shows.
func (c *csvReader) conclude() {
	r := c.rep.Recognised
	if c.table.zeros && c.rows.Len() > 0 && !slices.ContainsFunc(c.rows.Volume, func(v float64) bool { return v != 0 }) {
		for i := range c.rows.Volume {
			c.rows.Volume[i] = math.NaN()
		}
		r.note("its volumes of 0 are not known")
	}
	if n := c.quote.skipped; n > 0 {
		r.note("left out " + text.Counted(n, "row") + " before a bid and an ask were told")
	}
	if c.stamps.order != "" {
		r.note("dates are " + string(c.stamps.order))
	}
	if c.stamps.serial {
		r.note("times are days of a spreadsheet")
	}
	if c.stamps.numbered && !c.stamps.serial {
		r.Zone = "are Unix times"
	}
	if c.stamps.first.zoned {
		r.Zone = "name their zone"
	}
}
