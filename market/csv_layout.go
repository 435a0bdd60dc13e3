package market

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
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
	spreadRole
	bidRole
	askRole
	adjustedRole // the close after splits and dividends, beside the close as it was
	symbolRole
)

var roleNames = [...]string{
	"", "time", "time of day", "open", "high", "low", "close", "volume", "spread", "bid", "ask",
	"adjusted close", "symbol",
}

type layout struct {
	sep     byte
	columns []role
	numbers numberStyle
	point   float64 // how many points of the spread make a price of 1; 0: the spread is a price
	kind    kind    // what a row is
	brief   bool    // as of stampReader
}

// kind is what the rows of a table are.
type kind uint8

const (
	barRows   kind = iota
	quoteRows      // of a bid and an ask
	tradeRows      // of a price and a volume
)

// kindOf tells what rows with these columns are.
func kindOf(columns []role) kind {
	has := func(r role) bool { return slices.Contains(columns, r) }
	switch {
	case has(openRole) || has(highRole) || has(lowRole):
		return barRows
	case has(bidRole) && has(askRole):
		return quoteRows
	case has(closeRole) && has(volumeRole):
		return tradeRows
	}
	return barRows
}

func rolesOf(names []string) ([]role, error) {
	columns := make([]role, len(names))
	at := map[role]int{} // column of each role
	for i, name := range names {
		h := roleOf(name)
		if h.role == ignored {
			continue
		}
		j, taken := at[h.role]
		switch rank := roleOf(names[max(j, 0)]).rank; {
		case taken && rank == h.rank && rank == rankOfCoin:
		case taken && rank == h.rank:
			return nil, fmt.Errorf("columns %d and %d are both named %q; rename one", j+1, i+1, name)
		case !taken || h.rank < rank:
			at[h.role] = i
		}
	}
	if _, ok := at[timeRole]; !ok && names[0] == "" {
		at[timeRole] = 0 // a table whose index has no name
	}
	if err := complete(names, at); err != nil {
		return nil, err
	}
	for r, i := range at {
		columns[i] = r
	}
	if dayNames[heading(names[at[timeRole]])] {
		for i, name := range names {
			if clockNames[heading(name)] {
				columns[i] = clockRole
			}
		}
	}
	return columns, nil
}

// complete tells whether columns make bars, quotes or trades, and takes out of at those that
// do not belong to them.
func complete(names []string, at map[role]int) error {
	needed := []role{timeRole, openRole, highRole, lowRole, closeRole}
	rank := func(r role) int {
		if i, ok := at[r]; ok {
			return roleOf(names[i]).rank
		}
		return 0
	}
	_, open := at[openRole]
	_, high := at[highRole]
	switch {
	case !open && !high && rank(bidRole) > 0 && rank(askRole) > 0:
		needed = []role{timeRole}
		delete(at, closeRole)
		delete(at, volumeRole) // that of the last trade
	case !open && !high && rank(closeRole) >= rankOfPrice && rank(volumeRole) > 0:
		needed = []role{timeRole}
		delete(at, spreadRole)
	default:
		if rank(volumeRole) == rankOfSize {
			delete(at, volumeRole)
		}
		if _, bid := at[bidRole]; !bid && rank(closeRole) != rankOfBid || rank(spreadRole) > 0 {
			delete(at, bidRole)
			delete(at, askRole)
		}
		if _, ask := at[askRole]; !ask {
			delete(at, bidRole)
		}
	}
	for _, r := range needed {
		if _, ok := at[r]; !ok {
			return fmt.Errorf("the header %q has no column for %s: if the file has it, name it so in the header",
				clip([]byte(strings.Join(names, ","))), roleNames[r])
		}
	}
	return nil
}

type fields struct {
	time, clock, symbol []byte
	adjusted, bid, ask  float64
}

// split reads the numbers of a row into b and finds the texts of its time. It returns what is wrong, or "".
func (l *layout) split(line []byte, b *Bar, f *fields) (problem string) {
	into := [...]*float64{
		openRole: &b.Open, highRole: &b.High, lowRole: &b.Low, closeRole: &b.Close, volumeRole: &b.Volume, spreadRole: &b.Spread,
		adjustedRole: &f.adjusted, bidRole: &f.bid, askRole: &f.ask,
	}
	b.Volume, b.Spread, f.bid, f.ask = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	plain := l.numbers.plain()
	more := true
	for _, r := range l.columns {
		if !more {
			if r == ignored || r.optional() {
				continue
			}
			return "the row ends before " + roleNames[r]
		}
		if plain && r >= openRole && r <= adjustedRole {
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
		case r == symbolRole:
			f.symbol = unquoted(cell)
		case r >= openRole:
			v, err := l.numberOf(unquoted(cell), r)
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
	if n := bytes.IndexByte(line, l.sep); n >= 0 {
		return line[:n], line[n+1:], true
	}
	return line, nil, false
}

// after is what follows the cell of n bytes, and whether anything does.
func after(line []byte, n int) (rest []byte, found bool) {
	if n == len(line) {
		return nil, false
	}
	return line[n+1:], true
}

var errNotShown = errors.New(notShown)

// optional tells whether a row may have no value of the column.
func (r role) optional() bool { return r >= volumeRole && r <= askRole }

// noValue are what programs write where they have no number.
var noValue = map[string]bool{
	"": true, "-": true, "null": true, "NULL": true, "None": true, "N/A": true, "n/a": true, "NA": true, "#N/A": true,
}

// numberOf reads a cell that is not a plain short number. A volume or a spread without
// a value is not known, which is not 0.
func (l *layout) numberOf(cell []byte, r role) (float64, error) {
	if r.optional() && noValue[string(cell)] {
		return math.NaN(), nil
	}
	if len(cell) == 0 {
		return 0, errors.New(roleNames[r] + " is empty")
	}
	v, ok := l.numbers.parse(cell, r == volumeRole)
	if !ok && l.brief {
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
