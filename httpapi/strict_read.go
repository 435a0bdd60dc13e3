package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
)

// members is a struct or a map that is being read, or nothing.
type members struct {
	shape *shape
	into  reflect.Value
	elem  reflect.Value // of a map: where the next value is read
}

func membersOf(sh *shape, into reflect.Value) members {
	m := members{shape: sh, into: into}
	if into.IsValid() && sh.is(ofMap) {
		into.Set(reflect.MakeMap(into.Type()))
		m.elem = reflect.New(sh.elem).Elem()
	}
	return m
}

// place is where the value of a name is to be read.
func (m *members) place(name []byte) reflect.Value {
	switch {
	case !m.into.IsValid():
		return m.into
	case m.elem.IsValid():
		m.elem.SetZero()
		return m.elem
	}
	return m.into.FieldByIndex(m.shape.fields[string(name)].Index)
}

// keep keeps the value that was read for a name.
func (m *members) keep(name []byte) {
	if m.elem.IsValid() {
		m.into.SetMapIndex(reflect.ValueOf(string(name)), m.elem)
	}
}

// textInto reads a string, or bytes in base64.
func (s *scanner) textInto(sh *shape, into reflect.Value) error {
	quoted, escaped, err := s.text()
	switch {
	case err != nil || !into.IsValid():
		return err
	case escaped:
		s.assign(sh, quoted, into)
	case sh.how == ofText:
		into.SetString(string(quoted[1 : len(quoted)-1]))
	default:
		text := quoted[1 : len(quoted)-1]
		raw := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(raw, text)
		if err != nil {
			s.misfit(err)
		}
		into.SetBytes(raw[:n])
	}
	return nil
}

// assign reads a value whose text was checked.
func (s *scanner) assign(sh *shape, text []byte, into reflect.Value) {
	if sh.is(ofRaw) {
		into.SetBytes(bytes.Clone(text)) // whoever keeps it must not keep all of the body
		return
	}
	if err := json.Unmarshal(text, into.Addr().Interface()); err != nil {
		s.misfit(err)
	}
}

// misfit notes what did not fit, and goes on.
func (s *scanner) misfit(err error) {
	if s.unfit != nil {
		return
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		s.unfit = malformed("the body does not fit: %.200s cannot hold a JSON %s", s.where(), te.Value)
		return
	}
	s.unfit = malformed("the body does not fit: %.200s: %w", s.where(), err)
}
