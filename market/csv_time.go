package market

import (
	"bytes"
	"fmt"
	"time"
)

type stamp struct {
	sec    int64 // Unix seconds
	zoned  bool  // the text named its zone
	offset int   // of that zone, in seconds east of UTC
	local  bool  // sec is what a clock of the zone asked for shows, as if it were UTC

	// either is a date such as 03/04/2020 whose order the file has not shown yet. sec is
	// what it is with the day first, and other with the month first.
	either bool
	other  int64
}

func (s stamp) zoneName() string {
	if !s.zoned {
		return "no zone"
	}
	return "zone " + time.Unix(0, 0).In(time.FixedZone("", s.offset)).Format("-07:00")
}

// stampReader reads times, all in the unit of the first where they are numbers.
type stampReader struct {
	zone  *time.Location // of texts without one
	first stamp
	any   bool  // first is set
	unit  int64 // ticks per second where times are numbers; 0 until one was read
	brief bool  // only the count of findings is wanted, not their texts

	order    DateOrder // of day and month before the year; "" until it is known
	anyUnit  bool      // each number has its own unit: Binance went from thousandths to millionths in 2025
	serial   bool      // numbers are days since 1900, as spreadsheets count
	numbered bool      // some time was a number
	parts    bool      // times have parts of a second, which are cut off
	room     [32]byte  // of a time of day without them
}

// DateOrder is the order of day and month in dates that begin with one of them.
type DateOrder string

// The orders.
const (
	DayFirst   DateOrder = "day-first"   // 31/12/2020
	MonthFirst DateOrder = "month-first" // 12/31/2020
)

// ParseDateOrder reads one; "" stays "".
func ParseDateOrder(s string) (DateOrder, error) {
	switch o := DateOrder(s); o {
	case "", DayFirst, MonthFirst:
		return o, nil
	}
	return "", fmt.Errorf("%q is not an order of dates: give %s (31/12/2020) or %s (12/31/2020)", s, DayFirst, MonthFirst)
}

// notShown stands for what is wrong with a row where it is only counted.
const notShown = "unreadable"

// Years that a price may come from. Beyond them a text was misread.
const firstYear, lastYear = 1800, 2200

// read reads a time from one text, or a date and a time of day from two. It returns what is wrong, or "".
func (s *stampReader) read(text, clock []byte) (st stamp, problem string) {
	date, rest, ok := readDate(text)
	other := date
	if !ok && !allDigits(text) {
		date, other, rest, ok = s.looseDate(text)
	}
	if !ok {
		if st.sec, ok = s.number(text); ok && clock == nil {
			return st, ""
		}
		if s.brief {
			return st, notShown
		}
		return st, fmt.Sprintf("time %q is not in a known form, such as 2006-01-02 15:04:05, 20060102 150405 or Unix seconds", clip(text))
	}
	if clock == nil {
		if len(rest) > 0 && (rest[0] == ' ' || rest[0] == 'T') {
			rest = rest[1:]
		}
		clock = rest
	} else if len(rest) > 0 {
		return st, fmt.Sprintf("date %q is followed by more than a date", clip(text))
	}
	if s.parts {
		clock = s.toSecond(clock)
	}
	sec, zone, ok := readClock(clock)
	if ok {
		st.offset, st.zoned, ok = readZone(zone)
	}
	if !ok {
		if sec, zone, ok = looseClock(clock); ok {
			st.offset, st.zoned, ok = readZone(zone)
		}
	}
	switch {
	case !ok && s.brief:
		return st, notShown
	case !ok:
		return st, fmt.Sprintf("time of day %q is not in a known form, such as 15:04:05", clip(clock))
	default:
		st.sec, st.local = date.days()*day+int64(sec-st.offset), !st.zoned && s.zone != time.UTC
		if st.either = date != other; st.either {
			st.other = other.days()*day + int64(sec-st.offset)
		}
	}
	return st, ""
}

// toSecond cuts the part of a second off a time of day: 15:04:05.123Z, 150405123, 150405 1230000.
func (s *stampReader) toSecond(clock []byte) []byte {
	n := 0
	for n < len(clock) && (clock[n] >= '0' && clock[n] <= '9' || clock[n] == ':') {
		n++
	}
	from, to := n, n
	switch {
	case n < len(clock) && (clock[n] == '.' || clock[n] == ',' || clock[n] == ' ' && n == 6):
		to++
	case n > 6 && bytes.IndexByte(clock[:n], ':') < 0:
		from, to = 6, 6
	default:
		return clock
	}
	for to < len(clock) && clock[to] >= '0' && clock[to] <= '9' {
		to++
	}
	if to == len(clock) {
		return clock[:from]
	}
	return append(append(s.room[:0], clock[:from]...), clock[to:]...)
}

