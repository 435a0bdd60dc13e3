package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const maxDepth = 64

// readJSON reads a body into what v points to, in one pass, more strictly than
// encoding/json, which would be too kind: it takes the last of two equal keys,
// ignores the case of names, replaces broken UTF-8, and accepts text that a
// database refuses later. What passes here means one thing only, and every part
// of it can be stored.
//
// Names that none of v's structs has are refused. Where its type says nothing
// (a raw message), any name goes.
func readJSON(body []byte, v any) error {
	into := reflect.ValueOf(v).Elem()
	return (&scanner{data: body}).document(into.Type(), into)
}

func (s *scanner) document(t reflect.Type, into reflect.Value) error {
	if bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
		return s.fail("it begins with a byte order mark; send plain UTF-8")
	}
	if !utf8.Valid(s.data) {
		for s.pos < len(s.data) {
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			s.pos += size
		}
		return s.fail("it is not valid UTF-8")
	}
	s.space()
	if s.peek() != '{' {
		return s.fail("it must be a JSON object")
	}
	if err := s.value(t, into, 1); err != nil {
		return err
	}
	if s.space(); s.pos != len(s.data) {
		return s.fail("there is more after the JSON object")
	}
	return s.unfit
}

// scanner walks over JSON text, knowing where it is.
type scanner struct {
	data  []byte
	pos   int
	path  []step
	unfit error // the first value that its place cannot hold; what is wrong with the text counts more
}

// step is the name of a field, or an index that is not negative.
type step struct {
	name  string
	index int
}

// where names the place of the scanner.
func (s *scanner) where() string {
	var at strings.Builder
	for _, one := range s.path {
		if one.index >= 0 {
			fmt.Fprintf(&at, "[%d]", one.index)
		} else {
			at.WriteString("." + one.name)
		}
	}
	return strings.TrimPrefix(at.String(), ".")
}

// fail says what is wrong, and where: by name for people who write JSON by
// hand, by line and column for everybody else.
func (s *scanner) fail(format string, args ...any) error {
	before := s.data[:min(s.pos, len(s.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	at := ""
	if len(s.path) > 0 {
		at = fmt.Sprintf("at %.200s, ", s.where())
	}
	return malformed("the body cannot be read: %s (%sline %d, column %d)", fmt.Sprintf(format, args...), at, line, column)
}

// peek returns the next byte, or 0 at the end: 0 begins nothing in JSON.
func (s *scanner) peek() byte {
	if s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// value reads one value of type t into a place, or when that is not valid
// passes over it.
func (s *scanner) value(t reflect.Type, into reflect.Value, depth int) error {
	if depth > maxDepth {
		return s.fail("it is nested deeper than %d levels", maxDepth)
	}
	sh := shapeOf(t)
	switch b := s.peek(); {
	case sh.pointer() && b != 'n' && into.IsValid():
		into.Set(reflect.New(t.Elem()))
		return s.value(t.Elem(), into.Elem(), depth)
	case b == '{' && sh.takesObject():
		return s.object(sh, into, depth)
	case b == '[' && sh.takesArray():
		return s.array(sh, into, depth)
	case b == '"' && sh.takesText():
		return s.textInto(sh, into)
	}
	start := s.pos
	if err := s.pass(sh, depth); err != nil || !into.IsValid() {
		return err
	}
	s.assign(sh, s.data[start:s.pos], into)
	return nil
}

// pass checks a value that is not read part by part.
func (s *scanner) pass(sh *shape, depth int) error {
	switch b := s.peek(); {
	case b == '{':
		return s.object(sh, reflect.Value{}, depth)
	case b == '[':
		return s.array(sh, reflect.Value{}, depth)
	case b == '"':
		_, _, err := s.text()
		return err
	case b == '-' || b >= '0' && b <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
			s.pos += len(word)
			return nil
		}
	}
	if s.pos >= len(s.data) {
		return s.fail("it ends too early")
	}
	return s.fail("there is no JSON value here")
}

func (s *scanner) object(sh *shape, place reflect.Value, depth int) error {
	s.pos++
	seen := make(map[string]struct{})
	into := membersOf(sh, place)
	for s.space(); s.peek() != '}'; s.space() {
		if len(seen) > 0 {
			if s.peek() != ',' {
				return s.fail("a comma or } is missing")
			}
			s.pos++
			s.space()
		}
		if s.peek() != '"' {
			return s.fail("a name in double quotes is missing")
		}
		start := s.pos
		key, err := s.name()
		if err != nil {
			return err
		}
		t, known := sh.member(key)
		_, twice := seen[key]
		if twice || !known {
			s.pos = start
		}
		if twice {
			return s.fail("the name %.60q is there twice", key)
		}
		if !known {
			return s.fail("there is no field %.60q here", key)
		}
		seen[key] = struct{}{}
		s.space()
		if s.peek() != ':' {
			return s.fail("a colon is missing")
		}
		s.pos++
		s.space()
		s.path = append(s.path, step{name: key, index: -1})
		if err := s.value(t, into.place(key), depth+1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		into.keep(key)
	}
	s.pos++
	return nil
}

func (s *scanner) array(sh *shape, into reflect.Value, depth int) error {
	s.pos++
	if into.IsValid() {
		into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	}
	n := 0
	for s.space(); s.peek() != ']'; s.space() {
		if n > 0 {
			if s.peek() != ',' {
				return s.fail("a comma or ] is missing")
			}
			s.pos++
			s.space()
		}
		s.path = append(s.path, step{index: n})
		var place reflect.Value
		if into.IsValid() {
			into.Grow(1)
			into.SetLen(n + 1)
			place = into.Index(n)
		}
		if err := s.value(sh.element(), place, depth+1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		n++
	}
	s.pos++
	return nil
}

// name reads a string and returns what it says.
func (s *scanner) name() (string, error) {
	quoted, escaped, err := s.text()
	if err != nil || !escaped {
		return string(bytes.Trim(quoted, `"`)), err
	}
	var name string
	err = json.Unmarshal(quoted, &name)
	return name, err
}

// text reads a string and returns it as it is written.
func (s *scanner) text() (quoted []byte, escaped bool, err error) {
	start := s.pos
	s.pos++
	for {
		for s.pos < len(s.data) && ordinary[s.data[s.pos]] {
			s.pos++
		}
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

// ordinary are the bytes that mean themselves in a string.
var ordinary = func() (is [256]bool) {
	for b := range is {
		is[b] = b >= ' ' && b != '"' && b != '\\'
	}
	return is
}()

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

// number reads a number that a float64 can hold: 1e400 is JSON, and infinite.
func (s *scanner) number() error {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("a digit is missing")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("a digit is missing")
		}
	}
	if b := s.peek(); b == 'e' || b == 'E' {
		s.pos++
		if b := s.peek(); b == '+' || b == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail("a digit is missing")
		}
	}
	if _, err := strconv.ParseFloat(string(s.data[start:s.pos]), 64); err != nil {
		s.pos = start
		return s.fail("a number is too large")
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for b := s.peek(); b >= '0' && b <= '9'; b = s.peek() {
		s.pos++
	}
	return s.pos > start
}
