package designer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Brief is a goal as the designer understands it.
//
// Chosen.Read makes one from words. It names the data. The caller adds
// their Stats before Design.
type Brief struct {
	Symbols   []string           `json:"symbols"`                     // researched together: one account each
	Timeframe market.Timeframe   `json:"timeframe"`                   // of the bars at which decisions are made
	Longer    []market.Timeframe `json:"longer_timeframes,omitempty"` // that designs may read as well, in ascending order

	// Context are symbols that designs may read and do not trade, at the same timeframe.
	Context []string `json:"context,omitempty"`

	Families []Family             `json:"families,omitempty"` // wished for, in the order of the text
	Readings []string             `json:"readings,omitempty"` // likewise; see Catalog
	Models   []strategy.ModelType `json:"models,omitempty"`   // empty: the designer's own choice
	Style    Style                `json:"style,omitempty"`

	AvoidFamilies []Family `json:"avoid_families,omitempty"`
	AvoidReadings []string `json:"avoid_readings,omitempty"`

	LongOnly    bool    `json:"long_only,omitempty"`
	MaxDrawdown float64 `json:"max_drawdown,omitempty"` // fraction; 0: not said
	MinTrades   int     `json:"min_trades,omitempty"`   // 0: not said
	Simple      bool    `json:"simple,omitempty"`

	Stop   Exit    `json:"stop,omitzero"`
	Target Exit    `json:"target,omitzero"`
	Risk   float64 `json:"risk,omitempty"` // fraction of the equity that a trade loses at its stop; 0: not said

	// NotUnderstood are the content words of the text that had no effect.
	NotUnderstood     []string `json:"not_understood,omitempty"`
	NothingUnderstood bool     `json:"nothing_understood,omitempty"` // there are such words, and no others

	// Understood tells in sentences what was read out of the text, so that a user sees what was not.
	Understood []string `json:"understood"`

	// Stats describe the market, and LongerStats its longer bars, in the order of
	// Longer. Read leaves them empty; Measure sets them.
	Stats       Stats   `json:"stats"`
	LongerStats []Stats `json:"longer_stats,omitempty"`

	ContextStats []Stats `json:"context_stats,omitempty"` // in the order of Context

	// Hints are the readings that earned before the test part. Screen sets them. Without
	// them the first designs are the archetypes alone.
	Hints []Hint `json:"hints,omitempty"`
}

// Style is how long positions are meant to last.
type Style string

// The styles; none is "".
const (
	Scalping Style = "scalping"
	Intraday Style = "intraday"
	Swing    Style = "swing"
	Position Style = "position"
)

// horizons are the least and the most bars that a label of the style looks ahead.
func (s Style) horizons() [2]int {
	if h, ok := map[Style][2]int{Scalping: {1, 4}, Intraday: {4, 16}, Swing: {16, 96}, Position: {72, 288}}[s]; ok {
		return h
	}
	return [2]int{2, 48}
}

// Known is what the library has.
type Known struct {
	Series []KnownSeries `json:"series"`
}

// KnownSeries is one series of the library.
type KnownSeries struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Bars      int              `json:"bars"`
	First     int64            `json:"first,omitempty"` // opening of the first bar, Unix seconds
	Last      int64            `json:"last,omitempty"`  // of the last
}

// longest is how much of a text is read.
const longest = 64 << 10

// Read reads a goal in English. Words without an effect are listed. Of a text
// beyond 64 KiB the rest is not read. What was chosen wins over the text. The
// symbols and timeframes are always those of known series, unless none is.
func (c Chosen) Read(text string, known Known) Brief {
	b := Brief{}
	if len(text) > longest {
		text = text[:longest]
		b.understand("Only the first %d bytes of the goal were read.", longest)
	}
	r := newReader(text, known, &b)
	r.readSeries(known, c)
	r.settle()
	b.NotUnderstood = r.lost()
	b.NothingUnderstood = len(b.NotUnderstood) > 0 && !slices.Contains(r.used, true)
	b.Understood = append(r.sentences(), b.Understood...)
	return b
}

func (b *Brief) understand(format string, args ...any) {
	b.Understood = append(b.Understood, fmt.Sprintf(format, args...))
}

func squash(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return -1
	}, s)
}

func (r *briefReader) sentences() []string {
	b := r.brief
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	sayIf := func(so bool, format string, args ...any) {
		if so {
			say(format, args...)
		}
	}
	switch n := len(b.Symbols); {
	case n == 1 && r.unnamed && r.longest:
		say("No symbol is named: %s %s, the longest series, is researched.", b.Symbols[0], b.Timeframe)
	case n == 1 && r.unnamed:
		say("No symbol is named: %s %s, the longest series with such bars, is researched.", b.Symbols[0], b.Timeframe)
	case n == 1:
		say("Research %s on %s bars.", b.Symbols[0], b.Timeframe)
	case n > 1:
		say("Research %s together on %s bars: one account each with 1/%d of the capital, judged on the sum.", text.List(b.Symbols, "and"),
			b.Timeframe, n)
	}
	sayIf(len(b.Context) > 0, "Designs may read %s, which is not traded. A look at the holdout counts there too.", text.List(b.Context, "and"))
	sayIf(len(b.Longer) > 0, "Decide at %s bars; designs may also read %s bars.", b.Timeframe, text.List(b.Longer, "and"))
	sayIf(len(b.Families) > 0, "Look first for %s.", text.Join(b.Families))
	sayIf(len(b.Readings) > 0, "Look first at %s.", strings.Join(b.Readings, ", "))
	if len(b.AvoidFamilies)+len(b.AvoidReadings) > 0 {
		say("Do without %s.", strings.Join(append(text.Strings(b.AvoidFamilies), b.AvoidReadings...), ", "))
	}
	sayIf(len(b.Models) > 0, "Use networks of the kind %s.", text.Join(b.Models))
	if rest := without(slices.Clone(r.unwanted), b.Models); len(rest) > 0 {
		say("Use no network of the kind %s.", text.Join(rest))
	}
	if h := b.Style.horizons(); b.Style != "" {
		say("Trade in the style of %s: look %d to %d bars ahead.", b.Style, h[0], h[1])
	}
	sayIf(b.LongOnly, "Never go short.")
	sayIf(r.shorts && !b.LongOnly, "Going short is allowed.")
	r.sayExit(say, "stop", b.Stop)
	r.sayExit(say, "take profit", b.Target)
	sayIf(b.Risk > 0, "Risk %.4g %% of the equity in a trade: the position is sized by the distance of its stop.", 100*b.Risk)
	sayIf(b.MaxDrawdown > 0, "Keep drawdowns below %.4g %%, by smaller positions and stops.", 100*b.MaxDrawdown)
	sayIf(b.MinTrades > 0, "Aim at %d trades or more.", b.MinTrades)
	sayIf(b.Simple, "Keep it simple: at most %d inputs and one hidden layer.", simpleInputs)
	return out
}

func (r *briefReader) sayExit(say func(string, ...any), name string, e Exit) {
	switch {
	case e.None:
		say("No %s.", name)
	case e.At > 0:
		say("Every design has a %s at %.4g %% of the entry price.", name, 100*e.At)
	case e.Use:
		say("Every design has a %s; its distance is a part of the design.", name)
	}
}