// number reads Unix time in seconds, or in the thousandths, millionths or
// billionths that the size of the first one suggests.
func (s *stampReader) number(text []byte) (sec int64, ok bool) {
	if s.serial || !s.numbered && isSerial(text) {
		if sec, ok = serialDay(text); ok {
			s.serial, s.numbered = true, true
		}
		return sec, ok
	}
	integer, fraction := text, []byte(nil)
	if bytes.IndexByte(text, '.') >= 0 {
		integer, fraction, _ = bytes.Cut(text, []byte{'.'})
	}
	digits := integer
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 && (len(digits) != 19 || digits[0] > '8') ||
		len(fraction) > 0 && !s.parts && len(bytes.Trim(fraction, "0")) > 0 {
		return 0, false
	}
	var v int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	if s.unit == 0 || s.anyUnit {
		s.unit = unitOf(v)
	}
	if v%s.unit != 0 && !s.parts {
		return 0, false
	}
	v /= s.unit
	s.numbered = true
	if len(integer) > len(digits) {
		v = -v
	}
	return v, plausible(v)
}

// allDigits tells whether a text is digits alone, as only Unix times and compact dates are.
func allDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func plausible(sec int64) bool {
	const from, to = -5364662400, 7289654400 // the first instants of 1800 and 2201
	return sec >= from && sec < to
}

// unitOf guesses what a number counts: in seconds it would lie before 5138.
func unitOf(v int64) int64 {
	switch {
	case v < 1e11:
		return 1
	case v < 1e14:
		return 1e3
	case v < 1e17:
		return 1e6
	}
	return 1e9
}

type date struct{ year, month, day int }

// days is the number of days since 1 January 1970, by counting years from
// March so that the leap day comes last.
func (d date) days() int64 {
	y, m := d.year, d.month-3
	if m < 0 {
		y, m = y-1, m+12
	}
	return int64(365*y + y/4 - y/100 + y/400 + (153*m+2)/5 + d.day - 719469)
}

// readDate reads 2006-01-02, with - . or / between, or 20060102, and gives what follows.
func readDate(b []byte) (d date, rest []byte, ok bool) {
	if len(b) < 8 {
		return d, nil, false
	}
	year, a := pair(b, 0), pair(b, 2)
	month, from := 4, 8
	if c := b[4]; c == '-' || c == '.' || c == '/' {
		if len(b) < 10 || b[7] != c {
			return d, nil, false
		}
		month, from = 5, 10
	}
	d = date{100*year + a, pair(b, month), pair(b, from-2)}
	switch {
	case year < 0 || a < 0 || d.year < firstYear || d.year > lastYear || d.month < 1 || d.month > 12 || d.day < 1 ||
		d.day > daysIn(d.year, d.month):
		return d, nil, false
	case from == 8 && !compactEnd(b[8:]):
		return d, nil, false // a longer number, not a date
	}
	return d, b[from:], true
}

// compactEnd tells whether 20060102 can be followed by b: nothing, a time of
// day behind a space or T, or six more digits.
func compactEnd(b []byte) bool { return len(b) == 0 || b[0] == ' ' || b[0] == 'T' || len(b) == 6 }

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// readClock reads 15:04, 15:04:05, 150405 or 1504, with a fraction of nothing
// but zeros, and gives what follows. No text at all is midnight.
func readClock(b []byte) (sec int, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, true
	}
	width, parts := 2, [3]int{}
	if len(b) > 2 && b[2] == ':' {
		width = 3
	}
	n, at := 0, 0
	for ; n < 3 && pair(b, at) >= 0; n++ {
		parts[n] = pair(b, at)
		at += 2
		if width == 3 {
			if at == len(b) || b[at] != ':' || pair(b, at+1) < 0 {
				n++
				break
			}
			at++
		}
	}
	rest = b[at:]
	if n == 3 && len(rest) > 0 && rest[0] == '.' {
		rest = bytes.TrimLeft(rest[1:], "0")
		if len(rest) > 0 && rest[0] >= '1' && rest[0] <= '9' {
			return 0, nil, false
		}
	}
	ok = n >= 2 && parts[0] < 24 && parts[1] < 60 && parts[2] < 60
	return parts[0]*3600 + parts[1]*60 + parts[2], rest, ok
}

// readZone reads Z, UTC, GMT, +02:00, +0200, +02 or GMT+0200, or nothing.
func readZone(b []byte) (offset int, zoned, ok bool) {
	b = bytes.TrimSpace(b)
	if len(b) > 3 && (bytes.HasPrefix(b, []byte("GMT")) || bytes.HasPrefix(b, []byte("UTC"))) {
		b = b[3:]
	}
	switch string(b) {
	case "":
		return 0, false, true
	case "Z", "z", "UTC", "GMT":
		return 0, true, true
	}
	if b[0] != '+' && b[0] != '-' {
		return 0, false, false
	}
	h, m, rest := pair(b, 1), 0, b[min(3, len(b)):]
	if len(rest) > 0 && rest[0] == ':' {
		rest = rest[1:]
	}
	if len(rest) > 0 {
		m = pair(rest, 0)
		rest = rest[min(2, len(rest)):]
	}
	if h < 0 || h > 15 || m < 0 || m > 59 || len(rest) > 0 {
		return 0, false, false
	}
	offset = h*3600 + m*60
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true, true
}

func isClock(b []byte) bool {
	_, rest, ok := readClock(b)
	return ok && len(b) > 0 && len(rest) == 0
}

// pair is the number that two digits at i of b make, or -1.
func pair(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	x, y := b[i]-'0', b[i+1]-'0'
	if x > 9 || y > 9 {
		return -1
	}
	return int(x)*10 + int(y)
}
