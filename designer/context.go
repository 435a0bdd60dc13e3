package designer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// Designs may read symbols that they do not trade: those that a goal names as
// context ("lead-lag with GBPUSD"), or, of a goal that asks for leads and names no
// symbol, the series of the library that go with those that are traded. A goal that
// says nothing of it reads none: a look at a strategy that reads another market is
// counted there too.

// MaxContext is how many context symbols a research has at most.
const MaxContext = 3

// leadReadings are those that designs have only where there is a context symbol:
// moves over few bars, since a lead is short. The window is four times as many.
var leadReadings = []reading{
	{"move", "roc", "", Momentum, false, func(n int) []setting { return []setting{integer("period", n/4)} }, nil},
}

// leads are what designs begin with where there is a context symbol. A reading
// behind "@" is read there.
var leads = []archetype{
	{
		name: "what another market did comes here", idea: LeadLag, label: strategy.Context, horizon: 2,
		readings: []input{{"@move", 5, Raw}},
	},
	{
		name: "what another market did over some bars comes here", idea: LeadLag, label: strategy.Context, horizon: 6,
		readings: []input{{"@move", 24, Tails}},
	},
	{
		name: "another market has moved and this one has not", idea: LeadLag, label: strategy.Context, horizon: 4,
		readings: []input{{"@move", 16, Raw}, {"move", 16, Raw}},
	},
	{
		name: "another market is stretched", idea: LeadLag, label: strategy.Context, horizon: 8,
		readings: []input{{"@distance", 24, Tails}},
	},
}

// lead puts the inputs of an archetype that are read elsewhere onto a context symbol.
func (f *frame) lead(g *Genome, index int) {
	for i := range g.Inputs {
		name, elsewhere := strings.CutPrefix(g.Inputs[i].Reading, "@")
		if !elsewhere {
			continue
		}
		g.Inputs[i].Reading, g.Inputs[i].Frame = name, 0
		g.Inputs[i].Context = 1 + index/2%max(1, len(f.brief.Context)) // leads have every second place
	}
}

// changeContext reads an input of another symbol, or of the one that is traded.
func changeContext(f *frame, g *Genome, r *num.Rand) {
	g.Inputs[pick(r, len(g.Inputs))].Context = pick(r, len(f.brief.Context)+1)
}

// changeLead makes an input a move of a context symbol.
func changeLead(f *frame, g *Genome, r *num.Rand) {
	x := &g.Inputs[pick(r, len(g.Inputs))]
	x.Reading, x.Period, x.Frame = leadReadings[0].name, periods[pick(r, len(periods))], 0
	x.Context = 1 + pick(r, len(f.brief.Context))
}

// withContext are the mutations of a research with context symbols. Without them the
// table is the shorter one, whose draws stay as they are.
func (f *frame) withContext(table []mutation) []mutation {
	if len(f.brief.Context) == 0 {
		return table
	}
	return append(slices.Clone(table), changeContext, changeLead, changeLead)
}

// inContext says that an input is of a context symbol, and whether there is such a one.
func (f *frame) inContext(x *Gene) (is, exists bool) {
	if x.Context <= 0 {
		x.Context = 0
		return false, true
	}
	x.Frame = 0
	return true, x.Context <= len(f.brief.Context)
}

// statsOf describe the series that an input is read of.
func (f *frame) statsOf(x Gene) *Stats {
	if x.Context > 0 {
		return &f.brief.ContextStats[x.Context-1]
	}
	return f.stats(x.Frame)
}

// contextSymbols are those that a genome reads, in the order of the brief.
func (f *frame) contextSymbols(g *Genome) []string {
	var list []string
	for i, symbol := range f.brief.Context {
		if slices.ContainsFunc(g.Inputs, func(x Gene) bool { return x.Context == i+1 }) {
			list = append(list, symbol)
		}
	}
	return list
}

// contextName is what the indicator of an input of a context symbol is called.
func (f *frame) contextName(x Gene) string {
	clean := strings.Map(func(c rune) rune {
		if ascii(c) || c == '-' {
			return c
		}
		return '_'
	}, f.brief.Context[x.Context-1])
	return fmt.Sprintf("%s_%d_%s", x.Reading, x.Context, clean)
}

// checkContext refuses context symbols of which nothing is known, or that are traded.
func (b *Brief) checkContext() error {
	if len(b.ContextStats) != len(b.Context) {
		return fmt.Errorf("the goal has %d context symbols and the statistics of %d: measure the market again", len(b.Context),
			len(b.ContextStats))
	}
	for i, symbol := range b.Context {
		if slices.Contains(b.Symbols, symbol) {
			return fmt.Errorf("%s is traded and read as context: name it once", symbol)
		}
		if err := b.ContextStats[i].check(); err != nil {
			return fmt.Errorf("%s: %w", symbol, err)
		}
	}
	return nil
}

// ContextSeries are the bars of context symbols that designs may read: those of the
// timeframe at which decisions are made.
func (b *Brief) ContextSeries() []strategy.Series {
	return text.Map(b.Context, func(symbol string) strategy.Series { return strategy.Series{Symbol: symbol, Timeframe: b.Timeframe} })
}

