package designer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Chosen is what was said elsewhere than in the text, where there is nothing to misread.
type Chosen struct {
	Symbols    []string
	Timeframes []market.Timeframe
	Context    []string // symbols that designs may read and do not trade
}

// MaxSymbols is how many symbols are researched together at most.
const MaxSymbols = 16

func (k Known) has(symbol string, tf market.Timeframe) bool {
	return slices.ContainsFunc(k.Series, func(s KnownSeries) bool { return s.Symbol == symbol && s.Timeframe == tf })
}

func (k Known) hasAll(symbols []string, tf market.Timeframe) bool {
	return !slices.ContainsFunc(symbols, func(s string) bool { return !k.has(s, tf) })
}

// readSeries chooses the data: the symbols that are named, together, in the
// timeframes that are named. Decisions are made at the shortest. What is not named
// is what the library has most bars of.
func (r *briefReader) readSeries(known Known, chosen Chosen) {
	b := r.brief
	known.Series = slices.Clone(known.Series)
	slices.SortStableFunc(known.Series, func(x, y KnownSeries) int {
		return cmp.Or(cmp.Compare(y.Bars, x.Bars), cmp.Compare(x.Symbol, y.Symbol), cmp.Compare(x.Timeframe, y.Timeframe))
	})
	if len(known.Series) == 0 {
		b.understand("The library has no data: import some, or make a synthetic market.")
		return
	}
	symbols, out, _ := r.namedSymbols()
	if out = without(out, chosen.Symbols); len(out) > 0 {
		b.understand("Leave out %s.", text.List(out, "and"))
	}
	symbols = symbols[:min(len(symbols), MaxSymbols)]
	if len(chosen.Symbols) > 0 {
		symbols = chosen.Symbols
	}
	certain, possible := r.named()
	if len(chosen.Timeframes) > 0 {
		certain, possible = chosen.Timeframes, nil
	}
	r.unnamed = len(symbols) == 0
	if r.unnamed {
		symbols = []string{known.sansContext(r.contextNamed()).symbolFor(certain, possible)}
	}
	frames := slices.DeleteFunc(slices.Concat(certain, possible), func(tf market.Timeframe) bool { return !known.hasAll(symbols, tf) })
	if len(frames) == 0 {
		symbols, frames = known.longestCommon(symbols)
		if len(certain) > 0 { // what is in doubt is listed as not understood
			b.understand("There is no %s data of %s; %s is used.", text.Join(certain), text.List(symbols, "and"), frames[0])
		}
	}
	slices.SortFunc(frames, func(x, y market.Timeframe) int { return cmp.Compare(length(x), length(y)) })
	frames = slices.Compact(frames)
	b.Symbols, b.Timeframe, b.Longer = symbols, frames[0], frames[1:]
	r.readContext(known, chosen)
	first := known.Series[0]
	r.longest = first.Symbol == symbols[0] && first.Timeframe == b.Timeframe
	for _, m := range r.frames { // what is certain is read, refused, or reported elsewhere
		if m.certain || slices.Contains(frames, m.timeframe) {
			r.use(m.from, m.to-m.from)
		}
	}
}

// symbolFor is the symbol with the most bars among those that have the timeframes;
// else the one with the most bars of all. Series are in the order of their bars.
func (k Known) symbolFor(certain, possible []market.Timeframe) string {
	for _, want := range [][]market.Timeframe{slices.Concat(certain, possible), certain, possible} {
		for _, s := range k.Series {
			if len(want) > 0 && slices.Contains(want, s.Timeframe) &&
				!slices.ContainsFunc(want, func(tf market.Timeframe) bool { return !k.has(s.Symbol, tf) }) {
				return s.Symbol
			}
		}
	}
	for _, tf := range certain { // the first that there is
		for _, s := range k.Series {
			if s.Timeframe == tf {
				return s.Symbol
			}
		}
	}
	return k.Series[0].Symbol
}

