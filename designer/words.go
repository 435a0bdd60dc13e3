package designer

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	stop     bool // exits: see readExit
	target   bool
	risk     bool
	unknown  bool // a phrase whose words alone would be misread; nothing is done about it
}

// phrases are what is understood besides the names of indicators, up to five words each.
var phrases = tableOf([]said[meaning]{
	{meaning{family: Reversion}, `mean reversion, mean reverting, reversion, reversal, contrarian, oversold, overbought, fade, ranging,
		mean revert, mean reverts, counter trend, countertrend, pullback, pullbacks, dip, dips, buy the dip,
		buy the dips`},
	{meaning{family: Trend}, "trend, trends, trending, trend following, moving average, moving averages, crossover"},
	{meaning{family: Momentum}, "momentum, acceleration, relative strength"},
	{meaning{family: Volatility}, "volatility, vol"},
	{meaning{family: Volume}, "volume, order flow, money flow"},
	{meaning{family: Breakout}, "breakout, breakouts, break out, squeeze, channel"},
	{meaning{family: Calendar}, `calendar, seasonality, seasonal, seasonal effect, calendar effect, calendar effects, intraday seasonality`},
	{meaning{family: Calendar, readings: []string{"hour"}}, `hour of day, hours of day, hour of the day, hours of the day, time of day,
		time of the day`},
	{meaning{family: Calendar, readings: []string{"weekday"}}, `day of week, days of week, day of the week, days of the week,
		weekday, weekdays`},
	{meaning{readings: []string{"session"}}, `session, sessions, london session, asia session, asian session, tokyo session, new york session,
		us session`},
	{meaning{family: Calendar, readings: []string{"since_open"}}, "bars since open, bars since the open, time since the open, since the open"},
	{meaning{family: LeadLag}, "lead lag, intermarket, cross market, other markets lead, another market leads"},
	{meaning{readings: []string{"roc"}}, "rate of change"},
	{meaning{readings: []string{"mfi"}}, "money flow index"},
	{meaning{readings: []string{"bandwidth", "distance"}}, "bollinger"},
	{meaning{readings: []string{"williams"}}, "donchian, williams"},
	{meaning{readings: []string{"distance", "squeeze"}}, "keltner"},
	{meaning{readings: []string{"atr"}}, "average true range"},
	{meaning{readings: []string{"cmf"}}, "chaikin"},
	{meaning{readings: []string{"fisher"}}, "fisher"},
	{meaning{readings: []string{"aroon"}}, "aroon"},
	{meaning{model: strategy.MLP}, "mlp, feedforward"},
	{meaning{model: strategy.LSTM}, "lstm"},
	{meaning{model: strategy.GRU}, "gru, recurrent"},
	{meaning{style: Scalping}, "scalping, scalp, scalper"},
	{meaning{style: Intraday}, "intraday, day trading, short term"},
	{meaning{style: Swing}, "swing, swing trading"},
	{meaning{style: Position}, "position trading, long term, buy and hold"},
	{meaning{long: true}, "long only, only long, longs only, only longs"},
	{meaning{short: true}, "short, shorts, shorting, short selling, long and short, long or short, long short"},
	{meaning{unknown: true}, "short only, only short, only shorts, shorts only, trailing stop, trailing stops, trailing stop loss"},
	{meaning{simple: true}, "simple, minimal, interpretable"},
	{meaning{stop: true}, "stop, stops, stop loss, stop losses, stoploss, sl, atr stop, atr stops"},
	{meaning{target: true}, "take profit, take profits, profit target, profit targets, tp"},
	{meaning{risk: true}, "risk, risk per trade"},
})

// said lists the phrases, between commas, that say the same.
type said[T any] struct {
	says    T
	phrases string
}

func tableOf[T any](list []said[T]) map[string]T {
	table := map[string]T{}
	for _, s := range list {
		for p := range strings.SplitSeq(s.phrases, ",") {
			table[strings.TrimSpace(p)] = s.says
		}
	}
	return table
}

// spans are before a length of time, which is no timeframe.
var spans = []string{"for", "within", "after", "over", "hold", "holding", "next"}

const stop = "."

// date is a day or a month in digits.
var date = regexp.MustCompile(`\b(\d{4}[-/]\d{1,2}([-/]\d{1,2})?|\d{1,2}[-/]\d{1,2}[-/]\d{4})\b`)

// split cuts a text into words, in lower case and as they are written. What ends a
// clause becomes a stop; a hyphen or slash parts words, but for those of a date.
// listed are the words that a sign for "and" or "or" stands before.
func split(text string) (words, raw []string, listed []bool) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, " "), "’", "'")
	sign := false
	flush := func(w string) {
		if w = strings.Trim(w, "'"); w != "" {
			words, raw, listed = append(words, strings.ToLower(w)), append(raw, w), append(listed, sign)
			sign = false
		}
	}
	from, dates := 0, date.FindAllStringIndex(text, -1)
	for i, c := range text {
		for len(dates) > 0 && dates[0][1] <= i {
			dates = dates[1:]
		}
		if len(dates) > 0 && i >= dates[0][0] {
			continue
		}
		point := c == '.' && i > 0 && i+1 < len(text) && digit(text[i-1]) && digit(text[i+1])
		if ascii(c) || c >= 128 && unicode.IsLetter(c) || c == '\'' || c == '%' || c == '>' || c == '<' || c == '=' || point {
			continue
		}
		flush(text[from:i])
		from = i + utf8.RuneLen(c)
		if strings.ContainsRune(".,;:!?\n()", c) {
			words, raw, listed = append(words, stop), append(raw, string(c)), append(listed, false)
		}
		sign = sign && c == ' ' || strings.ContainsRune("/&+", c)
	}
	flush(text[min(from, len(text)):])
	return words, raw, listed
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// briefReader goes through the words of a text once.
type briefReader struct {
	words    []string
	raw      []string // as they are written
	used     []bool   // words that had an effect
	symbols  []symbolName
	context  []bool    // words where a symbol is named that is to be read and not traded
	verdicts []verdict // see judge
	deniedBy []words   // of each word that is not wanted, what denies it
	doubts   []words   // what is listed as it is written
	brief    *Brief
	listed   []bool // words that a "/", "&" or "+" stands before
	shorts   bool   // going short is named and not ruled out
	unnamed  bool   // the text names no symbol, and none was chosen
	longest  bool   // the series that is researched is the longest of the library
	frames   []mention
	unwanted []strategy.ModelType
}

