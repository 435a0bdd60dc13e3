package httpapi

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// kind is a parameter's JSON Schema type.
type kind string

const (
	kindString  kind = "string"
	kindInteger kind = "integer"
	kindNumber  kind = "number"
	kindBoolean kind = "boolean"
)

// param is a query parameter or a header of a route.
type param struct {
	name string
	kind kind
	doc  string
	many bool // may be repeated, or hold several separated by commas
}

// The parameters that several routes share.
var (
	paramLimit  = param{name: "limit", kind: kindInteger, doc: "entries of a page, 1 to 1000"}
	paramCursor = param{name: "cursor", kind: kindString, doc: "next_cursor of the page before"}
	paramSort   = param{name: "sort", kind: kindString, doc: "the order: " + text.Join(ktrdr.Sorts) + "; by default newest"}
	paramKind   = param{name: "kind", kind: kindString, doc: "only events of these kinds: " + text.Join(ktrdr.EventKinds), many: true}
	paramAfter  = param{name: "after", kind: kindString, doc: "an event's id: only what came after it; the header Last-Event-ID wins"}
)

const (
	maxPage  = 1000
	maxValue = 1024 // bytes of a query value
)

// values reads query parameters. The first mistake is kept in err, so that
// handlers read all they want and look once.
type values struct {
	url.Values
	err error
}

// check refuses parameters the route does not have: a misspelt filter that
// silently selects everything is worse than an error.
func (v *values) check(known []param) error {
	for name, given := range v.Values {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		if i < 0 {
			return malformed("there is no query parameter %.40q here%s", name, knownNames(name, known))
		}
		if len(given) > 1 && !known[i].many {
			return malformed("the query parameter %s is given %d times; give it once", name, len(given))
		}
		for _, value := range given {
			if len(value) > maxValue || value != ktrdr.CleanText(value) {
				return malformed("the query parameter %s must be text of at most %d bytes", name, maxValue)
			}
		}
	}
	return nil
}

func knownNames(name string, known []param) string {
	if len(known) == 0 {
		return ""
	}
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	all := "there are " + strings.Join(names, ", ")
	if near := text.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s? Here %s", near, all)
	}
	return "; " + all
}

func (v *values) fail(name, format string, args ...any) {
	if v.err == nil {
		v.err = malformed("the query parameter %s %s", name, fmt.Sprintf(format, args...))
	}
}

// unknown refuses a value that is not one of the names that a parameter takes.
func unknown[T ~string](v *values, name, given string, names []T) {
	v.fail(name, "cannot be %.40q; %s", given, text.Choices(given, names))
}

func (v *values) flag(name string) bool {
	given := v.Get(name)
	if given == "" && !v.Has(name) {
		return false
	}
	b, err := strconv.ParseBool(given)
	if err != nil {
		v.fail(name, "is true or false, not %.40q", given)
	}
	return b
}

// count reads a positive number up to most; 0 when it is absent.
func (v *values) count(name string, most int) int {
	given := v.Get(name)
	if !v.Has(name) {
		return 0
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > most {
		v.fail(name, "is a number from 1 to %d, not %.40q", most, given)
	}
	return n
}

// days reads an age in days, which may be a fraction.
func (v *values) days(name string, otherwise time.Duration) time.Duration {
	given := v.Get(name)
	if !v.Has(name) {
		return otherwise
	}
	const most = 36500
	f, err := strconv.ParseFloat(given, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > most {
		v.fail(name, "is a number of days from 0 to %d, not %.40q", most, given)
		return 0
	}
	return time.Duration(f * 24 * float64(time.Hour))
}

func (v *values) operation(name string) ktrdr.OperationID {
	id := ktrdr.OperationID(v.Get(name))
	if v.Has(name) && !id.Valid() {
		v.fail(name, "is an operation's id, not %.40q", string(id))
	}
	return id
}

// statuses reads statuses in either case.
func (v *values) statuses(name string) (all []ktrdr.Status) {
	for _, given := range v.several(name) {
		status := ktrdr.Status(strings.ToUpper(given))
		if !status.Known() {
			unknown(v, name, given, ktrdr.Statuses)
		}
		all = append(all, status)
	}
	return all
}

// types reads operation types in either case.
func (v *values) types(name string, known ktrdr.Types) (all []ktrdr.Type) {
	for _, given := range v.several(name) {
		t := ktrdr.Type(strings.ToLower(given))
		if !known.Known(t) {
			unknown(v, name, given, known.Names())
		}
		all = append(all, t)
	}
	return all
}

// eventKinds reads kinds of events in either case.
func (v *values) eventKinds(name string) (all []ktrdr.EventKind) {
	for _, given := range v.several(name) {
		kind := ktrdr.EventKind(strings.ToLower(given))
		if !kind.Known() {
			unknown(v, name, given, ktrdr.EventKinds)
		}
		all = append(all, kind)
	}
	return all
}

// sort reads an order in either case; empty when it is absent.
func (v *values) sort() ktrdr.Sort {
	given := ktrdr.Sort(strings.ToLower(v.Get("sort")))
	if v.Has("sort") && !slices.Contains(ktrdr.Sorts, given) {
		unknown(v, "sort", string(given), ktrdr.Sorts)
	}
	return given
}

func (v *values) several(name string) (all []string) {
	for _, given := range v.Values[name] {
		all = append(all, strings.Split(given, ",")...)
	}
	return all
}