// longestCommon is the timeframe with the most bars that all symbols have; where
// they have none in common, the symbols that have the one of the longest series.
func (k Known) longestCommon(symbols []string) ([]string, []market.Timeframe) {
	for _, s := range k.Series {
		if slices.Contains(symbols, s.Symbol) && k.hasAll(symbols, s.Timeframe) {
			return symbols, []market.Timeframe{s.Timeframe}
		}
	}
	longest := k.Series[0]
	if i := slices.IndexFunc(k.Series, func(s KnownSeries) bool { return slices.Contains(symbols, s.Symbol) }); i >= 0 {
		longest = k.Series[i]
	}
	some := slices.DeleteFunc(slices.Clone(symbols), func(s string) bool { return !k.has(s, longest.Timeframe) })
	if len(some) == 0 {
		some = []string{longest.Symbol}
	}
	return some, []market.Timeframe{longest.Timeframe}
}

// symbolName is a symbol that a text names, and how many words its name has.
type symbolName struct {
	symbol string
	words  int
}

// findSymbols finds the symbols that the text names. EUR/USD, as people write it,
// names EURUSD. A symbol that is also an English word counts in capitals only.
func (r *briefReader) findSymbols(known Known) {
	byName := map[string]string{}
	for _, s := range known.Series {
		byName[squash(s.Symbol)] = s.Symbol
	}
	for i, w := range r.words {
		for _, n := range []int{1, 2} {
			if i+n > len(r.words) || squash(w) == "" {
				continue
			}
			symbol, ok := byName[squash(strings.Join(r.words[i:i+n], ""))]
			if !ok && n == 1 {
				symbol = known.called(w)
				ok = symbol != ""
			}
			if !ok || n == 1 && r.raw[i] == w && (slices.Contains(english, w) || saysNothing(w)) {
				continue
			}
			r.symbols[i] = symbolName{symbol, n}
		}
	}
}

// namedSymbols are the symbols that the text wants, those that it rules out, and
// those of which it does not say clearly whether it wants them, in its order.
func (r *briefReader) namedSymbols() (named, out, unclear []string) {
	for i, s := range r.symbols {
		switch {
		case s.words == 0 || r.context[i]:
			continue
		case r.verdicts[i] == doubtful:
			unclear = appendNew(unclear, s.symbol)
			continue
		case r.verdicts[i] == unwanted:
			out = appendNew(out, s.symbol)
		default:
			named = appendNew(named, s.symbol)
		}
		r.use(i, s.words)
	}
	return without(named, out), out, unclear
}

// certify makes "daily" and its like certain where nothing but a timeframe is
// meant: beside a symbol, behind "on", in front of the kind of a strategy, alone.
func (r *briefReader) certify() {
	symbol := func(i int) bool {
		return i >= 0 && i < len(r.symbols) && (r.symbols[i].words > 0 || i > 0 && r.symbols[i-1].words == 2)
	}
	kinds := []Family{Trend, Momentum, Reversion, Breakout}
	for k := range r.frames {
		m := &r.frames[k]
		if len(units[r.words[m.from]]) != 2 {
			continue
		}
		before, after := r.word(m.from-1), r.word(m.to)
		kind := slices.Contains(kinds, phrases[after].family) || slices.Contains(kinds, phrases[after+" "+r.word(m.to+1)].family)
		m.certain = m.certain || kind || symbol(m.from-1) || symbol(m.to) || before == "on" || before == "the" && r.word(m.from-2) == "on" ||
			before == stop && after == stop
	}
}

