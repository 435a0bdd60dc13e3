package strategy

import (
	"time"

	"github.com/ktrdr/ktrdr/market"
)

const hour = time.Hour

func (d *Data) grammar() fields {
	return fields{
		{name: "symbols", required: true, shape: oneOrMany[string]{
			into: &d.Symbols, one: "symbol", many: []string{"symbols", "list"}, mode: "multi_symbol", least: 1, item: symbol,
			extra: fields{{
				name: "selection_criteria",
				shape: refused{"symbols cannot be selected by criteria: there is no data about asset classes, liquidity or market caps; name the " +
					"symbols"},
			}},
		}},
		{name: "timeframes", required: true, shape: oneOrMany[market.Timeframe]{
			into: &d.Timeframes, one: "timeframe", many: []string{"timeframes", "list"}, mode: "multi_timeframe", least: 2, item: timeframe,
			extra: fields{{
				name: "base_timeframe", shape: oneOf[market.Timeframe]{&d.Base, market.Timeframes},
				doc: "the shortest timeframe, at whose bars decisions are made", when: func() bool { return len(d.Timeframes) > 1 },
			}},
		}},
		{
			name: "context_symbols", shape: list[string]{into: &d.Context, item: symbol, min: 1, max: 16, distinct: true},
			doc: "symbols that indicators read and that are not traded", when: func() bool { return len(d.Context) > 0 },
		},
		{
			name: "history_required", shape: integer{&d.History, 50, 1_000_000},
			doc: "bars of the base timeframe that must have passed before a decision",
		},
		{name: "start_date", shape: date{&d.Span.Start, false}, doc: "first day of the data"},
		{name: "end_date", shape: date{&d.Span.End, true}, doc: "last day of the data"},
		{name: "date_range", shape: d.Span.grammar(), doc: "the same as start_date and end_date", when: never},
	}
}

func never() bool { return false }

func symbol(into *string) shape {
	return phrase{into, symbolPattern, "a symbol: letters, digits, '.', '_' and '-', at most 32 of them", 32}
}

func timeframe(into *market.Timeframe) shape {
	return oneOf[market.Timeframe]{into, market.Timeframes}
}

func (s *Span) grammar() fields {
	return fields{
		{name: "start", shape: date{&s.Start, false}, doc: "first day"},
		{name: "end", shape: date{&s.End, true}, doc: "last day"},
	}
}

func (d *Deployment) grammar() fields {
	return fields{
		{name: "target_symbols", shape: fields{
			{
				name: "mode", shape: oneOf[SymbolMode]{&d.Symbols, []SymbolMode{Universal, GroupRestricted, TrainingOnly}},
				doc: "on which symbols the strategy may be used",
			},
			{name: "restrictions", shape: fields{
				{name: "excluded_symbols", shape: list[string]{into: &d.Excluded, item: symbol, min: 1, max: 256, distinct: true}},
				{
					name:  "asset_classes",
					shape: refused{"it cannot be enforced: nothing here knows the asset class of a symbol; use mode: training_only or excluded_symbols"},
				},
				{
					name:  "min_liquidity_tier",
					shape: refused{"it cannot be enforced: nothing here knows the liquidity of a symbol; use mode: training_only or excluded_symbols"},
				},
			}, when: func() bool { return d.Symbols == GroupRestricted }},
		}},
		{name: "target_timeframes", shape: oneOrMany[market.Timeframe]{
			into: &d.Timeframes, one: "timeframe", many: []string{"supported"}, mode: "multi_timeframe", least: 1, item: timeframe,
		}, doc: "base timeframes on which the strategy may be used"},
	}
}

// oneOrMany is a mapping that names one thing or a list of them, and says which in its mode.
type oneOrMany[T ~string] struct {
	into  *[]T
	one   string   // key of the single one
	many  []string // keys of the list; the first is written
	mode  string   // mode of the list
	least int      // how many a list must have
	item  func(*T) shape
	extra fields
}

const single = "single"

func (s oneOrMany[T]) keys(mode *string, one *T, lists []([]T)) fields {
	f := fields{
		{name: "mode", shape: oneOf[string]{mode, []string{single, s.mode}}},
		{name: s.one, shape: s.item(one)},
	}
	for i, key := range s.many {
		f = append(f, field{name: key, shape: list[T]{into: &lists[i], item: s.item, min: 1, max: 64, distinct: true}})
	}
	return append(f, s.extra...)
}

