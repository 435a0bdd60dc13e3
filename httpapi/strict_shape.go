package httpapi

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/ktrdr/ktrdr/internal/text"
)

// shape is what a Go type says about the JSON it is read from. A nil shape
// says nothing.
type shape struct {
	how    reading
	fields map[string]reflect.StructField // of a struct
	elem   reflect.Type                   // of a map, a slice or an array
}

// reading is how values of a type are read. What has no way of its own is left
// to encoding/json once it has been checked.
type reading int

const (
	ofJSON reading = iota
	ofStruct
	ofMap
	ofSlice
	ofText
	ofBytes
	ofPointer
	ofRaw
)

func (sh *shape) is(r reading) bool { return sh != nil && sh.how == r }
func (sh *shape) pointer() bool     { return sh.is(ofPointer) }
func (sh *shape) takesObject() bool { return sh.is(ofStruct) || sh.is(ofMap) }
func (sh *shape) takesArray() bool  { return sh.is(ofSlice) }
func (sh *shape) takesText() bool   { return sh.is(ofText) || sh.is(ofBytes) }

// member says whether a name may stand here, and what its value is for.
func (sh *shape) member(name []byte) (reflect.Type, bool) {
	if sh == nil || sh.fields == nil {
		return sh.element(), true
	}
	f, ok := sh.fields[string(name)]
	return f.Type, ok
}

// near names the field that a misspelt name is nearest to.
func (sh *shape) near(name []byte) string {
	if near := text.Nearest(string(name), slices.Sorted(maps.Keys(sh.fields))); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
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
	rawMessage = reflect.TypeFor[json.RawMessage]()
	jsonNumber = reflect.TypeFor[json.Number]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func newShape(t reflect.Type) *shape {
	if t == rawMessage {
		return &shape{how: ofRaw}
	}
	if t.Kind() == reflect.Pointer {
		return newPointer(shapeOf(t.Elem()))
	}
	if p := reflect.PointerTo(t); p.Implements(jsonReader) || p.Implements(textReader) || t == jsonNumber {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return newStruct(t)
	case reflect.Map:
		if t.Key() == reflect.TypeFor[string]() {
			return &shape{how: ofMap, elem: t.Elem()}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{how: ofBytes, elem: t.Elem()}
		}
		return &shape{how: ofSlice, elem: t.Elem()}
	case reflect.String:
		return &shape{how: ofText}
	case reflect.Array:
	default:
		return nil
	}
	return &shape{elem: t.Elem()}
}

// newPointer is the shape of a pointer: of what it points to, but made first.
// What reads itself is left to encoding/json with the pointer.
func newPointer(to *shape) *shape {
	if to == nil || to.how == ofRaw || to.how == ofPointer {
		return to.unread()
	}
	sh := *to
	sh.how = ofPointer
	return &sh
}

func newStruct(t reflect.Type) *shape {
	sh := &shape{how: ofStruct, fields: make(map[string]reflect.StructField)}
	for _, f := range reflect.VisibleFields(t) {
		name, ok := jsonName(f)
		if !ok {
			continue
		}
		sh.fields[name] = f
		if strings.Contains(f.Tag.Get("json"), ",string") || throughPointer(t, f) {
			sh.how = ofJSON
		}
	}
	return sh
}

// throughPointer says whether a field is one of an embedded pointer.
func throughPointer(t reflect.Type, f reflect.StructField) bool {
	for _, i := range f.Index[:len(f.Index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// unread is the shape for values that are left to encoding/json.
func (sh *shape) unread() *shape {
	if sh == nil {
		return nil
	}
	return &shape{fields: sh.fields, elem: sh.elem}
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
