package httpapi

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// name reads a string and returns what it says.
func (s *scanner) name() ([]byte, error) {
	quoted, escaped, err := s.text()
	switch {
	case err != nil:
		return nil, err
	case !escaped:
		return quoted[1 : len(quoted)-1], nil
	}
	var name string
	err = json.Unmarshal(quoted, &name)
	return []byte(name), err
}

// text reads a string and returns it as it is written.
func (s *scanner) text() (quoted []byte, escaped bool, err error) {
	start := s.pos
	s.pos++
	for {
		s.pos += ordinary(s.data[s.pos:])
		switch b := s.peek(); {
		case s.pos >= len(s.data):
			return nil, false, s.fail("a string does not end")
		case b == '"':
			s.pos++
			return s.data[start:s.pos], escaped, nil
		case b == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			return nil, false, s.fail("a control character stands in a string; write it as an escape")
		}
	}
}

// ordinary counts the bytes up to the first that does not mean itself in a
// string: a quote, a backslash or a control character. It looks at eight at a
// time: values are long strings of base64.
func ordinary(text []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	// under marks with their high bits the bytes of x that are less than n, and
	// perhaps some behind the first of them.
	under := func(x, n uint64) uint64 { return (x - ones*n) &^ x & highs }
	n := 0
	for ; n+8 <= len(text); n += 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		if special := under(x, ' ') | under(x^ones*'"', 1) | under(x^ones*'\\', 1); special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for n < len(text) && text[n] >= ' ' && text[n] != '"' && text[n] != '\\' {
		n++
	}
	return n
}

// escape reads one escape. NUL and half surrogate pairs are refused: they are
// JSON, but no text that every store can keep.
func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
	default:
		return s.fail("there is no such escape")
	}
	r, ok := s.hex4()
	if !ok {
		return s.fail("\\u needs four hex digits")
	}
	if r == 0 {
		return s.fail("a string contains NUL, which cannot be stored")
	}
	if !utf16.IsSurrogate(r) {
		return nil
	}
	if s.peek() == '\\' && s.pos+1 < len(s.data) && s.data[s.pos+1] == 'u' {
		s.pos++
		if low, ok := s.hex4(); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			return nil
		}
	}
	return s.fail("a string contains half a surrogate pair, which is no character")
}

// hex4 reads uXXXX.
func (s *scanner) hex4() (rune, bool) {
	if s.pos+5 > len(s.data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.data[s.pos+1:s.pos+5]), 16, 32)
	if err != nil {
		return 0, false
	}
	s.pos += 5
	return rune(n), true
}