func (s oneOrMany[T]) read(r *reader, n node) {
	var mode string
	var one T
	lists := make([][]T, len(s.many))
	before := len(r.problems)
	s.keys(&mode, &one, lists).read(r, n)
	if len(r.problems) > before {
		return
	}
	var found []T
	given := 0
	for i, key := range s.many {
		if r.given(child(n.path, key)) {
			found = lists[i]
			given++
		}
	}
	if r.given(child(n.path, s.one)) {
		found = []T{one}
		given++
	}
	switch {
	case given == 0:
		r.problem(n, "it names none: give %s, or %s with mode: %s", s.one, s.many[0], s.mode)
	case given > 1:
		r.problem(n, "it names them twice: give either %s or %s", s.one, s.many[0])
	case mode == single && len(found) > 1:
		r.problem(n, "mode is single, and there are %d; use mode: %s", len(found), s.mode)
	case mode == s.mode && r.given(child(n.path, s.one)):
		r.problem(n, "mode is %s; give a list: %s: [%s, …]", s.mode, s.many[0], one)
	case mode == s.mode && len(found) < s.least:
		r.problem(n, "mode is %s, and there is only %s; use mode: single", s.mode, found[0])
	}
	*s.into = found
}

func (s oneOrMany[T]) tree() any {
	var out object
	switch len(*s.into) {
	case 0:
		return nil
	case 1:
		out = object{{"mode", single}, {s.one, string((*s.into)[0])}}
	default:
		names := make([]any, len(*s.into))
		for i, x := range *s.into {
			names[i] = string(x)
		}
		out = object{{"mode", s.mode}, {s.many[0], names}}
	}
	if extra, ok := s.extra.tree().(object); ok {
		out = append(out, extra...)
	}
	return out
}

func (s oneOrMany[T]) schema() *schema {
	var mode string
	var one T
	return s.keys(&mode, &one, make([][]T, len(s.many))).schema()
}

// date is a day, or an instant with a zone. An end that is a day includes it.
type date struct {
	into *time.Time
	end  bool
}

// The days a strategy may name: anything outside is a slip of the pen.
var (
	firstDay = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

func (s date) read(r *reader, n node) {
	t, ok := r.text(n)
	if !ok {
		return
	}
	at, err := time.Parse(time.DateOnly, t)
	if err == nil && s.end {
		at = at.AddDate(0, 0, 1)
	}
	if err != nil {
		at, err = time.Parse(time.RFC3339, t)
	}
	switch {
	case err != nil || at.Nanosecond() != 0:
		r.problem(n, "%q is not a date; write it as 2024-06-30 or 2024-06-30T12:00:00Z", shorten(t))
	case !at.After(firstDay) || at.After(lastDay):
		r.problem(n, "%s lies outside the years 1900 to 2199", t)
	default:
		*s.into = at.UTC()
	}
}

func (s date) tree() any {
	at := *s.into
	switch {
	case at.IsZero():
		return nil
	case at.Truncate(24*hour) != at:
		return at.Format(time.RFC3339)
	case s.end:
		at = at.AddDate(0, 0, -1)
	}
	return at.Format(time.DateOnly)
}

func (s date) schema() *schema {
	return &schema{Type: "string", Pattern: `^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$`}
}

type hours struct{ into *time.Duration }

func (s hours) number(x *float64) number { return number{x, 0, 24 * 365, false} }

func (s hours) read(r *reader, n node) {
	x := s.into.Hours()
	s.number(&x).read(r, n)
	*s.into = time.Duration(float64(x*3600)+0.5) * time.Second
}

func (s hours) tree() any { return s.into.Hours() }

func (s hours) schema() *schema {
	x := s.into.Hours()
	return s.number(&x).schema()
}

func (s Span) check(r *reader, path string) {
	if !s.Start.IsZero() && !s.End.IsZero() && !s.Start.Before(s.End) {
		r.problemOn(path, "it ends with %v, before it starts with %v", date{&s.End, true}.tree(), date{&s.Start, false}.tree())
	}
}
