package strategy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// resolve finds what names refer to, fills in defaults that depend on other
// keys, and checks the rules that join several of them. It brings the strategy
// into its normal form: what is not used is zero.
func (s *Strategy) resolve(r *reader) {
	slices.SortStableFunc(s.Indicators, func(a, b Indicator) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(s.FuzzySets, func(a, b FuzzySet) int { return cmp.Compare(a.ID, b.ID) })
	s.resolveData(r)
	s.resolveDeployment(r)
	s.resolveContext(r)
	s.resolveReferences(r)
	s.resolveLabels(r)
	s.resolveDecisions(r)
	s.resolveTraining(r)
	s.resolveBacktest(r)
	if len(r.problems) > 0 {
		return // what follows would judge what is not there
	}
	s.checkFeatures(r)
	s.checkCost(r)
	s.checkHistory(r)
}

func (s *Strategy) resolveData(r *reader) {
	d := &s.Data
	if r.given("training_data.date_range") && (r.given("training_data.start_date") || r.given("training_data.end_date")) {
		r.problemOn("training_data.date_range", "the dates are given twice: use either date_range or start_date and end_date")
	}
	d.Span.check(r, "training_data")
	if len(d.Timeframes) == 0 {
		return
	}
	shortest := slices.MinFunc(d.Timeframes, func(a, b market.Timeframe) int {
		return cmp.Compare(slices.Index(market.Timeframes, a), slices.Index(market.Timeframes, b))
	})
	if d.Base != "" && d.Base != shortest {
		r.problemOn("training_data.timeframes.base_timeframe", "it is %s; it must be the shortest timeframe, %s: longer bars are aligned to it",
			d.Base, shortest)
	}
	d.Base = shortest
}

// resolveContext finds the context symbols that indicators name.
func (s *Strategy) resolveContext(r *reader) {
	const at = "training_data.context_symbols"
	for i, symbol := range s.Data.Context {
		if slices.Contains(s.Data.Symbols, symbol) {
			r.problemOn(fmt.Sprintf("%s[%d]", at, i), "%s is a training symbol, which is traded; a context symbol is only read", symbol)
		}
		if !slices.ContainsFunc(s.Indicators, func(x Indicator) bool { return x.Symbol == symbol }) {
			r.warnOn(fmt.Sprintf("%s[%d]", at, i), "no indicator reads %s; name it in one, as in {type: roc, period: 5, symbol: %s}", symbol, symbol)
		}
	}
	for _, x := range s.Indicators {
		path := "indicators." + x.ID + ".symbol"
		switch {
		case x.Symbol == "" || slices.Contains(s.Data.Context, x.Symbol):
		case slices.Contains(s.Data.Symbols, x.Symbol):
			r.problemOn(path, "%s is a training symbol; leave symbol out: an indicator reads the symbol that is traded", x.Symbol)
		default:
			r.problemOn(path, "%s is no context symbol%s; list it in training_data.context_symbols", shorten(x.Symbol),
				near(x.Symbol, s.Data.Context))
		}
	}
}

func (s *Strategy) resolveDeployment(r *reader) {
	d := &s.Deployment
	if d.Symbols == GroupRestricted && d.Excluded == nil {
		r.problemOn("deployment.target_symbols.mode", "group_restricted needs restrictions.excluded_symbols")
	}
	if d.Symbols != GroupRestricted {
		r.idle("deployment.target_symbols.restrictions", "restrictions are used only with mode: group_restricted")
		d.Excluded = nil
	}
	if d.Timeframes == nil {
		d.Timeframes = slices.Clone(s.Data.Timeframes)
	}
	for _, tf := range d.Timeframes {
		if !slices.Contains(s.Data.Timeframes, tf) {
			r.problemOn("deployment.target_timeframes", "%s is not a training timeframe (%s); the network knows no other", tf,
				text.Join(s.Data.Timeframes))
			return
		}
	}
	if s.Data.Base != "" && !slices.Contains(d.Timeframes, s.Data.Base) {
		r.problemOn("deployment.target_timeframes", "it leaves out %s, at whose bars the strategy decides", s.Data.Base)
	}
}

// Allows says whether the strategy may be used on a symbol and, as its base, a
// timeframe. The error says why not.
func (s *Strategy) Allows(symbol string, tf market.Timeframe) error {
	if tf != s.Data.Base {
		return fmt.Errorf("strategy %s decides at %s bars, not at %s", s.Name, s.Data.Base, tf)
	}
	if slices.Contains(s.Data.Context, symbol) {
		return fmt.Errorf("strategy %s reads %s as context and cannot trade it: see its training_data.context_symbols", s.Name, symbol)
	}
	switch s.Deployment.Symbols {
	case TrainingOnly:
		if !slices.Contains(s.Data.Symbols, symbol) {
			return fmt.Errorf("strategy %s may be used only on the symbols it is trained on (%s), and %s is not one: see its "+
				"deployment.target_symbols", s.Name, strings.Join(s.Data.Symbols, ", "), symbol)
		}
	case GroupRestricted:
		if slices.Contains(s.Deployment.Excluded, symbol) {
			return fmt.Errorf("strategy %s may not be used on %s: see its deployment.target_symbols", s.Name, symbol)
		}
	case Universal:
	}
	return nil
}

// resolveReferences finds the indicators that fuzzy sets and raw inputs name,
// and the fuzzy sets that inputs name.
func (s *Strategy) resolveReferences(r *reader) {
	used, usedSets := make([]bool, len(s.Indicators)), make([]bool, len(s.FuzzySets))
	for i := range s.FuzzySets {
		set := &s.FuzzySets[i]
		s.resolveRef(r, &set.Ref, "fuzzy_sets."+set.ID+".indicator", used)
	}
	for i := range s.Inputs {
		in, path := &s.Inputs[i], fmt.Sprintf("nn_inputs[%d]", i)
		s.resolveTimeframes(r, in, path+".timeframes")
		if in.IsRaw() {
			s.resolveRef(r, &in.Raw, path+".raw_indicator", used)
			in.Normalization = cmp.Or(in.Normalization, NoNorm)
			continue
		}
		r.idle(path+".normalization", "memberships lie between 0 and 1 already; it is used only with raw_indicator")
		in.Normalization = ""
		in.Set = slices.IndexFunc(s.FuzzySets, func(f FuzzySet) bool { return f.ID == in.Fuzzy })
		if in.Set < 0 {
			ids := text.Map(s.FuzzySets, func(f FuzzySet) string { return f.ID })
			r.problemOn(path+".fuzzy_set", "there is no fuzzy set %q%s", shorten(in.Fuzzy), suggest(in.Fuzzy, ids))
			continue
		}
		usedSets[in.Set] = true
	}
	for i, x := range s.Indicators {
		if !used[i] {
			r.warnOn("indicators."+x.ID, "no fuzzy set and no input uses it")
		}
	}
	for i, x := range s.FuzzySets {
		if !usedSets[i] {
			r.warnOn("fuzzy_sets."+x.ID, "no input uses it")
		}
	}
}

func (s *Strategy) resolveTimeframes(r *reader, in *Input, path string) {
	if in.Timeframes == nil {
		in.Timeframes = slices.Clone(s.Data.Timeframes)
	}
	for _, tf := range in.Timeframes {
		if !slices.Contains(s.Data.Timeframes, tf) && len(s.Data.Timeframes) > 0 {
			r.problemOn(path, "%s is not a training timeframe (%s)", tf, text.Join(s.Data.Timeframes))
		}
	}
}

func (s *Strategy) resolveRef(r *reader, ref *Ref, path string, used []bool) {
	if ref.Name == "" {
		return // it was not given, which has been said
	}
	id, output, dotted := strings.Cut(ref.Name, ".")
	i := slices.IndexFunc(s.Indicators, func(x Indicator) bool { return x.ID == id })
	if i < 0 {
		ids := text.Map(s.Indicators, func(x Indicator) string { return x.ID })
		r.problemOn(path, "there is no indicator %q%s", shorten(id), suggest(id, ids))
		return
	}
	used[i] = true
	x := s.Indicators[i]
	if x.Type == "" {
		return // the indicator itself is wrong, which has been said
	}
	def, _ := indicator.Lookup(x.Type)
	k := 0
	switch {
	case dotted && len(def.Outputs) == 1:
		r.problemOn(path, "%s has one output; write %s", x.Type, id)
		return
	case dotted:
		if k = slices.Index(def.Outputs, output); k < 0 {
			r.problemOn(path, "%s has no output %q%s", x.Type, shorten(output), suggest(output, def.Outputs))
			return
		}
	}
	*ref = Ref{Name: id, Indicator: i, Output: k}
	if len(def.Outputs) > 1 {
		ref.Name = id + "." + def.Outputs[k]
	}
}

// checkHistory warns when decisions would be asked for before there are values.
func (s *Strategy) checkHistory(r *reader) {
	if warm := s.WarmUp(); s.Data.History < warm {
		r.warnOn("training_data.history_required", "it is %d, and the inputs need about %d bars of %s before they have values", s.Data.History,
			warm, s.Data.Base)
	}
}

// WarmUp is about how many base bars pass before every input has a value: the
// longest warm-up of an indicator in its own bars, and the rest of a longer
// bar that has to close first.
func (s *Strategy) WarmUp() int {
	longest := 0.0
	base := seconds(s.Data.Base)
	warm := make([][]int, len(s.Indicators))
	for i, x := range s.Indicators {
		warm[i] = x.New().WarmUp()
	}
	for _, c := range s.Columns() {
		per := seconds(c.Timeframe) / base
		longest = max(longest, float64(warm[c.Ref.Indicator][c.Ref.Output]+1)*per)
	}
	return int(math.Ceil(longest)) + s.Model.Window() - 1
}

// seconds is the length of a bar; of a month, the longest.
func seconds(tf market.Timeframe) float64 { return float64(tf.End(0)) }
