package research

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

type subject struct {
	text     string // of a strategy that was given
	name     string
	brief    designer.Brief
	symbols  []string
	frames   []market.Timeframe
	context  []strategy.Series // of context symbols
	span     strategy.Span     // of a strategy that was given
	warnings []string
}

func (d *Desk) subject(ctx context.Context, t Request) (subject, error) {
	known, err := d.known(ctx)
	if err != nil {
		return subject{}, err
	}
	chosen, err := t.chosen(known)
	if err != nil {
		return subject{}, err
	}
	if t.Strategy != "" || t.StrategyYAML != "" {
		return d.given(ctx, t, known, chosen)
	}
	if err := available(known, chosen); err != nil {
		return subject{}, err
	}
	warnings, err := designer.CheckBrief(t.Brief, known, chosen)
	if err != nil {
		return subject{}, wrong("%w", err)
	}
	b := chosen.Read(t.Brief, known)
	if b.NothingUnderstood && t.Model == Builtin {
		if t.RefuseUnknown {
			return subject{}, wrong("nothing of the goal was understood: %s. Name symbols, timeframes, indicators, "+
				"or a style such as trend or mean reversion. --ignore-unknown researches without a goal", unknownWords(b))
		}
		warnings = append(warnings,
			fmt.Sprintf("Nothing of the goal was understood: %s. It is researched as if there were no goal.", unknownWords(b)))
	}
	if err := d.enoughBars(known, &b); err != nil {
		return subject{}, err
	}
	return subject{brief: b, symbols: b.Symbols, frames: b.Timeframes(), context: b.ContextSeries(), warnings: warnings}, nil
}

func unknownWords(b designer.Brief) string {
	list := make([]string, len(b.NotUnderstood))
	for i, w := range b.NotUnderstood {
		list[i] = w
		if near := designer.Nearest(w); near != "" {
			list[i] += fmt.Sprintf(" (did you mean %s?)", near)
		}
	}
	return strings.Join(list, ", ")
}

func (t Request) chosen(known designer.Known) (c designer.Chosen, err error) {
	if c.Symbols, err = spelled(t.Symbols, known); err != nil {
		return c, err
	}
	frames := t.Timeframes
	if t.Timeframe != "" {
		frames = []string{t.Timeframe}
	}
	for _, text := range frames {
		tf, err := market.ParseTimeframe(text)
		if err != nil {
			return c, wrong("%w", err)
		}
		if !slices.Contains(c.Timeframes, tf) {
			c.Timeframes = append(c.Timeframes, tf)
		}
	}
	return c, nil
}

// spelled writes symbols as the library does, and each of them once.
func spelled(symbols []string, known designer.Known) ([]string, error) {
	var list []string
	for _, symbol := range symbols {
		if strings.TrimSpace(symbol) == "" {
			return nil, wrong("a symbol has no name: give one such as EURUSD, or leave the symbols to the goal")
		}
		if !slices.ContainsFunc(known.Series, func(s designer.KnownSeries) bool { return s.Symbol == symbol }) {
			if i := slices.IndexFunc(known.Series, func(s designer.KnownSeries) bool { return strings.EqualFold(s.Symbol, symbol) }); i >= 0 {
				symbol = known.Series[i].Symbol
			}
		}
		if !slices.Contains(list, symbol) {
			list = append(list, symbol)
		}
	}
	return list, nil
}

