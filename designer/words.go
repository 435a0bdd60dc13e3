package designer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/strategy"
)

// meaning is what a phrase says; several may be set.
type meaning struct {
	family   Family
	readings []string
	model    strategy.ModelType
	style    Style
	long     bool // no shorts
	short    bool // of shorts: with a negation before it, no shorts
	simple   bool
}

// phrases are what is understood besides the names of indicators, up to three
// words each.
var phrases = map[string]meaning{
	"mean reversion": {family: Reversion}, "mean reverting": {family: Reversion}, "reversion": {family: Reversion},
	"reversal": {family: Reversion}, "contrarian": {family: Reversion}, "oversold": {family: Reversion},
	"overbought": {family: Reversion}, "fade": {family: Reversion}, "ranging": {family: Reversion},
	"trend": {family: Trend}, "trends": {family: Trend}, "trending": {family: Trend}, "trend following": {family: Trend},
	"moving average": {family: Trend}, "crossover": {family: Trend},
	"momentum": {family: Momentum}, "acceleration": {family: Momentum}, "relative strength": {family: Momentum},
	"volatility": {family: Volatility}, "vol": {family: Volatility},
	"volume": {family: Volume}, "order flow": {family: Volume}, "money flow": {family: Volume},
	"breakout": {family: Breakout}, "breakouts": {family: Breakout}, "break out": {family: Breakout},
	"squeeze": {family: Breakout}, "channel": {family: Breakout},

	"rate of change": {readings: []string{"roc"}}, "money flow index": {readings: []string{"mfi"}},
	"bollinger": {readings: []string{"bandwidth", "distance"}}, "donchian": {readings: []string{"williams"}},
	"keltner": {readings: []string{"distance", "squeeze"}}, "average true range": {readings: []string{"atr"}},
	"chaikin": {readings: []string{"cmf"}}, "fisher": {readings: []string{"fisher"}},
	"williams": {readings: []string{"williams"}}, "aroon": {readings: []string{"aroon"}},

	"mlp": {model: strategy.MLP}, "feedforward": {model: strategy.MLP}, "lstm": {model: strategy.LSTM},
	"gru": {model: strategy.GRU}, "recurrent": {model: strategy.GRU},

	"scalping": {style: Scalping}, "scalp": {style: Scalping}, "scalper": {style: Scalping},
	"intraday": {style: Intraday}, "day trading": {style: Intraday}, "swing": {style: Swing},
	"position trading": {style: Position}, "long term": {style: Position}, "buy and hold": {style: Position},

	"long only": {long: true}, "only long": {long: true}, "longs only": {long: true}, "only longs": {long: true},
	"short": {short: true}, "shorts": {short: true}, "shorting": {short: true}, "short selling": {short: true},
	"simple": {simple: true}, "minimal": {simple: true}, "interpretable": {simple: true},
}

// negations turn round what follows, until a stop or a word of hope.
var (
	negations = []string{"no", "not", "without", "avoid", "never", "exclude", "excluding", "don't", "dont", "except"}
	hopes     = []string{"but", "use", "using", "with", "prefer", "only", "instead"}
	floors    = []string{"least", "minimum", "min", "over", "above", "than", ">", ">="}
	spans     = []string{"for", "within", "after", "over", "hold", "holding", "next"}
)

const stop = "."

