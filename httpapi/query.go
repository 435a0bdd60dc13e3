package httpapi

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	maxPage   = 1000  // entries of a page, and the largest number of a parameter
	smallPage = 100   // by default, of entries that are large or cost a computation
	maxDays   = 36500 // the largest age
)

// readParams reads the request's parameters into a struct. It refuses query
// parameters that the route does not have: a misspelt filter that silently
// selects everything is worse than an error.
func (c *call) readParams(params []api.Parameter, types ktrdr.Types, into reflect.Value) error {
	if err := c.checkQuery(params); err != nil {
		return err
	}
	for _, p := range params {
		p.Names = namesOf(p, types)
		for _, given := range c.given(p) {
			value := reflect.New(p.Element())
			if err := parse(p, given, value.Elem()); err != nil {
				return err
			}
			switch field := p.Field(into); field.Kind() {
			case reflect.Slice:
				field.Set(reflect.Append(field, value.Elem()))
			case reflect.Pointer:
				field.Set(value)
			default:
				field.Set(value.Elem())
			}
		}
	}
	return nil
}

// namesOf are the values of a parameter that has a closed set of them.
func namesOf(p api.Parameter, types ktrdr.Types) []string {
	if p.Element() == reflect.TypeFor[ktrdr.Type]() {
		return text.Strings(types.Names())
	}
	return p.Names
}

func (c *call) checkQuery(params []api.Parameter) error {
	for name, given := range c.query {
		i := slices.IndexFunc(params, func(p api.Parameter) bool { return p.In == api.InQuery && p.Name == name })
		if i < 0 {
			return malformed("there is no query parameter %.40q here%s", name, knownNames(name, params))
		}
		if len(given) > 1 && !params[i].Many() {
			return malformed("the query parameter %s is given %d times; give it once", name, len(given))
		}
		for _, value := range given {
			if len(value) > params[i].Max || value != ktrdr.CleanText(value) {
				return malformed("the query parameter %s must be text of at most %d bytes", name, params[i].Max)
			}
		}
	}
	return nil
}

func knownNames(name string, params []api.Parameter) string {
	var names []string
	for _, p := range params {
		if p.In == api.InQuery {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	all := "there are " + strings.Join(names, ", ")
	if near := text.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s? Here %s", near, all)
	}
	return "; " + all
}

// given returns the values of a parameter as they came.
func (c *call) given(p api.Parameter) (values []string) {
	switch p.In {
	case api.InPath:
		return []string{c.PathValue(p.Name)}
	case api.InHeader:
		if value := c.Request.Header.Get(p.Name); value != "" {
			return []string{value}
		}
		return nil
	}
	if !p.Many() {
		return c.query[p.Name]
	}
	for _, value := range c.query[p.Name] {
		values = append(values, strings.Split(value, ",")...)
	}
	return values
}

// parse reads one value of a parameter.
func parse(p api.Parameter, given string, into reflect.Value) error {
	wrong := func(format string, args ...any) error {
		return malformed("the %s parameter %s %s", p.In, p.Name, fmt.Sprintf(format, args...))
	}
	if p.Names != nil {
		i := slices.IndexFunc(p.Names, func(name string) bool { return strings.EqualFold(name, given) })
		if i < 0 {
			return wrong("cannot be %.40q; %s", given, text.Choices(given, p.Names))
		}
		given = p.Names[i]
	}
	switch to := into.Addr().Interface().(type) {
	case *ktrdr.OperationID:
		*to = ktrdr.OperationID(given)
		if !to.Valid() && p.In == api.InPath { // one that could never have been made is simply not there
			return ktrdr.Errorf(ktrdr.CodeNotFound, "no such operation; `ktrdr ops` lists them")
		}
		if !to.Valid() {
			return wrong("is an operation's id, not %.40q", given)
		}
	case *time.Time: // an instant, or the beginning of a day
		at, err := time.Parse(time.RFC3339, given)
		if err != nil {
			at, err = time.Parse(time.DateOnly, given)
		}
		if err != nil {
			return wrong("is an instant such as 2026-01-31T14:00:00Z or a day such as 2026-01-31, not %.40q", given)
		}
		*to = at.UTC()
	case encoding.TextUnmarshaler:
		if err := to.UnmarshalText([]byte(given)); err != nil {
			return malformed("%w", err)
		}
	case *time.Duration: // an age in days, which may be a fraction
		days, err := strconv.ParseFloat(given, 64)
		if err != nil || math.IsNaN(days) || days < 0 || days > maxDays {
			return wrong("is a number of days from 0 to %d, not %.40q", maxDays, given)
		}
		*to = time.Duration(days * 24 * float64(time.Hour))
	case *bool:
		b, err := strconv.ParseBool(given)
		if err != nil {
			return wrong("is true or false, not %.40q", given)
		}
		*to = b
	case *int:
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > maxPage {
			return wrong("is a number from 1 to %d, not %.40q", maxPage, given)
		}
		*to = n
	default:
		into.SetString(given)
	}
	return nil
}