func (d *Desk) given(ctx context.Context, t Request, known designer.Known, chosen designer.Chosen) (subject, error) {
	text, name := t.StrategyYAML, "strategy_yaml"
	if t.Strategy != "" {
		if strings.ContainsAny(t.Strategy, `/\`) {
			return subject{}, wrong("strategy %.60q is a path: give the name of a strategy, or its text", t.Strategy)
		}
		b, err := d.cfg.Strategy(ctx, t.Strategy)
		if err != nil {
			return subject{}, err
		}
		text, name = string(b), t.Strategy
	}
	s, err := readStrategy(text, name)
	if err != nil {
		return subject{}, wrong("correct the strategy: %w", err)
	}
	if err := fits(chosen, s.Strategy); err != nil {
		return subject{}, err
	}
	sub := subject{text: text, name: s.Name, symbols: s.Data.Symbols, frames: s.Data.Timeframes, context: s.ContextSeries(), span: s.Data.Span}
	given := designer.Chosen{Symbols: s.Data.Symbols, Timeframes: s.Data.Timeframes}
	if err := given.Contradicts(t.Brief, known); err != nil {
		return subject{}, wrong("strategy %s: %w", s.Name, err)
	}
	sub.brief = given.Read("", known)
	if t.Brief != "" {
		sub.warnings = append(sub.warnings, "The strategy is given, so nothing is designed: the goal is kept as a note and has no effect.")
	}
	longest, fewest := 0, math.MaxInt
	for _, x := range known.Series {
		if slices.Contains(s.Data.Symbols, x.Symbol) {
			longest = max(longest, x.Bars)
		}
		if slices.Contains(s.Data.Symbols, x.Symbol) && x.Timeframe == s.Data.Base {
			fewest = min(fewest, x.Bars)
		}
	}
	searched := int((1 - d.cfg.Holdout) * float64(fewest))
	if err := errors.Join(affordable(s.Strategy, longest), trainable(s.Strategy, searched)); err != nil {
		return subject{}, wrong("%w", err)
	}
	for _, w := range s.warnings {
		sub.warnings = append(sub.warnings, w.String())
	}
	return sub, nil
}

// fits refuses to research a strategy on other symbols or timeframes than it names.
func fits(chosen designer.Chosen, s *strategy.Strategy) error {
	for _, symbol := range chosen.Symbols {
		if !slices.Contains(s.Data.Symbols, symbol) {
			return wrong("strategy %s is written for %s, not for %s: change its training_data", s.Name, strings.Join(s.Data.Symbols, ", "), symbol)
		}
	}
	if n := len(chosen.Symbols); n > 0 && n < len(s.Data.Symbols) {
		return wrong("strategy %s is written for %s together, and the request names only %s: leave the symbols out, or change its training_data",
			s.Name, strings.Join(s.Data.Symbols, ", "), strings.Join(chosen.Symbols, ", "))
	}
	for _, tf := range chosen.Timeframes {
		if !slices.Contains(s.Data.Timeframes, tf) {
			return wrong("strategy %s is not written for %s bars: change its training_data", s.Name, tf)
		}
	}
	if n := len(chosen.Timeframes); n > 0 && n < len(s.Data.Timeframes) && !slices.Equal(chosen.Timeframes, []market.Timeframe{s.Data.Base}) {
		return wrong("strategy %s decides at %s bars and reads %d timeframes: name %s alone, all of them, or none", s.Name, s.Data.Base,
			len(s.Data.Timeframes), s.Data.Base)
	}
	return nil
}

func (d *Desk) known(ctx context.Context) (designer.Known, error) {
	entries, err := d.cfg.Library.List(ctx)
	if err != nil {
		return designer.Known{}, fmt.Errorf("library of bars: %w", err)
	}
	return designer.Known{Series: text.Map(entries, func(e jobs.SeriesInfo) designer.KnownSeries {
		return designer.KnownSeries{Symbol: e.Symbol, Timeframe: e.Timeframe, Bars: e.Bars, First: e.First, Last: e.Last}
	})}, nil
}

func available(known designer.Known, chosen designer.Chosen) error {
	has := func(symbol string, tf market.Timeframe) bool {
		return slices.ContainsFunc(known.Series, func(s designer.KnownSeries) bool {
			return (symbol == "" || s.Symbol == symbol) && (tf == "" || s.Timeframe == tf)
		})
	}
	if len(known.Series) == 0 && len(chosen.Symbols) == 0 {
		return wrong("there are no bars to research: import some with `ktrdr data import FILE --symbol EURUSD --timeframe 1h`, " +
			"or make some up with `ktrdr data synth --symbol EURUSD --timeframe 1h --bars 20000 --seed 7`")
	}
	frames := chosen.Timeframes
	if len(frames) == 0 {
		frames = []market.Timeframe{""} // any
	}
	var missing []error
	for _, tf := range frames {
		if len(chosen.Symbols) == 0 && !has("", tf) {
			missing = append(missing,
				fmt.Errorf("there are no %s bars in the library: import some with `ktrdr data import FILE --symbol EURUSD --timeframe %s`", tf, tf))
		}
		for _, symbol := range chosen.Symbols {
			if !has(symbol, tf) {
				missing = append(missing, noData(known, symbol, tf))
			}
		}
	}
	if err := errors.Join(missing...); err != nil {
		return wrong("%w", err)
	}
	return nil
}

func noData(known designer.Known, symbol string, tf market.Timeframe) error {
	tf = cmp.Or(tf, market.H1)
	todo := "import some"
	if command := known.Resample(symbol, tf); command != "" {
		todo = fmt.Sprintf("make them with `%s`, import some", command)
	} else if near := known.Nearest(symbol); near != "" {
		todo = fmt.Sprintf("did you mean %s? If not, import some", near)
	}
	return fmt.Errorf("there are no %[2]s bars of %[1]s: %[3]s with `ktrdr data import FILE --symbol %[1]s --timeframe %[2]s`, "+
		"or make some up with `ktrdr data synth --symbol %[1]s --timeframe %[2]s --bars 20000 --seed 7`", symbol, tf, todo)
}
