package strategy

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/ktrdr/ktrdr/fuzzy"
	"github.com/ktrdr/ktrdr/internal/text"
)

type fuzzySets struct{ into *[]FuzzySet }

func (s fuzzySets) read(r *reader, n node) {
	r.named(n, "fuzzy sets", maxFuzzySets, func(p pair) {
		*s.into = append(*s.into, readFuzzySet(r, p))
	})
}

func readFuzzySet(r *reader, p pair) FuzzySet {
	set := FuzzySet{ID: p.key, Ref: Ref{Indicator: -1}}
	before := len(r.problems)
	r.named(p.value, "keys", maxMembers+1, func(q pair) {
		if q.key == "indicator" {
			set.Ref.Name, _ = r.text(q.value)
			return
		}
		if m, ok := readMembership(r, q.value); ok {
			set.Members = append(set.Members, Member{q.key, m})
		}
	})
	if len(r.problems) > before {
		return set
	}
	if !r.given(child(p.value.path, "indicator")) {
		r.problem(p.value, "indicator is missing, as in indicator: rsi_14")
	}
	if len(set.Members) == 0 {
		r.problem(p.value, "it has no membership, as in low: [0, 25, 40]")
	}
	return set
}

// readMembership reads a list of three numbers, or a type and its parameters.
func readMembership(r *reader, n node) (fuzzy.Membership, bool) {
	kind, params := fuzzy.Triangular.String(), []float64(nil)
	before := len(r.problems)
	if _, isList := n.ast.(*ast.SequenceNode); isList {
		numbers(&params).read(r, n)
	} else {
		membershipKeys(&kind, &params).read(r, n)
	}
	if len(r.problems) > before {
		return fuzzy.Membership{}, false
	}
	m, err := fuzzy.Parse(kind, params)
	if err != nil {
		r.problem(n, "%v", err)
	}
	return m, err == nil
}

func numbers(into *[]float64) list[float64] {
	return list[float64]{into: into, min: 2, max: 4, item: func(x *float64) shape { return number{x, -1e18, 1e18, false} }}
}

func membershipKeys(kind *string, params *[]float64) fields {
	return fields{
		{name: "type", required: true, shape: oneOf[string]{kind, text.Map(fuzzy.Shapes[:], fuzzy.Shape.String)}},
		{
			name: "parameters", required: true, shape: numbers(params),
			doc: "triangular [a, b, c]; trapezoidal [a, b, c, d]; gaussian [mean, sigma]; sigmoid [centre, slope]",
		},
	}
}

func (s fuzzySets) tree() any {
	out := object{}
	for _, set := range *s.into {
		o := object{{"indicator", set.Ref.Name}}
		for _, m := range set.Members {
			params := m.Membership.Params()
			if m.Membership.Shape() == fuzzy.Triangular {
				o = append(o, member{m.Name, numbers(&params).tree()})
				continue
			}
			kind := m.Membership.Shape().String()
			o = append(o, member{m.Name, membershipKeys(&kind, &params).tree()})
		}
		out = append(out, member{set.ID, o})
	}
	return out
}

func (s fuzzySets) schema() *schema {
	var kind string
	var params []float64
	triangle := numbers(&params).schema()
	triangle.MinItems, triangle.MaxItems, triangle.Description = 3, 3, "triangular [a, b, c]"
	set := &schema{
		Type: "object", Required: []string{"indicator"}, PropertyNames: idSchema(), MinProperties: 2, MaxProperties: maxMembers + 1,
		Properties:           map[string]*schema{"indicator": {Type: "string", Description: "name of an indicator, or name.output"}},
		AdditionalProperties: &schema{AnyOf: []*schema{triangle, membershipKeys(&kind, &params).schema()}},
	}
	return &schema{Type: "object", AdditionalProperties: set, PropertyNames: idSchema(), MaxProperties: maxFuzzySets}
}
