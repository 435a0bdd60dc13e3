package strategy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/ktrdr/ktrdr/internal/text"
)

// shape is how one kind of value is read from a document, written back and
// described. A shape is bound to the place in a Strategy that holds its value.
type shape interface {
	read(r *reader, n node)
	tree() any // the value as it is written: object, []any, string, float64, int or bool; nil: nothing
	schema() *schema
}

type integer struct {
	into     *int
	min, max int
}

func (s integer) read(r *reader, n node) {
	x, ok := r.number(n)
	if !ok {
		return
	}
	if i := int(x); float64(i) != x || i < s.min || i > s.max {
		r.problem(n, "%s is not a whole number from %d to %d", format(x), s.min, s.max)
		return
	}
	*s.into = int(x)
}

func (s integer) tree() any { return *s.into }

func (s integer) schema() *schema {
	return &schema{Type: "integer", Minimum: new(float64(s.min)), Maximum: new(float64(s.max))}
}

// number is a number from min to max; above excludes min itself.
type number struct {
	into     *float64
	min, max float64
	above    bool
}

func (s number) read(r *reader, n node) {
	x, ok := r.number(n)
	if !ok {
		return
	}
	if x < s.min || x > s.max || s.above && x == s.min {
		r.problem(n, "%s is not a number %s", format(x), s.bounds())
		return
	}
	*s.into = x
}

func (s number) bounds() string {
	if s.above {
		return fmt.Sprintf("above %s, up to %s", format(s.min), format(s.max))
	}
	return fmt.Sprintf("from %s to %s", format(s.min), format(s.max))
}

func (s number) tree() any { return *s.into }

func (s number) schema() *schema {
	out := &schema{Type: "number", Maximum: new(s.max)}
	if s.above {
		out.ExclusiveMinimum = new(s.min)
	} else {
		out.Minimum = new(s.min)
	}
	return out
}

// format writes a number as people would.
func format(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

type flag struct{ into *bool }

func (s flag) read(r *reader, n node) {
	switch kindOf(n.ast) {
	case "true":
		*s.into = true
	case "false":
		*s.into = false
	default:
		r.problem(n, "it must be true or false, and is %s", kindOf(n.ast))
	}
}

func (s flag) tree() any { return *s.into }

func (s flag) schema() *schema { return &schema{Type: "boolean"} }

// always is a flag that strategies carry and that cannot be switched off.
type always struct{ why string }

func (s always) read(r *reader, n node) {
	on := true
	if (flag{&on}).read(r, n); !on {
		r.problem(n, "it cannot be false: %s", s.why)
	}
}

func (always) tree() any       { return true }
func (always) schema() *schema { return &schema{Const: true} }

// phrase is text, of a pattern if there is one.
type phrase struct {
	into    *string
	pattern *regexp.Regexp
	what    string // what the pattern demands, for the message
	max     int    // bytes
}

func (s phrase) read(r *reader, n node) {
	t, ok := r.text(n)
	switch {
	case !ok:
	case len(t) > s.max:
		r.problem(n, "it has %d bytes; at most %d are allowed", len(t), s.max)
	case s.pattern != nil && !s.pattern.MatchString(t):
		r.problem(n, "%q is not %s", shorten(t), s.what)
	default:
		*s.into = t
	}
}

func (s phrase) tree() any {
	if *s.into == "" {
		return nil
	}
	return *s.into
}

func (s phrase) schema() *schema {
	out := &schema{Type: "string", MaxLength: s.max}
	if s.pattern != nil {
		out.Pattern = s.pattern.String()
	}
	return out
}

type oneOf[T ~string] struct {
	into *T
	of   []T
}

func (s oneOf[T]) read(r *reader, n node) {
	t, ok := r.text(n)
	if !ok {
		return
	}
	if !slices.Contains(s.of, T(t)) {
		r.problem(n, "%q is not one of %s%s", shorten(t), text.Join(s.of), near(t, s.of))
		return
	}
	*s.into = T(t)
}

func (s oneOf[T]) tree() any {
	if *s.into == "" {
		return nil
	}
	return string(*s.into)
}

func (s oneOf[T]) schema() *schema { return &schema{Type: "string", Enum: text.Strings(s.of)} }

type list[T comparable] struct {
	into     *[]T
	item     func(*T) shape
	min, max int
	distinct bool
}

func (s list[T]) read(r *reader, n node) {
	items, ok := r.sequence(n)
	if !ok {
		return
	}
	if len(items) < s.min || len(items) > s.max {
		r.problem(n, "the list has %d items; it must have %d to %d", len(items), s.min, s.max)
		return
	}
	var out []T
	for _, item := range items {
		var x T
		before := len(r.problems)
		s.item(&x).read(r, item)
		if s.distinct && len(r.problems) == before && slices.Contains(out, x) {
			r.problem(item, "%v is in the list twice", x)
		}
		out = append(out, x)
	}
	*s.into = out
}

func (s list[T]) tree() any {
	out := make([]any, len(*s.into))
	for i := range *s.into {
		out[i] = s.item(&(*s.into)[i]).tree()
	}
	return out
}

func (s list[T]) schema() *schema {
	var x T
	return &schema{Type: "array", Items: s.item(&x).schema(), MinItems: s.min, MaxItems: s.max, UniqueItems: s.distinct}
}

// refused is a key of the grammar that cannot be done here. Silence would be a promise.
type refused struct{ why string }

func (s refused) read(r *reader, n node) { r.problem(n, "%s", s.why) }
func (s refused) tree() any              { return nil }
func (s refused) schema() *schema        { return nil }

// unused is a key that older strategies carry and that never did anything.
type unused struct{ why string }

func (s unused) read(r *reader, n node) { r.idle(n.path, s.why) }
func (s unused) tree() any              { return nil }
func (s unused) schema() *schema        { return &schema{Description: "no effect: " + s.why} }
