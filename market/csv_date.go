package market

import (
	"bytes"
	"math"
	"strconv"
)

// looseDate reads 31/12/2020, 12/31/20, 2-Jan-2020 and Jan 2, 2020, and gives what
// follows. first is the date with the day first, or as the order of the file says;
// other is the one with the month first. They differ where both are dates and the
// order is not known. The first date that can have only one order decides it.
func (s *stampReader) looseDate(b []byte) (first, other date, rest []byte, ok bool) {
	if d, rest, ok := namedMonth(b); ok {
		return d, d, rest, true
	}
	x, b, ok := upTo(b, 2)
	if !ok || len(b) == 0 {
		return first, other, nil, false
	}
	mark := b[0]
	if mark != '/' && mark != '.' && mark != '-' {
		return first, other, nil, false
	}
	y, b, ok := upTo(b[1:], 2)
	if !ok || len(b) == 0 || b[0] != mark {
		return first, other, nil, false
	}
	year, rest, ok := readYear(b[1:])
	if !ok {
		return first, other, nil, false
	}
	dayFirst, monthFirst := date{year, y, x}, date{year, x, y}
	if mark == '.' { // only languages that put the day first write points
		monthFirst = dayFirst
	}
	switch {
	case s.order == DayFirst:
		monthFirst = dayFirst
	case s.order == MonthFirst:
		dayFirst = monthFirst
	case !dayFirst.exists() && monthFirst.exists():
		dayFirst, s.order = monthFirst, MonthFirst
	case !monthFirst.exists() && dayFirst.exists():
		monthFirst, s.order = dayFirst, DayFirst
	}
	return dayFirst, monthFirst, rest, dayFirst.exists()
}

func (d date) exists() bool {
	return d.year >= firstYear && d.year <= lastYear && d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= daysIn(d.year, d.month)
}

// upTo reads a number of one to most digits.
func upTo(b []byte, most int) (v int, rest []byte, ok bool) {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		if n == most {
			return 0, nil, false
		}
		v = 10*v + int(b[n]-'0')
		n++
	}
	return v, b[n:], n > 0
}

// readYear reads a year of four digits, or of two: 70 to 99 are of the last century.
func readYear(b []byte) (year int, rest []byte, ok bool) {
	year, rest, ok = upTo(b, 4)
	switch n := len(b) - len(rest); {
	case !ok || n != 2 && n != 4:
		return 0, nil, false
	case n == 2 && year >= 70:
		year += 1900
	case n == 2:
		year += 2000
	}
	return year, rest, true
}

var monthNames = [...]string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
}

// namedMonth reads 2 Jan 2020, 02-Jan-20 and Jan 02, 2020.
func namedMonth(b []byte) (d date, rest []byte, ok bool) {
	day, after, dayFirst := upTo(b, 2)
	if dayFirst {
		if len(after) == 0 || after[0] != ' ' && after[0] != '-' {
			return d, nil, false
		}
		b = after[1:]
	}
	n := 0
	for n < len(b) && (b[n]|0x20) >= 'a' && (b[n]|0x20) <= 'z' {
		n++
	}
	month := monthOf(b[:n])
	if month == 0 || n == len(b) {
		return d, nil, false
	}
	b = bytes.TrimLeft(b[n:], ". -")
	if !dayFirst {
		if day, b, ok = upTo(b, 2); !ok {
			return d, nil, false
		}
		b = bytes.TrimLeft(b, ", ")
	}
	year, rest, ok := readYear(b)
	d = date{year, month, day}
	return d, rest, ok && d.exists()
}

// monthOf is the number of a month by its name, or by the first three letters or more of it.
func monthOf(name []byte) int {
	if len(name) < 3 {
		return 0
	}
	lower := string(bytes.ToLower(name))
	for i, m := range monthNames {
		if len(lower) <= len(m) && m[:len(lower)] == lower || m == "september" && lower == "sept" {
			return i + 1
		}
	}
	return 0
}

// looseClock reads 9:30, 9:30:00 AM and 3 PM, and gives what follows.
func looseClock(b []byte) (sec int, rest []byte, ok bool) {
	b = bytes.TrimLeft(b, " ,")
	hour, b, ok := upTo(b, 2)
	if !ok {
		return 0, nil, false
	}
	parts, n := [2]int{}, 0
	for n < 2 && len(b) > 1 && b[0] == ':' {
		if parts[n], b, ok = upTo(b[1:], 2); !ok {
			return 0, nil, false
		}
		n++
	}
	if n == 2 && len(b) > 0 && b[0] == '.' {
		b = bytes.TrimLeft(b[1:], "0")
	}
	half, after := halfDay(b)
	switch {
	case half == 0 && n == 0, parts[0] > 59, parts[1] > 59, hour > 23, half != 0 && (hour < 1 || hour > 12):
		return 0, nil, false
	case half != 0:
		hour, b = hour%12, after
		if half == 'p' {
			hour += 12
		}
	}
	return 3600*hour + 60*parts[0] + parts[1], b, true
}

// halfDay reads AM or PM, a.m. or p.m.; 0 if there is neither.
func halfDay(b []byte) (half byte, rest []byte) {
	b = bytes.TrimLeft(b, " \u00a0\u202f")
	for _, s := range []string{"am", "pm", "a.m.", "p.m."} {
		if len(b) >= len(s) && bytes.EqualFold(b[:len(s)], []byte(s)) {
			return s[0], b[len(s):]
		}
	}
	return 0, b
}

// isSerial tells whether a number is a day of a spreadsheet: from 1954 to 2119.
// Unix seconds of that size would all be of the first day of 1970.
func isSerial(text []byte) bool {
	integer, _, _ := bytes.Cut(text, []byte{'.'})
	return len(integer) == 5 && integer[0] >= '2' && integer[0] <= '8'
}

// serialDay reads days since the last day but one of 1899, with a fraction, to the second.
func serialDay(text []byte) (sec int64, ok bool) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !isSerial(text) {
		return 0, false
	}
	const epoch = 25569 // 1970-01-01
	return int64(math.Round((v - epoch) * day)), true
}
