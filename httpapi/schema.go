package httpapi

import (
	"fmt"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// schemaBook holds the schemas of our structs by name. A struct inside another
// is referred to, which also lets one contain itself: jsonschema infers the
// rest, but not cycles.
type schemaBook struct {
	types   ktrdr.Types
	schemas map[string]*jsonschema.Schema
	known   map[reflect.Type]*jsonschema.Schema // how a type is written where it is used
}

func newSchemaBook(types ktrdr.Types) *schemaBook {
	book := &schemaBook{types: types, schemas: make(map[string]*jsonschema.Schema), known: knownSchemas(types)}
	book.known[reflect.TypeFor[time.Time]()] = &jsonschema.Schema{Type: "string", Format: "date-time"}
	return book
}

// of returns the schema to write where t is used.
func (b *schemaBook) of(t reflect.Type) (*jsonschema.Schema, error) {
	if err := b.learn(t); err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Pointer { // null, or what it points to
		s, err := b.of(t.Elem())
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}, err
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: b.known})
}

// learn enters every struct that t reaches into the book.
func (b *schemaBook) learn(t reflect.Type) error {
	if b.known[t] != nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return b.learn(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	name := schemaName(t)
	if b.schemas[name] != nil {
		return fmt.Errorf("two types are named %s; one is %s", name, t)
	}
	b.known[t] = componentRef(name) // before its fields: it may contain itself
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema)}
	b.schemas[name] = s
	for _, f := range reflect.VisibleFields(t) {
		if err := b.field(s, f); err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	return nil
}

func (b *schemaBook) field(s *jsonschema.Schema, f reflect.StructField) error {
	name, ok := api.JSONName(f)
	if !ok {
		return nil
	}
	ft := f.Type
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	optional := strings.Contains(options, "omit")
	if optional && ft.Kind() == reflect.Pointer {
		ft = ft.Elem() // a nil one is absent, not null
	}
	fs, err := b.of(ft)
	if err != nil {
		return err
	}
	s.Properties[name] = fs
	s.PropertyOrder = append(s.PropertyOrder, name)
	if !optional {
		s.Required = append(s.Required, name)
	}
	return nil
}

// schemaName is the name of a type in the document: that of its package, unless it
// is one of the API's own or of the domain's, and its own.
func schemaName(t reflect.Type) string {
	if t == reflect.TypeFor[api.Failure]() {
		return "Error"
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	owner := path.Base(t.PkgPath())
	if owner == "ktrdr" || owner == "api" {
		return name
	}
	return strings.ToUpper(owner[:1]) + owner[1:] + strings.TrimPrefix(name, strings.ToUpper(owner[:1])+owner[1:])
}
