package indicator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Setting is one parameter as the user wrote it: a number, or text when IsText
// is set. A boolean is the text true or false.
type Setting struct {
	Name   string
	Number float64
	Text   string
	IsText bool
}

// String shows the value as it was written.
func (s Setting) String() string {
	if s.IsText {
		return strconv.Quote(s.Text)
	}
	return number(s.Number)
}

// Args are the values of an indicator's parameters, defaults filled in and
// every bound checked. The zero Args has none.
type Args struct {
	params []Param
	values []float64
}

// New builds the indicator of that name or alias. It refuses an unknown name or
// parameter, naming the nearest valid one, and a value out of its bounds, naming them.
func New(name string, settings []Setting) (Indicator, error) {
	d, ok := Lookup(name)
	if !ok {
		return nil, fmt.Errorf("indicator %q does not exist%s", name, hint(Nearest(name)))
	}
	args, err := d.Resolve(settings)
	if err != nil {
		return nil, err
	}
	return d.Make(args), nil
}

// Resolve checks settings against the definition and fills in the defaults.
func (d Definition) Resolve(settings []Setting) (Args, error) {
	a := d.defaults()
	given := make([]bool, len(d.Params))
	for _, s := range settings {
		i, ok := d.param(s.Name)
		if !ok {
			return Args{}, fmt.Errorf("indicator %s has no parameter %q%s", d.Name, s.Name, d.hint(s.Name))
		}
		if given[i] {
			return Args{}, fmt.Errorf("indicator %s: parameter %s is given twice", d.Name, s.Name)
		}
		v, err := d.Params[i].parse(s)
		if err != nil {
			return Args{}, fmt.Errorf("indicator %s: %w", d.Name, err)
		}
		given[i], a.values[i] = true, v
	}
	if d.Check != nil {
		if err := d.Check(a); err != nil {
			return Args{}, fmt.Errorf("indicator %s: %w", d.Name, err)
		}
	}
	return a, nil
}

// defaults are the arguments of an indicator of which nothing is set.
func (d Definition) defaults() Args {
	a := Args{params: d.Params, values: make([]float64, len(d.Params))}
	for i, p := range d.Params {
		a.values[i] = p.Default
	}
	return a
}

// parse reads a setting as a value of the parameter.
func (p Param) parse(s Setting) (float64, error) {
	switch p.Kind {
	case Bool:
		if i := slices.Index([]string{"false", "true"}, s.Text); s.IsText && i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("%s is %v; it must be true or false", p.Name, s)
	case Choice:
		same := func(c string) bool { return strings.EqualFold(c, s.Text) }
		if i := slices.IndexFunc(p.Choices, same); s.IsText && i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("%s is %v; it must be one of %s", p.Name, s, strings.Join(p.Choices, ", "))
	default:
		return p.parseNumber(s)
	}
}

func (p Param) parseNumber(s Setting) (float64, error) {
	if s.IsText {
		return 0, fmt.Errorf("%s is %v; it must be a number between %s and %s", p.Name, s, number(p.Min), number(p.Max))
	}
	if p.Kind == Int && s.Number != math.Trunc(s.Number) {
		return 0, fmt.Errorf("%s is %v; it must be a whole number between %s and %s", p.Name, s, number(p.Min), number(p.Max))
	}
	if !(s.Number >= p.Min && s.Number <= p.Max) { // so written, it refuses NaN
		return 0, fmt.Errorf("%s is %v; it must be between %s and %s", p.Name, s, number(p.Min), number(p.Max))
	}
	return s.Number, nil
}

// Int is the value of a whole-number parameter.
func (a Args) Int(name string) int { return int(a.value(name)) }

// Float is the value of a number parameter.
func (a Args) Float(name string) float64 { return a.value(name) }

// Bool is the value of a true-or-false parameter.
func (a Args) Bool(name string) bool { return a.value(name) != 0 }

// Choice is the value of a parameter that is one of a list.
func (a Args) Choice(name string) string {
	return a.params[a.index(name)].Choices[int(a.value(name))]
}

// Source is the value of the parameter named source.
func (a Args) Source() Source { return Source(a.Choice("source")) }

func (a Args) value(name string) float64 { return a.values[a.index(name)] }

// index finds a parameter. Only definitions ask, by names they declared.
func (a Args) index(name string) int {
	for i, p := range a.params {
		if p.Name == name {
			return i
		}
	}
	panic("indicator: no parameter is called " + name)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Nearest is the name of the indicator whose name or alias is the most like name, or "" when none is.
func Nearest(name string) string {
	var all []string
	for _, d := range Definitions() {
		all = append(append(all, d.Name), d.Aliases...)
	}
	return names[text.Nearest(name, all)]
}

// hint names the parameter most like name, or all of them.
func (d Definition) hint(name string) string {
	if len(d.Params) == 0 {
		return "; it takes none"
	}
	all := text.Map(d.Params, func(p Param) string { return p.Name })
	if best := text.Nearest(name, all); best != "" {
		return hint(best)
	}
	return "; it takes " + strings.Join(all, ", ")
}

func hint(nearest string) string {
	if nearest == "" {
		return ""
	}
	return "; did you mean " + nearest + "?"
}
