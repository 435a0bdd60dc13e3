package indicator

import (
	"cmp"
	"slices"
	"strings"
)

// ParamKind is what a parameter holds.
type ParamKind int

// The kinds of parameter.
const (
	Int    ParamKind = iota // a whole number between Min and Max
	Float                   // a number between Min and Max
	Bool                    // true or false
	Choice                  // one of Choices
)

var kindNames = [...]string{Int: "int", Float: "float", Bool: "bool", Choice: "choice"}

// String names the kind as listings show it.
func (k ParamKind) String() string { return kindNames[k] }

// Param is one parameter of an indicator. A Bool counts 0 as false and 1 as
// true; a Choice counts by position in Choices.
type Param struct {
	Name              string
	Kind              ParamKind
	Default, Min, Max float64
	Choices           []string
	Doc               string
}

// Unit says how an output reacts when prices or volumes are multiplied.
type Unit string

// The units of outputs.
const (
	InPrice  Unit = "price"  // multiplied with the prices (with its source, where there is one)
	InVolume Unit = "volume" // multiplied with the volumes
	Pure     Unit = "number" // a pure number: a ratio, a percentage, a direction
)

// Definition is an indicator as a strategy may name it.
type Definition struct {
	Name    string
	Aliases []string
	Params  []Param
	Outputs []string // in order; a bare reference to the indicator means the first; nil: single
	Units   []Unit   // per output
	Doc     string   // the definition
	Follows string   // whose definition it is: "TA-Lib", "reference" (the Python system) or "ktrdr" (our own)

	// Check refuses parameters that are each in range and wrong together; nil when there are none.
	Check func(Args) error

	// build makes the indicator. It leaves out the outputs where they do not hang on the arguments.
	build func(Args) built
}

// Make builds the indicator from arguments that Resolve returned.
func (d Definition) Make(a Args) Indicator {
	x := d.build(a)
	if x.outputs == nil {
		x.outputs = d.Outputs
	}
	return x
}

// single is the output of indicators that have one.
const single = "value"

// definitions holds every indicator by name, names the aliases too. The files
// of the indicators fill them as the program starts; nothing changes them afterwards.
var (
	definitions = map[string]Definition{}
	names       = map[string]string{}
)

// register adds an indicator and returns it. A name taken twice is a mistake in the source.
func register(d Definition) Definition {
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if _, taken := names[name]; taken {
			panic("indicator: the name " + name + " is registered twice")
		}
		names[name] = d.Name
	}
	if d.Outputs == nil {
		d.Outputs = []string{single}
	}
	definitions[d.Name] = d
	return d
}

// Definitions lists every indicator by name.
func Definitions() []Definition {
	all := make([]Definition, 0, len(definitions))
	for _, d := range definitions {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Lookup finds an indicator by its name or an alias, in any case.
func Lookup(name string) (Definition, bool) {
	d, ok := definitions[names[strings.ToLower(name)]]
	return d, ok
}

func (d Definition) param(name string) (int, bool) {
	i := slices.IndexFunc(d.Params, func(p Param) bool { return p.Name == name })
	return i, i >= 0
}

// period is the parameter most indicators have.
func period(def, low, high float64) Param {
	return Param{Name: "period", Kind: Int, Default: def, Min: low, Max: high, Doc: "bars in the window"}
}

// length is a number of bars under another name.
func length(name string, def, low, high float64, doc string) Param {
	return Param{Name: name, Kind: Int, Default: def, Min: low, Max: high, Doc: doc}
}

// multiplier is a band's width in deviations or ranges.
func multiplier(name string, def, high float64) Param {
	return Param{Name: name, Kind: Float, Default: def, Min: 0.01, Max: high, Doc: "width of the band"}
}

// flag is a parameter that is true or false.
func flag(name string, def bool, doc string) Param {
	p := Param{Name: name, Kind: Bool, Max: 1, Doc: doc}
	if def {
		p.Default = 1
	}
	return p
}
