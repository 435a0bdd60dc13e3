package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
)

// The places of a parameter.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
)

// Parameter is a field of a request that is not in its body.
type Parameter struct {
	Name string
	In   string
	Doc  string
	Type reflect.Type // a slice may be repeated, or hold several values separated by commas
	Max  int          // bytes of a text
	// Names are the values that it takes, in either case; nil means any.
	Names []string

	index []int
}

// maxText is how many bytes a parameter has unless its field says otherwise.
const maxText = 1024

// Params returns the parameters of a request type, in the order of its fields.
func Params(t reflect.Type) (all []Parameter) {
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []string{InPath, InQuery, InHeader} {
			name, ok := f.Tag.Lookup(in)
			if !ok {
				continue
			}
			p := Parameter{Name: name, In: in, Doc: f.Tag.Get("doc"), Type: f.Type, Max: maxText, index: f.Index}
			if n, err := strconv.Atoi(f.Tag.Get("max")); err == nil {
				p.Max = n
			}
			if list := f.Tag.Get("oneof"); list != "" {
				p.Names = strings.Split(list, ",")
			} else {
				p.Names = Names(p.Element())
			}
			all = append(all, p)
		}
	}
	return all
}

// Element is the type of one value.
func (p Parameter) Element() reflect.Type {
	if k := p.Type.Kind(); k == reflect.Slice || k == reflect.Pointer {
		return p.Type.Elem()
	}
	return p.Type
}

// Many says whether the parameter may be given more than once.
func (p Parameter) Many() bool { return p.Type.Kind() == reflect.Slice }

// Field is the parameter's field of a request.
func (p Parameter) Field(request reflect.Value) reflect.Value { return request.FieldByIndex(p.index) }

// Names returns the values of a type that has a closed set of them. Operation types
// are those of the server.
func Names(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[ktrdr.Status]():
		return text.Strings(ktrdr.Statuses)
	case reflect.TypeFor[ktrdr.EventKind]():
		return text.Strings(ktrdr.EventKinds)
	case reflect.TypeFor[ktrdr.Sort]():
		return text.Strings(ktrdr.Sorts)
	case reflect.TypeFor[report.LeaderSort]():
		return text.Strings(report.Sorts)
	case reflect.TypeFor[ktrdr.RunState]():
		return text.Strings(ktrdr.RunStates)
	}
	return nil
}

// Request returns the path, the query and the headers of a request. Parameters
// that are zero are left out.
func (rt Route[In, Out]) Request(in In) (path string, query url.Values, header http.Header) {
	path, query, header = rt.Path, url.Values{}, http.Header{}
	for _, p := range Params(reflect.TypeFor[In]()) {
		field := p.Field(reflect.ValueOf(in))
		switch {
		case p.In == InPath:
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(format(field)), 1)
		case field.IsZero():
		case p.In == InHeader:
			header.Set(p.Name, format(field))
		case p.Many():
			for i := range field.Len() {
				query.Add(p.Name, format(field.Index(i)))
			}
		default:
			query.Set(p.Name, format(field))
		}
	}
	return path, query, header
}

func format(v reflect.Value) string {
	switch v := reflect.Indirect(v).Interface().(type) {
	case time.Duration: // an age, in days
		return strconv.FormatFloat(v.Hours()/24, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	default:
		return fmt.Sprint(v)
	}
}

// Schema is the JSON Schema type of one value.
func (p Parameter) Schema() string {
	switch t := p.Element(); {
	case t == reflect.TypeFor[time.Duration]():
		return "number"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "integer"
	}
	return "string"
}

// HasBody says whether the requests of a route have a JSON body.
func HasBody(sp Spec, request reflect.Type) bool { return sp.Limit > 0 && len(Fields(request)) > 0 }

// Fields are the types of a struct's fields by their names in JSON.
func Fields(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		if name, ok := JSONName(f); ok {
			fields[name] = f.Type
		}
	}
	return fields
}

// JSONName returns a field's name in JSON, if it has one.
func JSONName(f reflect.StructField) (string, bool) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || !f.IsExported() || name == "-" {
		return "", false
	}
	return cmp.Or(name, f.Name), true
}
