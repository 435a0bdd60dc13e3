package strategy

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/ktrdr/ktrdr/indicator"
)

// How much of everything a strategy may have.
const (
	maxIndicators = 128
	maxFuzzySets  = 128
	maxMembers    = 32
	maxInputs     = 256
)

// named reads a mapping whose keys are names of the author's own, and calls each with every one of them.
func (r *reader) named(n node, what string, most int, each func(pair)) {
	pairs, ok := r.mapping(n)
	if !ok {
		return
	}
	if len(pairs) > most {
		r.problem(n, "there are %d %s; at most %d are allowed", len(pairs), what, most)
		return
	}
	for _, p := range pairs {
		if !idPattern.MatchString(p.key) {
			r.problem(p.value, "%q is not %s", shorten(p.key), idRule)
			continue
		}
		each(p)
	}
}

type indicators struct{ into *[]Indicator }

func (s indicators) read(r *reader, n node) {
	r.named(n, "indicators", maxIndicators, func(p pair) {
		*s.into = append(*s.into, readIndicator(r, p))
	})
	if len(*s.into) == 0 && len(r.problems) == 0 {
		r.problem(n, "no indicator is given; a strategy needs at least one")
	}
}

// readIndicator reads one. Without a type it stands for "named, but wrong".
func readIndicator(r *reader, p pair) Indicator {
	x := Indicator{ID: p.key}
	pairs, ok := r.mapping(p.value)
	if !ok {
		return x
	}
	var def indicator.Definition
	var settings []pair
	for _, q := range pairs {
		switch q.key {
		case "type":
			def = lookup(r, q.value)
		case "symbol":
			symbol(&x.Symbol).read(r, q.value)
		case "data_source":
			r.problem(q.value, "other data sources cannot be used; an indicator reads the bars of the traded symbol, or of a context symbol: "+
				"symbol: GBPUSD, with context_symbols: [GBPUSD] in training_data")
		default:
			settings = append(settings, q)
		}
	}
	if !r.given(child(p.value.path, "type")) {
		r.problem(p.value, "type is missing, as in type: rsi")
	}
	if def.Name == "" {
		return x
	}
	before := len(r.problems)
	args := readSettings(r, def, settings, p.value)
	if len(r.problems) == before {
		x.Type, x.Settings = def.Name, canonical(def, args)
	}
	return x
}

func lookup(r *reader, n node) indicator.Definition {
	name, ok := r.text(n)
	if !ok {
		return indicator.Definition{}
	}
	def, known := indicator.Lookup(name)
	if !known {
		hint := ""
		if nearest := indicator.Nearest(shorten(name)); nearest != "" {
			hint = "; did you mean " + nearest + "?"
		}
		r.problem(n, "there is no indicator %q%s", shorten(name), hint)
	}
	return def
}

// readSettings checks each parameter by itself, so that every message has its
// own place, and then all of them together.
func readSettings(r *reader, def indicator.Definition, pairs []pair, at node) indicator.Args {
	alone := def
	alone.Check = nil
	var settings []indicator.Setting
	for _, p := range pairs {
		s := indicator.Setting{Name: p.key}
		if word, ok := wordOf(p.value.ast); ok {
			s.IsText, s.Text = true, word
		} else if s.Number, ok = r.number(p.value); !ok {
			continue
		}
		if _, err := alone.Resolve([]indicator.Setting{s}); err != nil {
			r.problem(p.value, "%v", err)
			continue
		}
		settings = append(settings, s)
	}
	args, err := def.Resolve(settings)
	if err != nil {
		r.problem(at, "%v", err)
	}
	return args
}

// wordOf is the text of a value that is a word and not a number: a choice, or true and false.
func wordOf(n ast.Node) (string, bool) {
	switch v := n.(type) {
	case *ast.BoolNode:
		return kindOf(v), true
	case *ast.StringNode:
		return v.Value, !isNumeral(v)
	}
	return "", false
}

// canonical spells out every parameter, in the order of the definition.
func canonical(def indicator.Definition, args indicator.Args) []indicator.Setting {
	var out []indicator.Setting
	for _, p := range def.Params {
		s := indicator.Setting{Name: p.Name}
		switch p.Kind {
		case indicator.Bool:
			s.IsText, s.Text = true, fmt.Sprint(args.Bool(p.Name))
		case indicator.Choice:
			s.IsText, s.Text = true, args.Choice(p.Name)
		case indicator.Int, indicator.Float:
			s.Number = args.Float(p.Name)
		}
		out = append(out, s)
	}
	return out
}

func (s indicators) tree() any {
	out := object{}
	for _, x := range *s.into {
		def, _ := indicator.Lookup(x.Type)
		o := object{{"type", x.Type}}
		if x.Symbol != "" {
			o = append(o, member{"symbol", x.Symbol})
		}
		for i, p := range x.Settings {
			switch {
			case !p.IsText:
				o = append(o, member{p.Name, p.Number})
			case def.Params[i].Kind == indicator.Bool:
				o = append(o, member{p.Name, p.Text == "true"})
			default:
				o = append(o, member{p.Name, p.Text})
			}
		}
		out = append(out, member{x.ID, o})
	}
	return out
}

func (s indicators) schema() *schema {
	one := &schema{}
	for _, d := range indicator.Definitions() {
		o := &schema{
			Title: d.Name, Description: d.Doc, Type: "object", AdditionalProperties: false, Required: []string{"type"},
			Properties: map[string]*schema{"type": {Enum: append([]string{d.Name}, d.Aliases...)}},
		}
		var other string
		o.Properties["symbol"] = symbol(&other).schema()
		o.Properties["symbol"].Description = "context symbol whose bars it reads (training_data.context_symbols); default: the traded symbol"
		for _, p := range d.Params {
			o.Properties[p.Name] = paramSchema(p)
		}
		one.OneOf = append(one.OneOf, o)
	}
	return &schema{Type: "object", AdditionalProperties: one, PropertyNames: idSchema(), MinProperties: 1, MaxProperties: maxIndicators}
}

func idSchema() *schema { return &schema{Pattern: idPattern.String()} }

func paramSchema(p indicator.Param) *schema {
	switch p.Kind {
	case indicator.Bool:
		return &schema{Type: "boolean", Description: p.Doc, Default: p.Default != 0}
	case indicator.Choice:
		return &schema{Enum: p.Choices, Description: p.Doc, Default: p.Choices[int(p.Default)]}
	case indicator.Int:
		return &schema{Type: "integer", Description: p.Doc, Default: p.Default, Minimum: &p.Min, Maximum: &p.Max}
	case indicator.Float:
	}
	return &schema{Type: "number", Description: p.Doc, Default: p.Default, Minimum: &p.Min, Maximum: &p.Max}
}