// split cuts a text into lower-case words. What ends a clause becomes a stop;
// a hyphen or slash parts words.
func split(text string) []string {
	var words []string
	text = strings.ToLower(strings.ToValidUTF8(text, " "))
	flush := func(w string) {
		if w = strings.Trim(w, "'"); w != "" {
			words = append(words, w)
		}
	}
	from := 0
	for i, c := range text {
		point := c == '.' && i > 0 && i+1 < len(text) && digit(text[i-1]) && digit(text[i+1])
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '\'' || c == '%' || c == '>' || c == '=' || point {
			continue
		}
		flush(text[from:i])
		from = i + len(string(c))
		if strings.ContainsRune(".,;:!?\n()", c) {
			words = append(words, stop)
		}
	}
	flush(text[min(from, len(text)):])
	return words
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// briefReader goes through the words of a text once.
type briefReader struct {
	words    []string
	brief    *Brief
	negated  bool
	frames   []mention
	unwanted []strategy.ModelType
}

func (r *briefReader) read() {
	for i := 0; i < len(r.words); {
		w := r.words[i]
		switch {
		case w == stop || slices.Contains(hopes, w):
			r.negated = false
		case slices.Contains(negations, w):
			r.negated = true
		}
		r.readTimeframe(i)
		r.readNumber(i)
		n := r.readPhrase(i)
		i += max(n, 1)
	}
}

// readPhrase reads the longest phrase that begins at word i, and says how many
// words it has; 0 where there is none.
func (r *briefReader) readPhrase(i int) int {
	for n := min(3, len(r.words)-i); n > 0; n-- {
		if slices.Contains(r.words[i:i+n], stop) {
			continue
		}
		m, ok := phrases[strings.Join(r.words[i:i+n], " ")]
		if !ok {
			d, found := indicator.Lookup(squash(strings.Join(r.words[i:i+n], "")))
			if !found {
				continue
			}
			m = meaning{readings: readingsOf(d.Name)}
		}
		r.take(m)
		return n
	}
	return 0
}

func (r *briefReader) take(m meaning) {
	b := r.brief
	if m.long || m.short && r.negated {
		b.LongOnly = true
	}
	if r.negated {
		if m.family != "" {
			b.AvoidFamilies = appendNew(b.AvoidFamilies, m.family)
		}
		b.AvoidReadings = appendNew(b.AvoidReadings, m.readings...)
		if m.model != "" {
			r.unwanted = appendNew(r.unwanted, m.model)
		}
		return
	}
	if m.family != "" {
		b.Families = appendNew(b.Families, m.family)
	}
	b.Readings = appendNew(b.Readings, m.readings...)
	if m.model != "" {
		b.Models = appendNew(b.Models, m.model)
	}
	if m.style != "" {
		b.Style = m.style
	}
	b.Simple = b.Simple || m.simple
}

func appendNew[T comparable](list []T, more ...T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// settle lets what is to be avoided win over what is wished for, and does not
// let a text avoid everything.
func (r *briefReader) settle() {
	b := r.brief
	if len(b.AvoidFamilies) == len(Families) {
		b.AvoidFamilies = nil
		b.understand("The goal would do without every kind of indicator; that was ignored.")
	}
	b.Families = without(b.Families, b.AvoidFamilies)
	b.Readings = without(b.Readings, b.AvoidReadings)
	b.Models = without(b.Models, r.unwanted)
	if len(r.unwanted) == 1 && r.unwanted[0] == strategy.MLP && len(b.Models) == 0 {
		b.Models = []strategy.ModelType{strategy.GRU}
	}
}

func without[T comparable](list, not []T) []T {
	return slices.DeleteFunc(list, func(x T) bool { return slices.Contains(not, x) })
}

// near is how many words away from its noun a number may stand.
const near = 5

// readNumber reads the number that belongs to "drawdown" or "trades" at i.
func (r *briefReader) readNumber(i int) {
	switch r.words[i] {
	case "drawdown", "drawdowns", "dd":
		x, ok := r.number(i, near)
		if !ok {
			x, ok = r.number(i, -near)
		}
		if x >= 1 {
			x /= 100
		}
		if ok && x > 0 && x < 1 {
			r.brief.MaxDrawdown = x
		}
	case "trades":
		x, ok := r.number(i, -near)
		from := max(0, i-near)
		bound := slices.ContainsFunc(r.words[from:i], func(w string) bool {
			return slices.Contains(floors, w) || strings.HasPrefix(w, ">")
		})
		if ok && bound && x >= 1 && x <= 1e6 {
			r.brief.MinTrades = int(x)
		}
	}
}

// number is the first number within so many words after i, or before it where
// the count is negative. A stop is not passed.
func (r *briefReader) number(i, count int) (float64, bool) {
	step := 1
	if count < 0 {
		step, count = -1, -count
	}
	for k := 1; k <= count; k++ {
		j := i + k*step
		if j < 0 || j >= len(r.words) || r.words[j] == stop {
			return 0, false
		}
		w := strings.Trim(r.words[j], "%>=")
		if x, err := strconv.ParseFloat(w, 64); err == nil && digit(w[0]) && len(w) < 12 {
			return x, true
		}
	}
	return 0, false
}
