package designer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Brief is a goal as the designer understands it.
//
// ReadBrief makes one from words. It names the data; whoever has them adds
// Stats, and Design can begin.
type Brief struct {
	Symbols   []string         `json:"symbols"`
	Timeframe market.Timeframe `json:"timeframe"`

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

	// Understood tells in sentences what was read out of the text, so that a
	// user sees what was not.
	Understood []string `json:"understood"`

	// Stats describe the market. ReadBrief leaves them empty.
	Stats Stats `json:"stats"`
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

// horizons are the least and the most bars that a label of the style looks
// ahead.
func (s Style) horizons() [2]int {
	switch s {
	case Scalping:
		return [2]int{1, 4}
	case Intraday:
		return [2]int{4, 16}
	case Swing:
		return [2]int{16, 96}
	case Position:
		return [2]int{72, 288}
	}
	return [2]int{2, 48}
}

// Known is what the library has.
type Known struct {
	Series []Series `json:"series"`
}

// Series is one series of the library.
type Series struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Bars      int              `json:"bars"`
}

// longest is how much of a text is read.
const longest = 64 << 10

// ReadBrief reads a goal in English. Words it does not know say nothing to it.
// Of a text beyond 64 KiB the rest is not read. The symbols and the timeframe
// are always those of a series that is known, unless none is.
func ReadBrief(text string, known Known) Brief {
	b := Brief{}
	if len(text) > longest {
		text = text[:longest]
		b.understand("Only the first %d bytes of the goal were read.", longest)
	}
	r := briefReader{words: split(text), brief: &b}
	r.read()
	r.readSeries(known)
	r.settle()
	b.Understood = append(r.sentences(), b.Understood...)
	return b
}

func (b *Brief) understand(format string, args ...any) {
	b.Understood = append(b.Understood, fmt.Sprintf(format, args...))
}

// readSeries chooses the data: the named symbols in the named timeframe; what
// was not named is what the library has most bars of.
func (r *briefReader) readSeries(known Known) {
	b := r.brief
	list := slices.Clone(known.Series)
	slices.SortStableFunc(list, func(x, y Series) int {
		return cmp.Or(cmp.Compare(y.Bars, x.Bars), cmp.Compare(x.Symbol, y.Symbol), cmp.Compare(x.Timeframe, y.Timeframe))
	})
	if len(list) == 0 {
		b.understand("The library has no data: import some, or make a synthetic market.")
		return
	}
	named := r.namedSymbols(list)
	find := func(tf market.Timeframe) int {
		return slices.IndexFunc(list, func(s Series) bool {
			return (len(named) == 0 || slices.Contains(named, s.Symbol)) && (tf == "" || s.Timeframe == tf)
		})
	}
	i := find(r.timeframe)
	for _, tf := range r.bars { // the first that there is
		if i < 0 {
			i = find(tf)
		}
	}
	if i < 0 && len(named) > 0 {
		i = slices.IndexFunc(list, func(s Series) bool { return slices.Contains(named, s.Symbol) })
		b.understand("There is no %s data of %s; %s is used.", r.timeframe, strings.Join(named, ", "), list[max(i, 0)].Timeframe)
	} else if i < 0 {
		b.understand("There is no %s data; %s is used.", r.timeframe, list[0].Timeframe)
	}
	b.Timeframe = list[max(i, 0)].Timeframe
	for _, symbol := range named {
		if slices.ContainsFunc(list, func(s Series) bool { return s.Symbol == symbol && s.Timeframe == b.Timeframe }) {
			b.Symbols = append(b.Symbols, symbol)
		}
	}
	if len(b.Symbols) == 0 {
		b.Symbols = []string{list[max(i, 0)].Symbol}
	}
}

// namedSymbols are the symbols that the text names, in its order. EUR/USD, as
// people write it, names EURUSD.
func (r *briefReader) namedSymbols(list []Series) []string {
	byName := map[string]string{}
	for _, s := range list {
		byName[squash(s.Symbol)] = s.Symbol
	}
	var named []string
	for i, w := range r.words {
		for _, n := range []int{1, 2} {
			if i+n > len(r.words) {
				continue
			}
			symbol, ok := byName[squash(strings.Join(r.words[i:i+n], ""))]
			if ok && squash(w) != "" && !slices.Contains(named, symbol) && len(named) < mostSymbols {
				named = append(named, symbol)
			}
		}
	}
	return named
}

// mostSymbols is how many symbols a design is trained on at most.
const mostSymbols = 16

// squash leaves letters and digits, in lower case.
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

// sentences tell what was understood.
func (r *briefReader) sentences() []string {
	b := r.brief
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(b.Symbols) > 0 {
		say("Research %s on %s bars.", strings.Join(b.Symbols, ", "), b.Timeframe)
	}
	if len(b.Families) > 0 {
		say("Look first for %s.", join(b.Families))
	}
	if len(b.Readings) > 0 {
		say("Look first at %s.", strings.Join(b.Readings, ", "))
	}
	if len(b.AvoidFamilies)+len(b.AvoidReadings) > 0 {
		say("Do without %s.", strings.Join(append(texts(b.AvoidFamilies), b.AvoidReadings...), ", "))
	}
	if len(b.Models) > 0 {
		say("Use networks of the kind %s.", join(b.Models))
	}
	if h := b.Style.horizons(); b.Style != "" {
		say("Trade in the style of %s: look %d to %d bars ahead.", b.Style, h[0], h[1])
	}
	if b.LongOnly {
		say("Never go short.")
	}
	if b.MaxDrawdown > 0 {
		say("Keep drawdowns below %.4g %%, by smaller positions and stops.", 100*b.MaxDrawdown)
	}
	if b.MinTrades > 0 {
		say("Aim at %d trades or more.", b.MinTrades)
	}
	if b.Simple {
		say("Keep it simple: at most %d inputs and one hidden layer.", simpleInputs)
	}
	return out
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

func join[T ~string](list []T) string { return strings.Join(texts(list), ", ") }
