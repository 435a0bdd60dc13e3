package research

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// subject is what is to be researched.
type subject struct {
	text     string // of a strategy that was given
	name     string
	brief    designer.Brief
	symbols  []string
	frames   []market.Timeframe
	warnings []string
}

// subject reads strategy or brief.
func (d *Desk) subject(t Trigger) (subject, error) {
	known, err := d.known()
	if err != nil {
		return subject{}, err
	}
	if t.Symbols, err = spelled(t.Symbols, known); err != nil {
		return subject{}, err
	}
	if t.Strategy != "" || t.StrategyYAML != "" {
		return d.given(t, known)
	}
	warnings, err := doubts(t, known)
	if err != nil {
		return subject{}, err
	}
	if known, err = d.narrow(t, known); err != nil {
		return subject{}, err
	}
	b := designer.ReadBrief(t.Brief, known)
	if len(t.Symbols) > 0 {
		b.Symbols = t.Symbols
	}
	return subject{brief: b, symbols: b.Symbols, frames: []market.Timeframe{b.Timeframe}, warnings: warnings}, nil
}

// doubts refuses a brief that names what the library does not have. Where there
// are no bars at all, that is what is said.
func doubts(t Trigger, known designer.Known) ([]string, error) {
	if len(known.Series) == 0 {
		return nil, nil
	}
	warnings, err := designer.CheckBrief(t.Brief, known, designer.Chosen{Symbols: t.Symbols, Timeframe: market.Timeframe(t.Timeframe)})
	if err != nil {
		return nil, wrong("%w", err)
	}
	return warnings, nil
}

// spelled writes symbols as the library does, and each of them once.
func spelled(symbols []string, known designer.Known) ([]string, error) {
	var list []string
	for _, symbol := range symbols {
		if strings.TrimSpace(symbol) == "" {
			return nil, wrong("a symbol has no name: give one such as EURUSD, or leave the symbols to the brief")
		}
		if !slices.ContainsFunc(known.Series, func(s designer.Series) bool { return s.Symbol == symbol }) {
			if i := slices.IndexFunc(known.Series, func(s designer.Series) bool { return strings.EqualFold(s.Symbol, symbol) }); i >= 0 {
				symbol = known.Series[i].Symbol
			}
		}
		if !slices.Contains(list, symbol) {
			list = append(list, symbol)
		}
	}
	return list, nil
}

// given reads a strategy that somebody wrote.
func (d *Desk) given(t Trigger, known designer.Known) (subject, error) {
	text, name := t.StrategyYAML, "strategy_yaml"
	if t.Strategy != "" {
		if strings.ContainsAny(t.Strategy, `/\`) {
			return subject{}, wrong("strategy %.60q is a path: give the name of a strategy, or its text", t.Strategy)
		}
		b, err := d.cfg.Strategy(t.Strategy)
		if err != nil {
			return subject{}, err
		}
		text, name = string(b), t.Strategy
	}
	s, err := readStrategy(text, name)
	if err != nil {
		return subject{}, wrong("correct the strategy: %w", err)
	}
	sub := subject{text: text, name: s.Name, brief: designer.ReadBrief(t.Brief, known), symbols: s.Data.Symbols, frames: s.Data.Timeframes}
	if err := fits(t, s.Strategy); err != nil {
		return subject{}, err
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

// fits refuses to research a strategy on what it is not written for.
func fits(t Trigger, s *strategy.Strategy) error {
	for _, symbol := range t.Symbols {
		if !slices.Contains(s.Data.Symbols, symbol) {
			return wrong("strategy %s is written for %s, not for %s: change its training_data", s.Name, strings.Join(s.Data.Symbols, ", "), symbol)
		}
	}
	if t.Timeframe != "" && !slices.Contains(s.Data.Timeframes, market.Timeframe(t.Timeframe)) {
		return wrong("strategy %s is not written for %s bars: change its training_data", s.Name, t.Timeframe)
	}
	return nil
}

// known lists what the library has.
func (d *Desk) known() (designer.Known, error) {
	entries, err := d.cfg.Library.List()
	if err != nil && len(entries) == 0 { // a damaged series is no reason not to research another
		return designer.Known{}, fmt.Errorf("library of bars: %w", err)
	}
	var k designer.Known
	for _, e := range entries {
		k.Series = append(k.Series, designer.Series{Symbol: e.Symbol, Timeframe: e.Timeframe, Bars: e.Bars})
	}
	return k, nil
}

// narrow leaves of the library what was asked for, and says what of it is not
// there.
func (d *Desk) narrow(t Trigger, known designer.Known) (designer.Known, error) {
	if len(known.Series) == 0 && len(t.Symbols) == 0 {
		return known, wrong("there are no bars to research: import some with `ktrdr data import FILE --symbol EURUSD --timeframe 1h`, or make some up with `ktrdr data synth --symbol EURUSD --timeframe 1h --bars 20000 --seed 7`")
	}
	if t.Timeframe != "" {
		tf, err := market.ParseTimeframe(t.Timeframe)
		if err != nil {
			return known, wrong("%w", err)
		}
		known.Series = slices.DeleteFunc(known.Series, func(s designer.Series) bool { return s.Timeframe != tf })
	}
	if len(t.Symbols) == 0 {
		if len(known.Series) == 0 {
			return known, wrong("there are no %s bars in the library: import some with `ktrdr data import FILE --symbol EURUSD --timeframe %s`", t.Timeframe, t.Timeframe)
		}
		return known, nil
	}
	var missing []error
	for _, symbol := range t.Symbols {
		if !slices.ContainsFunc(known.Series, func(s designer.Series) bool { return s.Symbol == symbol }) {
			missing = append(missing, noData(symbol, t.Timeframe))
		}
	}
	if err := errors.Join(missing...); err != nil {
		return known, wrong("%w", err)
	}
	known.Series = slices.DeleteFunc(known.Series, func(s designer.Series) bool { return !slices.Contains(t.Symbols, s.Symbol) })
	return known, nil
}

// noData says what is missing and what to do about it.
func noData(symbol, timeframe string) error {
	if timeframe == "" {
		timeframe = "1h"
	}
	return fmt.Errorf("there are no %[2]s bars of %[1]s: import some with `ktrdr data import FILE --symbol %[1]s --timeframe %[2]s`, or make some up with `ktrdr data synth --symbol %[1]s --timeframe %[2]s --bars 20000 --seed 7`", symbol, timeframe)
}