func newReader(text string, known Known, b *Brief) *briefReader {
	r := &briefReader{brief: b}
	r.words, r.raw, r.listed = split(text)
	n := len(r.words)
	r.used, r.symbols, r.verdicts, r.deniedBy = make([]bool, n), make([]symbolName, n), make([]verdict, n), make([]words, n)
	r.findSymbols(known)
	r.judge()
	r.findContext()
	r.read()
	r.certify()
	return r
}

func (r *briefReader) read() {
	for i := 0; i < len(r.words); {
		if _, n := r.denierAt(i); n > 1 { // "stop using" is no stop
			i += n
			continue
		}
		if m, ok := r.frameAt(i); ok && r.verdicts[i] == wanted {
			r.frames = append(r.frames, m)
		}
		r.readNumber(i)
		i += max(r.readPhrase(i), 1)
	}
}

// word is the one at i; a stop beyond the ends.
func (r *briefReader) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return stop
	}
	return r.words[i]
}

// use marks words from i on as such that had an effect, and what denies them.
func (r *briefReader) use(i, n int) {
	for k := i; k < min(i+n, len(r.used)); k++ {
		r.used[k] = true
		for j := r.deniedBy[k].from; j < r.deniedBy[k].to; j++ {
			r.used[j] = true
		}
	}
}

// phraseAt is the longest phrase that begins at word i, and how many words it has; 0 if no phrase begins there.
func (r *briefReader) phraseAt(i int) (meaning, int) {
	for n := min(5, len(r.words)-i); n > 0; n-- {
		if slices.Contains(r.words[i:i+n], stop) {
			continue
		}
		if m, ok := phrases[strings.Join(r.words[i:i+n], " ")]; ok {
			return m, n
		}
		d, found := indicator.Lookup(squash(strings.Join(r.words[i:i+n], "")))
		if d.Name == "hour" || n > 3 { // "1 hour" is a timeframe
			continue
		}
		if found && (d.Name != "atr" || !plainNumber(r.word(i-1))) { // "2 ATR" is a distance
			return meaning{readings: readingsOf(d.Name)}, n
		}
	}
	return meaning{}, 0
}

// readPhrase reads the phrase that begins at word i, and says how many words it has.
func (r *briefReader) readPhrase(i int) int {
	m, n := r.phraseAt(i)
	if n > 0 && r.verdicts[i] != doubtful && r.take(m, i, n) {
		r.use(i, n)
	}
	return n
}

// take does what a phrase of n words at i says, and tells whether that is anything.
func (r *briefReader) take(m meaning, i, n int) bool {
	b, negated := r.brief, r.verdicts[i] == unwanted
	switch {
	case m.unknown:
		return false
	case m.stop:
		return r.readExit(&b.Stop, i, n)
	case m.target:
		return r.readExit(&b.Target, i, n)
	case m.risk:
		return r.readRisk(i, n)
	case m.long:
		b.LongOnly = b.LongOnly || !negated && r.word(i-1) != "not" // "not only long"
		r.shorts = r.shorts || negated
		return true
	case m.short:
		b.LongOnly = b.LongOnly || negated
		r.shorts = !negated
		return true
	}
	if negated {
		if m.family != "" && len(m.readings) == 0 { // "no weekday" leaves the rest of the calendar
			b.AvoidFamilies = appendNew(b.AvoidFamilies, m.family)
		}
		b.AvoidReadings = appendNew(b.AvoidReadings, m.readings...)
		if m.model != "" {
			r.unwanted = appendNew(r.unwanted, m.model)
		}
		return m.family != "" || len(m.readings) > 0 || m.model != ""
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
	return m.family != "" || len(m.readings) > 0 || m.model != "" || m.style != "" || m.simple
}

func appendNew[T comparable](list []T, more ...T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// settle lets what is to be avoided win over what is wished for, and does not let a text avoid everything.
func (r *briefReader) settle() {
	b := r.brief
	if len(without(slices.Clone(Families), append(slices.Clone(b.AvoidFamilies), LeadLag))) == 0 {
		b.AvoidFamilies = nil
		b.understand("The goal would do without every kind of indicator; that was ignored.")
	}
	b.Families = without(b.Families, b.AvoidFamilies)
	b.Readings = without(b.Readings, b.AvoidReadings)
	b.Models = without(b.Models, r.unwanted)
	if len(b.Models) == 0 && slices.Contains(r.unwanted, strategy.MLP) {
		b.Models = without([]strategy.ModelType{strategy.GRU, strategy.LSTM}, r.unwanted)
		b.Models = b.Models[:min(len(b.Models), 1)]
		if len(b.Models) == 0 {
			r.unwanted = nil
			b.understand("The goal would do without every kind of network; that was ignored.")
		}
	}
	if b.Stop.None && b.Risk > 0 {
		b.Risk = 0
		b.understand("The risk of a trade is known by its stop, and the goal wants none; the risk was ignored.")
	}
}

func without[T comparable](list, not []T) []T {
	return slices.DeleteFunc(list, func(x T) bool { return slices.Contains(not, x) })
}