// measureContext describes the context symbols by what has closed by an instant.
func (b *Brief) measureContext(series []*market.Bars, until int64) error {
	b.ContextStats = nil
	for _, symbol := range b.Context {
		bars, err := pickSeries(series, symbol, b.Timeframe)
		if err == nil {
			err = enough(closedBy(bars, until))
		}
		if err != nil {
			return err
		}
		s, err := measure(bars, until, mostBars, leadReadings)
		if err != nil {
			return err
		}
		b.ContextStats = append(b.ContextStats, s)
	}
	return nil
}

// more are the readings that designs have beside the catalogue.
func (b *Brief) more() []reading {
	if len(b.Context) == 0 {
		return nil
	}
	return leadReadings
}

// Words in front of a symbol that is read, those that may stand between, and words behind one.
var (
	leadsTo = []string{"lead lag", "led by", "lags", "lagging", "lagged", "context", "context symbol", "context symbols"}
	leaders = strings.Fields("with of from by to the symbol symbols")
	behind  = []string{"leads", "as context", "as a context", "as leader", "as a leader", "as the leader"}
)

// findContext marks the symbols that a text names as context.
func (r *briefReader) findContext() {
	r.context = make([]bool, len(r.words))
	for i := range r.words {
		if n := r.startsWith(i, leadsTo); n > 0 {
			r.markContext(i, n)
		}
		if s := r.symbols[i]; s.words > 0 && r.verdicts[i] == wanted {
			if n := r.startsWith(i+s.words, behind); n > 0 {
				r.context[i] = true
				r.use(i+s.words, n)
			}
		}
	}
}

// markContext marks the symbols behind n words from i on: one, or a list of them.
func (r *briefReader) markContext(i, n int) {
	at, found := i+n, false
	for slices.Contains(leaders, r.word(at)) {
		at++
	}
	for at < len(r.symbols) && r.symbols[at].words > 0 && r.verdicts[at] == wanted {
		r.context[at], found = true, true
		at += r.symbols[at].words
		if next := at + 1; slices.Contains(links, r.word(at)) && next < len(r.symbols) && r.symbols[next].words > 0 {
			at = next
		}
	}
	if found {
		r.use(i, n)
	}
}

// startsWith is how many words the longest phrase of a list has that begins at i; 0: none does.
func (r *briefReader) startsWith(i int, list []string) (most int) {
	for _, phrase := range list {
		words := strings.Fields(phrase)
		same := true
		for k, w := range words {
			same = same && r.word(i+k) == w
		}
		if same {
			most = max(most, len(words))
		}
	}
	return most
}

// contextNamed are the symbols that the text names as context.
func (r *briefReader) contextNamed() (list []string) {
	for i, is := range r.context {
		if is {
			list = appendNew(list, r.symbols[i].symbol)
			r.use(i, r.symbols[i].words)
		}
	}
	return list
}

// readContext chooses the context symbols, once it is known what is traded.
func (r *briefReader) readContext(known Known, chosen Chosen) {
	b := r.brief
	asked := slices.Contains(b.Families, LeadLag)
	if slices.Contains(b.AvoidFamilies, LeadLag) {
		return
	}
	list := r.contextNamed()
	if len(chosen.Context) > 0 {
		list = chosen.Context
	}
	if list = without(slices.Clone(list), b.Symbols); len(list) == 0 && asked {
		list = known.beside(b.Symbols, b.Timeframe)
	}
	if len(list) > MaxContext {
		b.understand("Only the first %d context symbols are read.", MaxContext)
	}
	b.Context = list[:min(len(list), MaxContext)]
	if asked && len(b.Context) == 0 {
		b.Families = without(slices.Clone(b.Families), []Family{LeadLag})
		b.understand("The library has no other symbol with %s bars of the same time, so no lead can be looked for.", b.Timeframe)
	}
}

// beside are the symbols whose bars of a timeframe reach over most of the time of
// those that are traded, the ones with the most bars first.
func (k Known) beside(traded []string, tf market.Timeframe) (list []string) {
	var first, last int64
	for _, s := range k.Series {
		if s.Timeframe == tf && slices.Contains(traded, s.Symbol) {
			if first == 0 || s.First < first {
				first = s.First
			}
			last = max(last, s.Last)
		}
	}
	most := slices.Clone(k.Series)
	slices.SortStableFunc(most, func(a, b KnownSeries) int {
		return cmp.Or(cmp.Compare(b.Bars, a.Bars), cmp.Compare(a.Symbol, b.Symbol))
	})
	for _, s := range most {
		shared := min(s.Last, last) - max(s.First, first)
		if s.Timeframe == tf && !slices.Contains(traded, s.Symbol) && float64(shared) >= 0.9*float64(last-first) {
			list = append(list, s.Symbol)
		}
	}
	return list[:min(len(list), MaxContext)]
}

// sansContext is the library without the symbols that a text names as context, if
// others are left.
func (k Known) sansContext(context []string) Known {
	rest := slices.DeleteFunc(slices.Clone(k.Series), func(s KnownSeries) bool { return slices.Contains(context, s.Symbol) })
	if len(rest) == 0 {
		return k
	}
	return Known{Series: rest}
}
