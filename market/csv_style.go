package market

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// numberStyle is how a file writes numbers. The zero value is 1234.5.
type numberStyle struct {
	comma  bool // the decimal mark is a comma
	groups bool // digits stand in groups, as in 1,234.5 or 1 234,5
}

// ParseDecimal reads the name of a decimal mark; "" is 0.
func ParseDecimal(s string) (byte, error) {
	switch s {
	case "":
		return 0, nil
	case "comma":
		return ',', nil
	case "point":
		return '.', nil
	}
	return 0, fmt.Errorf("%q is no decimal mark: give comma or point", s)
}

// plain tells whether numbers can be read as they stand.
func (s numberStyle) plain() bool { return !s.comma }

// parse reads a number. A volume may end in K, M or B for thousands, millions and billions.
func (s numberStyle) parse(cell []byte, volume bool) (float64, bool) {
	if v, ok := parseNumber(cell); ok && !s.comma {
		return v, true
	}
	s.groups = s.groups || volume // often the only numbers above a thousand
	if !s.comma && !s.groups {
		return 0, false
	}
	var buf [64]byte
	text, scale := buf[:0], 1.0
	if n := len(cell); volume && n > 1 {
		switch cell[n-1] {
		case 'K':
			scale = 1e3
		case 'M':
			scale = 1e6
		case 'B':
			scale = 1e9
		}
		if scale > 1 {
			cell = bytes.TrimSpace(cell[:n-1])
		}
	}
	if len(cell) > len(buf) || !s.grouped(cell) {
		return 0, false
	}
	for _, c := range cell {
		switch {
		case c == s.decimal():
			text = append(text, '.')
		case s.groups && isGroupMark(c), c >= 0x80: // of a narrow blank in UTF-8
		default:
			text = append(text, c)
		}
	}
	v, ok := parseNumber(text)
	return v * scale, ok
}

func (s numberStyle) decimal() byte {
	if s.comma {
		return ','
	}
	return '.'
}

func isGroupMark(c byte) bool { return c == ',' || c == '.' || c == ' ' || c == '\'' || c >= 0x80 }

// grouped tells whether the marks between digits stand where groups of three end.
func (s numberStyle) grouped(cell []byte) bool {
	integer, fraction, _ := bytes.Cut(cell, []byte{s.decimal()})
	if slices.ContainsFunc(fraction, isGroupMark) {
		return false
	}
	run, marks := 0, 0
	for i, c := range integer {
		switch {
		case c >= '0' && c <= '9':
			run++
		case i == 0 && (c == '-' || c == '+'):
		case c >= 0x80 && i > 0 && integer[i-1] >= 0x80: // the rest of a blank of several bytes
		case isGroupMark(c):
			if !s.groups || run == 0 || run > 3 || marks > 0 && run != 3 {
				return false
			}
			run, marks = 0, marks+1
		default:
			return marks == 0 // an exponent: left to the parser
		}
	}
	return marks == 0 || run == 3
}

// styleOf tells how numbers are written by those of many rows. asked is ',' or '.',
// or 0 where the user has not said it.
func styleOf(cells [][]byte, asked byte) (numberStyle, error) {
	comma, point, groups := asked == ',', asked == '.', false
	var unsure []byte // 1,234: a fraction of three digits, or a group
	for _, cell := range cells {
		commas, points := bytes.Count(cell, []byte{','}), bytes.Count(cell, []byte{'.'})
		for _, c := range cell {
			groups = groups || c == ' ' || c == '\'' || c >= 0x80
		}
		switch {
		case commas == 0 && points == 0:
		case commas > 0 && points > 0:
			last := bytes.LastIndexByte(cell, ',') > bytes.LastIndexByte(cell, '.')
			comma, point, groups = comma || last, point || !last, true
		case commas > 1:
			point, groups = true, true
		case points > 1:
			comma, groups = true, true
		case commas == 1 && isGroup(cell, ','):
			unsure = cell
		case commas == 1:
			comma = true
		case points == 1 && !isGroup(cell, '.'):
			point = true
		}
	}
	switch {
	case comma && point && asked == 0:
		return numberStyle{}, errors.New("some numbers have a decimal comma and others a decimal point: write all of them with a point")
	case unsure != nil && !comma && !point:
		return numberStyle{}, fmt.Errorf("%q may be a number with a decimal comma or one above a thousand, and no price in the first "+
			"rows decides: "+
			"give --decimal comma or --decimal point", clip(unsure))
	}
	return numberStyle{comma: comma, groups: groups || unsure != nil && point}, nil
}

// isGroup tells whether the mark stands before exactly three digits, with one to three before it.
func isGroup(cell []byte, mark byte) bool {
	i := bytes.IndexByte(cell, mark)
	return i >= 1 && i <= 3 && len(cell)-i-1 == 3 && cell[0] != '0'
}