// CheckBrief holds what a text names against what the library has and what was
// chosen. To research less than what is named is not what was meant: a text that
// names a symbol or a timeframe of which there are no bars is refused, with what
// there is. What a text names beside what was chosen is a warning.
func CheckBrief(goal string, known Known, chosen Chosen) (warnings []string, err error) {
	goal = goal[:min(len(goal), longest)]
	r := newReader(goal, known, &Brief{})
	named, out, unclear := r.namedSymbols()
	switch none := len(named)+len(chosen.Symbols) == 0; {
	case none && len(unclear) > 0:
		return nil, fmt.Errorf("the goal does not say clearly whether %s is wanted: name the symbols to research in a sentence of their own; "+
			"the library has %s", text.List(unclear, "and"), known.text())
	case none && len(out) > 0:
		return nil, fmt.Errorf("the goal rules out %s, and names no other symbol: name the symbols to research; the library has %s",
			text.List(out, "and"), known.text())
	}
	certain, _ := r.named()
	warnings, err = checkStrangers(goal, known, named, chosen)
	if err != nil {
		return nil, err
	}
	if len(chosen.Symbols) > 0 {
		if other := without(slices.Clone(named), chosen.Symbols); len(other) > 0 {
			warnings = append(warnings, fmt.Sprintf("The goal names %s, and the request chooses %s: only what it chooses is researched.",
				text.List(other, "and"), text.List(chosen.Symbols, "and")))
		}
		if both := slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(chosen.Symbols, s) }); len(both) > 0 {
			warnings = append(warnings, fmt.Sprintf("The goal rules out %s, and the request chooses it: what it chooses is researched.",
				text.List(both, "and")))
		}
		named = chosen.Symbols
	}
	who := "the goal"
	if len(chosen.Timeframes) > 0 {
		who = "the request"
		if other := without(slices.Clone(certain), chosen.Timeframes); len(other) > 0 {
			warnings = append(warnings, fmt.Sprintf("The goal names %s bars, and the request chooses %s: only what it chooses is read.",
				text.List(other, "and"), text.List(chosen.Timeframes, "and")))
		}
		certain = chosen.Timeframes
	}
	if len(named) > MaxSymbols {
		return nil, fmt.Errorf("%d symbols are named; at most %d are researched together: name fewer, or make several requests",
			len(named), MaxSymbols)
	}
	return warnings, known.lacks(who, named, certain)
}

// Contradicts says where a text names other symbols or timeframes than were chosen.
func (c Chosen) Contradicts(goal string, known Known) error {
	goal = goal[:min(len(goal), longest)]
	r := newReader(goal, known, &Brief{})
	named, _, _ := r.namedSymbols()
	named = append(named, strangers(goal, known)...)
	other := slices.DeleteFunc(named, func(s string) bool {
		return slices.ContainsFunc(c.Symbols, func(own string) bool { return squash(own) == squash(s) })
	})
	if len(other) > 0 {
		return fmt.Errorf("the goal names %s, and it is written for %s: leave the symbol out of the goal, or change the strategy's training_data",
			text.List(other, "and"), text.List(c.Symbols, "and"))
	}
	certain, _ := r.named()
	if frames := without(certain, c.Timeframes); len(frames) > 0 {
		return fmt.Errorf("the goal names %s bars, and it is written for %s: leave the timeframe out of the goal, "+
			"or change the strategy's training_data", text.List(frames, "and"), text.List(c.Timeframes, "and"))
	}
	return nil
}

// checkStrangers refuses what looks like a symbol and is not one of the library's.
// Beside a symbol that there is, only a pair of currencies and an item of a list
// with it are sure to be meant as symbols; anything else is a warning.
func checkStrangers(text string, known Known, named []string, chosen Chosen) (warnings []string, err error) {
	lost := strangers(text, known)
	if len(lost) == 0 {
		return nil, nil
	}
	meant := lost
	switch {
	case len(chosen.Symbols) > 0:
		meant = nil
	case len(named) > 0:
		listing := itemsWith(text, known, lost)
		meant = slices.DeleteFunc(slices.Clone(lost), func(s string) bool { return !pair(s) && !slices.Contains(listing, s) })
	}
	if len(meant) > 0 {
		hint := ""
		if near := known.Nearest(meant[0]); near != "" {
			hint = fmt.Sprintf("did you mean %s? If not, ", near)
		}
		return nil, fmt.Errorf(
			"the goal names %s, and the library has no such bars; it has %s: "+
				"%simport them with `ktrdr data import FILE --symbol %s --timeframe 1h`, leave the name out, "+
				"or write it in small letters if it is no symbol",
			strings.Join(meant, ", "), known.text(), hint, meant[0])
	}
	return []string{
		fmt.Sprintf("The goal names %s, and the library has no such bars: that part of it is not used.", strings.Join(lost, ", ")),
	}, nil
}

