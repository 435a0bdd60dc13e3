package httpapi

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
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
	name  []byte
	index int
}

// where names the place of the scanner.
func (s *scanner) where() string {
	var at strings.Builder
	for _, one := range s.path {
		if one.index >= 0 {
			fmt.Fprintf(&at, "[%d]", one.index)
		} else {
			at.WriteByte('.')
			at.Write(one.name)
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
	var seen names
	into := membersOf(sh, place)
	for s.space(); s.peek() != '}'; s.space() {
		if seen.n > 0 {
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
		twice := !seen.add(key)
		if twice || !known {
			s.pos = start
		}
		if twice {
			return s.fail("the name %.60q is there twice", key)
		}
		if !known {
			return s.fail("there is no field %.60q here%s", key, sh.near(key))
		}
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

// names are the names of one object so far: a list while they are few, as
// they mostly are, then a map.
type names struct {
	n    int
	few  [12][]byte
	many map[string]struct{}
}

// add says whether the name is new.
func (ns *names) add(name []byte) bool {
	if ns.n < len(ns.few) {
		for _, other := range ns.few[:ns.n] {
			if bytes.Equal(other, name) {
				return false
			}
		}
		ns.few[ns.n] = name
		ns.n++
		return true
	}
	if ns.many == nil {
		ns.many = make(map[string]struct{})
		for _, other := range ns.few {
			ns.many[string(other)] = struct{}{}
		}
	}
	if _, twice := ns.many[string(name)]; twice {
		return false
	}
	ns.many[string(name)] = struct{}{}
	return true
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
