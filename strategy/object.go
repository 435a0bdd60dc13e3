package strategy

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/internal/text"
)

// object is a mapping as it is written, in order.
type object []member

type member struct {
	key   string
	value any
}

type field struct {
	name     string
	doc      string
	shape    shape
	required bool
	when     func() bool // written only then; nil: always
}

type fields []field

func (f fields) names() []string {
	var out []string
	for _, x := range f {
		if _, no := x.shape.(refused); !no {
			out = append(out, x.name)
		}
	}
	return out
}

func (f fields) find(name string) (field, bool) {
	i := slices.IndexFunc(f, func(x field) bool { return x.name == name })
	if i < 0 {
		return field{}, false
	}
	return f[i], true
}

func (f fields) read(r *reader, n node) {
	pairs, ok := r.mapping(n)
	if !ok {
		return
	}
	f.readPairs(r, n, pairs, func(string) string { return "" })
}

// readPairs reads the pairs of a mapping. elsewhere may say where a key that is not known here belongs.
func (f fields) readPairs(r *reader, n node, pairs []pair, elsewhere func(key string) string) {
	for _, p := range pairs {
		x, known := f.find(p.key)
		if !known {
			hint := elsewhere(p.key)
			if hint == "" {
				hint = suggest(p.key, f.names())
			}
			r.problem(p.value, "there is no such key%s", hint)
			continue
		}
		x.shape.read(r, p.value)
	}
	for _, x := range f {
		if x.required && !r.given(child(n.path, x.name)) {
			r.problemAt(n.at, child(n.path, x.name), "it is missing")
		}
	}
}

func (f fields) tree() any {
	var out object
	for _, x := range f {
		if x.when != nil && !x.when() {
			continue
		}
		if v := x.shape.tree(); v != nil {
			out = append(out, member{x.name, v})
		}
	}
	if out == nil {
		return nil
	}
	return out
}

func (f fields) schema() *schema {
	out := &schema{Type: "object", Properties: map[string]*schema{}, AdditionalProperties: false}
	for _, x := range f {
		s := x.shape.schema()
		if s == nil {
			continue
		}
		if s.Description == "" {
			s.Description = x.doc
		}
		switch d := x.shape.tree().(type) {
		case float64, int, bool, string:
			if !x.required {
				s.Default = d
			}
		}
		out.Properties[x.name] = s
		if x.required {
			out.Required = append(out.Required, x.name)
		}
	}
	return out
}

// variant is a mapping in which one key (the tag) decides which others there are.
type variant[T ~string] struct {
	tag   string
	into  *T
	def   T // the tag when it is not given; empty: it must be
	cases []alternative[T]
}

type alternative[T ~string] struct {
	name   T
	begin  func() // sets the defaults of this case
	fields fields
}

func (v variant[T]) read(r *reader, n node) {
	pairs, ok := r.mapping(n)
	if !ok {
		return
	}
	tag := v.def
	for _, p := range pairs {
		if p.key == v.tag {
			before := len(r.problems)
			oneOf[T]{&tag, v.names()}.read(r, p.value)
			if len(r.problems) > before {
				return // the right keys depend on the kind, which is unknown
			}
		}
	}
	if tag == "" {
		r.problemAt(n.at, child(n.path, v.tag), fmt.Sprintf("it is missing; there is %s", text.Join(v.names())))
		return
	}
	*v.into = tag
	c := v.chosen()
	c.begin()
	v.withTag(c.fields).readPairs(r, n, pairs, v.elsewhere)
}

func (v variant[T]) names() []T {
	out := make([]T, len(v.cases))
	for i, c := range v.cases {
		out[i] = c.name
	}
	return out
}

func (v variant[T]) chosen() alternative[T] {
	i := slices.IndexFunc(v.cases, func(c alternative[T]) bool { return c.name == *v.into })
	return v.cases[i]
}

// withTag puts the tag in front of a case's fields.
func (v variant[T]) withTag(f fields) fields {
	return append(fields{{name: v.tag, shape: oneOf[T]{v.into, v.names()}}}, f...)
}

// elsewhere says which other cases know a key.
func (v variant[T]) elsewhere(key string) string {
	var where []T
	for _, c := range v.cases {
		if _, ok := c.fields.find(key); ok {
			where = append(where, c.name)
		}
	}
	if where == nil {
		return ""
	}
	return fmt.Sprintf(" with %s: %s; it belongs to %s", v.tag, *v.into, text.Join(where))
}

func (v variant[T]) tree() any {
	if *v.into == "" {
		return nil
	}
	return v.withTag(v.chosen().fields).tree()
}

func (v variant[T]) schema() *schema {
	out := &schema{}
	for _, c := range v.cases {
		*v.into = c.name
		c.begin()
		s := c.fields.schema()
		s.Properties[v.tag] = &schema{Const: string(c.name)}
		if c.name != v.def {
			s.Required = append([]string{v.tag}, s.Required...)
		}
		out.OneOf = append(out.OneOf, s)
	}
	*v.into = ""
	return out
}