// itemsWith are those of the lost that stand in a list with a symbol of the library:
// "AAPL or MSFT", "AAPL, MSFT and TSLA".
func itemsWith(text string, known Known, lost []string) (items []string) {
	for _, sep := range []string{",", "&", "+"} {
		text = strings.ReplaceAll(text, sep, " and ")
	}
	tokens := strings.FieldsFunc(text, func(c rune) bool { return !(c == '/' || c == '-' || c == '_' || ascii(c)) })
	inList, before := false, false // the list so far has a symbol of the library; a link came last
	var waiting []string
	for _, w := range tokens {
		symbol, stranger := known.knows(w), slices.Contains(lost, w)
		switch {
		case slices.Contains(links, strings.ToLower(w)):
			before = true
			continue
		case !before || !symbol && !stranger:
			inList, waiting = false, nil
		}
		before = false
		if symbol {
			inList = true
			items, waiting = appendNew(items, waiting...), nil
		}
		if stranger && inList {
			items = appendNew(items, w)
		} else if stranger {
			waiting = append(waiting, w)
		}
	}
	return items
}

// lacks says which of the named bars there are not; nil where there are all. who names the timeframes.
func (k Known) lacks(who string, symbols []string, frames []market.Timeframe) error {
	if len(frames) == 0 {
		if s, tf := k.longestCommon(symbols); len(symbols) > 1 && len(s) < len(symbols) {
			return fmt.Errorf("%s have no timeframe in common, and only %s has %s bars; the library has %s: import bars of one timeframe for all, "+
				"make them of shorter ones with `ktrdr data resample`, or name other symbols",
				text.List(symbols, "and"), text.List(s, "and"), tf[0], k.text())
		}
		return nil
	}
	var missing, commands []string
	resample := func(symbol string, tf market.Timeframe) {
		if c := k.Resample(symbol, tf); c != "" && !k.has(symbol, tf) {
			commands = append(commands, "`"+c+"`")
		}
	}
	if len(symbols) == 0 {
		s := k.symbolFor(frames, nil)
		for _, tf := range frames {
			resample(s, tf)
			if !k.has(s, tf) {
				missing = []string{"symbol with them"}
			}
		}
	}
	for _, symbol := range symbols {
		for _, tf := range frames {
			resample(symbol, tf)
			if !k.has(symbol, tf) {
				missing = append(missing, fmt.Sprintf("%s bars of %s", tf, symbol))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	todo := "import them"
	if len(commands) > 0 {
		todo = "make them with " + text.List(commands, "and") + ", import them"
	}
	return fmt.Errorf("%s names %s bars, and the library has no %s; it has %s: %s, or leave the timeframe out",
		who, text.List(frames, "and"), text.List(missing, "and"), k.text(), todo)
}

// Resample is the command that makes bars of a symbol of its shorter ones: of those
// that there are the most of. It is empty where no bars can be used.
func (k Known) Resample(symbol string, to market.Timeframe) string {
	var from KnownSeries
	for _, s := range k.Series {
		if s.Symbol == symbol && s.Bars > from.Bars && s.Timeframe != to && to.MadeOf(s.Timeframe) {
			from = s
		}
	}
	if from.Bars == 0 || length(to) < 0 {
		return ""
	}
	return fmt.Sprintf("ktrdr data resample %s %s %s", symbol, from.Timeframe, to)
}
