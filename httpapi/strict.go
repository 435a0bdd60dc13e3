package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

const maxDepth = 64

// strictJSON checks a body before encoding/json sees it, which would be too
// kind: it takes the last of two equal keys, ignores the case of names,
// replaces broken UTF-8, and accepts text that a database refuses later. What
// passes here means one thing only, and every part of it can be stored.
//
// t is the type the body is for; names that none of its structs has are
// refused. Where t says nothing (a raw message), any name goes.
func strictJSON(body []byte, t reflect.Type) error {
	s := &scanner{data: body}
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return s.fail("it begins with a byte order mark; send plain UTF-8")
	}
	if !utf8.Valid(body) {
		for s.pos < len(body) {
			r, size := utf8.DecodeRune(body[s.pos:])
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
	if err := s.value(t, 1); err != nil {
		return err
	}
	if s.space(); s.pos != len(body) {
		return s.fail("there is more after the JSON object")
	}
	return nil
}

// scanner walks over JSON text, knowing where it is.
type scanner struct {
	data []byte
	pos  int
	path []string
}

// fail says what is wrong, and where: by name for people who write JSON by
// hand, by line and column for everybody else.
func (s *scanner) fail(format string, args ...any) error {
	before := s.data[:min(s.pos, len(s.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	at := ""
	if len(s.path) > 0 {
		at = fmt.Sprintf("at %.200s, ", strings.TrimPrefix(strings.Join(s.path, ""), "."))
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

func (s *scanner) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return s.fail("it is nested deeper than %d levels", maxDepth)
	}
	switch b := s.peek(); {
	case b == '{':
		return s.object(shapeOf(t), depth)
	case b == '[':
		return s.array(shapeOf(t), depth)
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

func (s *scanner) object(sh *shape, depth int) error {
	s.pos++
	seen := make(map[string]struct{})
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
		inner, known := sh.field(key)
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
		s.path = append(s.path, "."+key)
		if err := s.value(inner, depth+1); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
	}
	s.pos++
	return nil
}

func (s *scanner) array(sh *shape, depth int) error {
	s.pos++
	n := 0
	for s.space(); s.peek() != ']'; s.space() {
		if n > 0 {
			if s.peek() != ',' {
				return s.fail("a comma or ] is missing")
			}
			s.pos++
			s.space()
		}
		s.path = append(s.path, "["+strconv.Itoa(n)+"]")
		if err := s.value(sh.element(), depth+1); err != nil {
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
		case b < ' ':
			return nil, false, s.fail("a control character stands in a string; write it as an escape")
		default:
			s.pos++
		}
	}
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

// shape is what a Go type says about the JSON it is read from. A nil shape
// says nothing.
type shape struct {
	fields map[string]reflect.Type // of a struct
	elem   reflect.Type            // of a map, a slice or an array
}

// field says whether a name may stand here, and what its value is for.
func (sh *shape) field(name string) (reflect.Type, bool) {
	if sh == nil || sh.fields == nil {
		return sh.element(), true
	}
	t, ok := sh.fields[name]
	return t, ok
}

func (sh *shape) element() reflect.Type {
	if sh == nil {
		return nil
	}
	return sh.elem
}

var shapes sync.Map // reflect.Type -> *shape

func shapeOf(t reflect.Type) *shape {
	if t == nil {
		return nil
	}
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	sh := newShape(t)
	shapes.Store(t, sh)
	return sh
}

var (
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func newShape(t reflect.Type) *shape {
	if t.Kind() == reflect.Pointer {
		return shapeOf(t.Elem())
	}
	if p := reflect.PointerTo(t); p.Implements(jsonReader) || p.Implements(textReader) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		sh := &shape{fields: make(map[string]reflect.Type)}
		for _, f := range reflect.VisibleFields(t) {
			if name, ok := jsonName(f); ok {
				sh.fields[name] = f.Type
			}
		}
		return sh
	case reflect.Map, reflect.Slice, reflect.Array:
		return &shape{elem: t.Elem()}
	default:
		return nil
	}
}

// jsonName returns a field's name on the wire, if it has one.
func jsonName(f reflect.StructField) (string, bool) {
	if f.Anonymous || !f.IsExported() {
		return "", false
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch name {
	case "-":
		return "", false
	case "":
		return f.Name, true
	}
	return name, true
}
