package market

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

type role uint8

const (
	ignored role = iota
	timeRole
	clockRole // the time of day, where the date stands in a column of its own
	openRole
	highRole
	lowRole
	closeRole
	volumeRole
)

var roleNames = [...]string{"", "time", "time of day", "open", "high", "low", "close", "volume"}

// headings names the columns as files do, in lower case and without what is
// neither letter nor digit. Where a file has several headings of one role, the
// one with the lowest rank is taken: MetaTrader writes ticks as <TICKVOL> and
// then a <VOL> that is mostly 0.
var headings = map[string]struct {
	role role
	rank int
}{
	"timestamp": {timeRole, 1}, "datetime": {timeRole, 2}, "date": {timeRole, 3}, "gmttime": {timeRole, 4},
	"opentime": {timeRole, 5}, "time": {timeRole, 6}, "unix": {timeRole, 7},
	"indexlevel0": {timeRole, 8}, // what pandas calls an index without a name in Parquet
	"open":        {openRole, 1}, "high": {highRole, 1}, "low": {lowRole, 1}, "close": {closeRole, 1},
	"o": {openRole, 2}, "h": {highRole, 2}, "l": {lowRole, 2}, "c": {closeRole, 2},
	"volume": {volumeRole, 1}, "tickvolume": {volumeRole, 2}, "tickvol": {volumeRole, 3}, "vol": {volumeRole, 4}, "v": {volumeRole, 5},
}

// heading reduces a column's name to the form in which headings has it.
func heading(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}

type layout struct {
	sep     byte
	columns []role
	brief   bool // as of stampReader
}

// layoutOf recognises the layout by the first line, and whether that is a header.
func layoutOf(line []byte) (l layout, header bool, err error) {
	l.sep = separator(line)
	cells := bytes.Split(line, []byte{l.sep})
	names := make([]string, len(cells))
	for i, cell := range cells {
		names[i] = string(unquoted(cell))
		header = header || headings[heading(names[i])].role != ignored
	}
	if header {
		l.columns, err = rolesOf(names)
		return l, true, err
	}
	switch {
	case len(cells) == 6:
		l.columns = []role{timeRole, openRole, highRole, lowRole, closeRole, volumeRole}
	case len(cells) == 7 && isClock(unquoted(cells[1])):
		l.columns = []role{timeRole, clockRole, openRole, highRole, lowRole, closeRole, volumeRole}
	default:
		return l, false,
			fmt.Errorf("%q is neither a header with open, high, low and close nor a row of time, open, high, low, close, volume; add a header",
				clip(line))
	}
	return l, false, nil
}

func separator(line []byte) byte {
	best := byte(',')
	for _, c := range []byte{';', '\t'} {
		if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{best}) {
			best = c
		}
	}
	return best
}

func rolesOf(names []string) ([]role, error) {
	columns := make([]role, len(names))
	at := map[role]int{} // column of each role
	for i, name := range names {
		h := headings[heading(name)]
		if h.role == ignored {
			continue
		}
		j, taken := at[h.role]
		switch rank := headings[heading(names[max(j, 0)])].rank; {
		case taken && rank == h.rank:
			return nil, fmt.Errorf("columns %d and %d are both named %q; rename one", j+1, i+1, name)
		case !taken || h.rank < rank:
			at[h.role] = i
		}
	}
	if _, ok := at[timeRole]; !ok && names[0] == "" {
		at[timeRole] = 0 // a table whose index has no name
	}
	for _, r := range []role{timeRole, openRole, highRole, lowRole, closeRole} {
		if _, ok := at[r]; !ok {
			return nil, fmt.Errorf("the header %q has no column for %s", clip([]byte(strings.Join(names, ","))), roleNames[r])
		}
	}
	for r, i := range at {
		columns[i] = r
	}
	if heading(names[at[timeRole]]) == "date" {
		for i, name := range names {
			if heading(name) == "time" {
				columns[i] = clockRole
			}
		}
	}
	return columns, nil
}

type fields struct{ time, clock []byte }

// split reads the numbers of a row into b and finds the texts of its time. It returns what is wrong, or "".
func (l *layout) split(line []byte, b *Bar, f *fields) (problem string) {
	into := [...]*float64{openRole: &b.Open, highRole: &b.High, lowRole: &b.Low, closeRole: &b.Close, volumeRole: &b.Volume}
	more := true
	for _, r := range l.columns {
		if !more {
			if r == ignored || r == volumeRole {
				continue
			}
			return "the row ends before " + roleNames[r]
		}
		if r >= openRole {
			if v, n, ok := shortNumber(line, l.sep); ok {
				*into[r] = v
				line, more = after(line, n)
				continue
			}
		}
		cell, rest, found := l.cell(line)
		line, more = rest, found
		switch {
		case r == timeRole:
			f.time = unquoted(cell)
		case r == clockRole:
			f.clock = unquoted(cell)
		case r >= openRole:
			v, err := numberOf(unquoted(cell), r, l.brief)
			if err != nil {
				return err.Error()
			}
			*into[r] = v
		}
	}
	return ""
}

// cell cuts the first cell off a line. Only a quoted one may hold a separator.
func (l *layout) cell(line []byte) (cell, rest []byte, found bool) {
	if len(line) > 0 && line[0] == '"' {
		if end := bytes.IndexByte(line[1:], '"'); end >= 0 {
			n := end + 2
			if n == len(line) || line[n] == l.sep {
				rest, found = after(line, n)
				return line[:n], rest, found
			}
		}
	}
	return bytes.Cut(line, []byte{l.sep})
}

// after is what follows the cell of n bytes, and whether anything does.
func after(line []byte, n int) (rest []byte, found bool) {
	if n == len(line) {
		return nil, false
	}
	return line[n+1:], true
}

var errNotShown = errors.New(notShown)

// numberOf reads a cell that is not a plain short number. An empty volume is a missing one.
func numberOf(cell []byte, r role, brief bool) (float64, error) {
	if len(cell) == 0 {
		if r == volumeRole {
			return 0, nil
		}
		return 0, errors.New(roleNames[r] + " is empty")
	}
	v, ok := parseNumber(cell)
	if !ok && brief {
		return 0, errNotShown
	}
	if !ok {
		return 0, fmt.Errorf("%s %q is not a number", roleNames[r], clip(cell))
	}
	return v, nil
}

func unquoted(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	if n := len(cell); n >= 2 && cell[0] == '"' && cell[n-1] == '"' {
		cell = bytes.TrimSpace(cell[1 : n-1])
	}
	return cell
}

func clip(b []byte) string { return text.Cut(b, 60) }
