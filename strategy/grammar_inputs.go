package strategy

import "github.com/ktrdr/ktrdr/market"

type inputs struct{ into *[]Input }

func (i *Input) grammar() fields {
	return fields{
		{name: "fuzzy_set", shape: phrase{into: &i.Fuzzy, max: 64}, doc: "name of a fuzzy set: every membership is an input"},
		{name: "raw_indicator", shape: phrase{into: &i.Raw.Name, max: 160}, doc: "name of an indicator, or name.output: its value is an input"},
		{name: "timeframes", shape: timeframesOrAll{&i.Timeframes}, doc: "all, or a list"},
		{
			name: "normalization", shape: oneOf[Normalization]{&i.Normalization, []Normalization{MinMax, ZScore, NoNorm}},
			doc: "of a raw indicator, fitted on the training rows",
		},
	}
}

func (s inputs) read(r *reader, n node) {
	items, ok := r.sequence(n)
	if !ok {
		return
	}
	if len(items) == 0 || len(items) > maxInputs {
		r.problem(n, "the list has %d items; it must have 1 to %d", len(items), maxInputs)
		return
	}
	for _, item := range items {
		x := Input{Set: -1, Raw: Ref{Indicator: -1}}
		before := len(r.problems)
		x.grammar().read(r, item)
		if fuzzy, raw := r.given(item.path+".fuzzy_set"), r.given(item.path+".raw_indicator"); fuzzy == raw && len(r.problems) == before {
			r.problem(item, "give exactly one of fuzzy_set and raw_indicator")
		}
		*s.into = append(*s.into, x)
	}
}

func (s inputs) tree() any {
	out := make([]any, len(*s.into))
	for i := range *s.into {
		out[i] = (*s.into)[i].grammar().tree()
	}
	return out
}

func (s inputs) schema() *schema {
	var x Input
	return &schema{Type: "array", Items: x.grammar().schema(), MinItems: 1, MaxItems: maxInputs}
}

// timeframesOrAll is a list of timeframes, or the word all; nil stands for it.
type timeframesOrAll struct{ into *[]market.Timeframe }

func (s timeframesOrAll) list() list[market.Timeframe] {
	return list[market.Timeframe]{into: s.into, item: timeframe, min: 1, max: 16, distinct: true}
}

func (s timeframesOrAll) read(r *reader, n node) {
	if t, ok := plainText(n.ast); ok && t == "all" {
		return
	}
	s.list().read(r, n)
}

func (s timeframesOrAll) tree() any { return s.list().tree() }

func (s timeframesOrAll) schema() *schema {
	return &schema{AnyOf: []*schema{{Const: "all"}, s.list().schema()}}
}
