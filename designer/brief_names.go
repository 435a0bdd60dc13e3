package designer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/internal/text"
)

const mostListed = 12

// Names lists the first series of the library.
func (k Known) Names() string { return k.text() }

func (k Known) text() string {
	var list []string
	for _, s := range k.Series[:min(len(k.Series), mostListed)] {
		list = append(list, s.Symbol+" "+string(s.Timeframe))
	}
	if more := len(k.Series) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

func (k Known) knows(symbol string) bool {
	return slices.ContainsFunc(k.Series, func(s KnownSeries) bool { return squash(s.Symbol) == squash(symbol) })
}

// Nearest is the symbol that a user may have meant who wrote one that the library
// does not have; "" where none is near, or it has that one.
func (k Known) Nearest(symbol string) string {
	if k.knows(symbol) {
		return ""
	}
	names := text.Map(k.Series, func(s KnownSeries) string { return s.Symbol })
	slices.Sort(names)
	return text.Nearest(symbol, names)
}

// misspelt says whether a word is nearly a symbol of the library, and no other word.
// Where a symbol is expected, a name in capitals may be farther from it.
func (k Known) misspelt(word string, expected bool) bool {
	const fewest = 6 // letters: shorter words are near to too many
	if len(word) < fewest || k.knows(word) || common(strings.ToUpper(word)) {
		return false
	}
	near := k.Nearest(word)
	if near == "" || len(squash(near)) < fewest {
		return false
	}
	most := 0
	if strings.ToUpper(word) == word {
		most = 2
	}
	if expected {
		most++
	}
	return text.Edits(squash(word), squash(near)) <= most
}

// spot is a word of a text where a symbol may stand.
type spot struct {
	text   string // with its slashes and dashes
	dollar bool   // a dollar sign stands before it
	begins bool   // it is the first word of a clause
	ends   bool   // and the last
}

// spots cuts a text where no symbol continues.
func spots(text string) (list []spot) {
	begins, from := true, -1
	flush := func(to int) {
		if from >= 0 {
			list = append(list, spot{text[from:to], from > 0 && text[from-1] == '$', begins, false})
			begins, from = false, -1
		}
	}
	for i, c := range text {
		if c == '/' || c == '-' || c == '_' || ascii(c) {
			if from < 0 {
				from = i
			}
			continue
		}
		flush(i)
		if strings.ContainsRune(".,;:!?\n()", c) {
			begins = true
			if len(list) > 0 {
				list[len(list)-1].ends = true
			}
		}
	}
	flush(len(text))
	if len(list) > 0 {
		list[len(list)-1].ends = true
	}
	return list
}

// What a symbol stands behind. Behind the words of sure even the name of an index
// that is mostly spoken of is a symbol: "on VIX".
var (
	sure   = []string{"on", "trade", "trading", "trades", "symbol", "ticker"}
	likely = []string{"for", "in", "with", "against", "buy", "sell", "buying", "selling"}
	spoken = []string{"vix", "dxy", "cta", "ctas"}
	goods  = []string{"stock", "stocks", "share", "shares", "future", "futures", "index"}
)

// written says whether the word at i is written as a symbol is: behind "on" or
// "trade", in front of a timeframe, at the beginning of a text, or by itself.
func written(list []spot, i int) bool {
	at := func(k int) string {
		if k < 0 || k >= len(list) {
			return ""
		}
		return strings.ToLower(list[k].text)
	}
	before := i - 1
	for slices.Contains([]string{"the", "a", "an"}, at(before)) {
		before--
	}
	switch s := list[i]; {
	case s.dollar, !s.begins && slices.Contains(sure, at(before)):
		return true
	case slices.Contains(spoken, at(i)):
		return false
	case !s.begins && slices.Contains(likely, at(before)), s.begins && s.ends:
		return true
	case s.ends:
		return false
	}
	next := at(i + 1)
	if slices.Contains(goods, next) || names(next) {
		return true
	}
	_, known := phrases[next]
	_, two := phrases[next+" "+at(i+2)]
	return list[i].begins && i == 0 && (known || two || next == "on" || slices.Contains(links, next))
}

func names(word string) bool {
	r := newReader(word, Known{}, &Brief{})
	return len(r.frames) == 1
}

// strangers are what is written as a symbol in a text and is not one of the
// library's: two currencies side by side in any case, coins, and names in capitals
// that are no words of ours.
func strangers(text string, known Known) (lost []string) {
	add := func(symbol string) {
		if !known.knows(symbol) {
			lost = appendNew(lost, symbol)
		}
	}
	loud := shouted(text)
	list := spots(text)
	meant := make([]bool, len(list))
	for i, s := range list {
		halves := strings.FieldsFunc(s.text, func(r rune) bool { return r == '/' || r == '-' })
		meant[i] = known.knows(s.text) || written(list, i) || continuesList(list, meant, i)
		switch joined := strings.Join(halves, ""); {
		case strings.Contains(s.text, "_"):
		case len(halves) <= 2 && pair(joined):
			add(strings.ToUpper(joined))
		case len(halves) == 2 && known.knows(joined):
		case len(halves) == 2 && !loud && (money(halves[0]) || money(halves[1])) && capitals(halves[0]) && capitals(halves[1]):
			add(strings.Join(halves, "-")) // a coin and what it is traded for
		case meant[i] && nicknames[strings.ToLower(s.text)] != "":
			if known.called(s.text) == "" {
				add(s.text)
			}
		default:
			for _, part := range halves {
				is := slices.Contains(spoken, strings.ToLower(part))
				switch {
				case pair(part):
					add(strings.ToUpper(part))
				case !loud && capitals(part) && (is || !common(part)) && (meant[i] || slices.Contains(coins, part)):
					add(part)
				case known.misspelt(part, meant[i] && !loud):
					add(part)
				}
			}
		}
	}
	return lost
}

// continuesList says whether the word at i is the next item of a list of symbols: "AAPL and
// TSLA", "AAPL, TSLA and MSFT".
func continuesList(list []spot, meant []bool, i int) bool {
	link := func(k int) bool { return k < len(list) && slices.Contains(links, strings.ToLower(list[k].text)) }
	return i > 1 && link(i-1) && meant[i-2] || i > 0 && list[i].begins && meant[i-1] && (list[i].ends || link(i+1))
}

// nicknames are what people call the base of a symbol.
var nicknames = map[string]string{"gold": "xau", "silver": "xag", "bitcoin": "btc", "ethereum": "eth", "ether": "eth"}

// called is the symbol of the library that a nickname stands for, with the most bars
// of several; "" if there is no such word.
func (k Known) called(word string) string {
	base, best := nicknames[strings.ToLower(word)], KnownSeries{}
	for _, s := range k.Series {
		if quote, ok := strings.CutPrefix(squash(s.Symbol), base); base != "" && ok && (quote == "" || money(quote)) && s.Bars > best.Bars {
			best = s
		}
	}
	return best.Symbol
}

func ascii(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
}

// capitals says whether a word is written as symbols are.
func capitals(word string) bool {
	letters := 0
	for _, r := range word {
		switch {
		case r >= 'A' && r <= 'Z':
			letters++
		case r < '0' || r > '9':
			return false
		}
	}
	return letters >= 2 && len(word) <= 6 && !digit(word[0])
}

// shouted says whether a text is written in capitals, so that they tell nothing.
func shouted(text string) bool {
	loud, quiet, words := 0, 0, 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !ascii(r) }) {
		switch {
		case strings.ToUpper(word) != word:
			quiet++
		case capitals(word):
			loud++
			if slices.Contains(english, strings.ToLower(word)) {
				words++
			}
		}
	}
	return loud > quiet && words > 1
}

func money(word string) bool {
	return slices.Contains(fiat, strings.ToUpper(word)) || slices.Contains(coins, strings.ToUpper(word))
}

// pair says whether a word is two of them.
func pair(word string) bool {
	for i := 3; i < len(word)-2 && i < 6; i++ {
		if money(word[:i]) && money(word[i:]) && !strings.EqualFold(word[:i], word[i:]) {
			return true
		}
	}
	return false
}

// common says whether a word in capitals is no symbol, as far as we know words.
func common(word string) bool {
	lower := strings.ToLower(word)
	if _, ok := phrases[lower]; ok || units[lower] != "" || slices.Contains(fiat, word) {
		return true
	}
	if _, ok := indicator.Lookup(lower); ok || negates(lower) || deniers[lower].behind {
		return true
	}
	for _, list := range [][]string{english, terms, spoken, grammar, everyday, hopes, floors, spans} {
		if slices.Contains(list, lower) {
			return true
		}
	}
	return slices.ContainsFunc(readings, func(r reading) bool { return r.name == lower })
}

// fiat are currencies, which by themselves are what a market is in and not what
// is traded; coins are coins and metals, which are.
var (
	fiat = strings.Fields(`AUD BRL CAD CHF CNH CNY CZK DKK EUR GBP HKD HUF ILS INR JPY KRW MXN NOK NZD PLN RUB SEK SGD THB TRY
		TWD USD ZAR`)
	coins = strings.Fields(`ADA AVAX BCH BNB BTC DOGE DOT ETH LINK LTC SOL TRX USDC USDT XAG XAU XBT XPD XPT XRP`)
)

// terms are the short forms of this trade and its neighbours, those of the indicators apart.
var terms = strings.Fields(`ma hma dema tema kama vwma twap dmi di natr bb kc psar mom tsi trix ppo pvo uo ao kst ha
	fx otc etf etfs ipo cfd pnl pl roi roe cagr mdd dd sl tp rr rrr oco tf htf ltf ohlc ohlcv oos wfo wf cv ta fa pa sr
	hft lob ath atl ytd qtd mtd eod bod hod lod nyse lse cme iqr std dev avg min max pct bps bp pips lot lots
	us usa uk eu un gdp cpi nfp fomc fed ecb boe boj snb rba pmi ppi qe esg
	orb ict smc cot pead har garch arch arima kelly dca
	ml ai nn rl dl cnn rnn svm pca hmm llm gpt api csv json yaml sql gpu cpu ram ui
	am pm utc gmt est edt cet cest bst pst pdt jst ny la asia
	ok nb ps fyi tbd todo asap etc eg ie vs wrt aka faq imho id ii iii iv mn`)

// english are words that people write in capitals when they mean them.
var english = strings.Fields(`a about above across act add after again all allow almost along also always among an and any
	anyone are around as ask at avoid away back bad bar bars based be bear beat been before begin below best better big
	both bottom break bull but buy by call can cannot care case change check clear close come cost costs could cross cut
	daily data day deep design did do does done down drop each early easy edge either else end enough enter entry equal
	even every exit extra false far fast few field final find first fit five flat follow for four free from full gain gap
	get give go goal going good great had half hard has have help her here high higher highs hint hold holdup hour how
	idea if import in into is it its just keep key kind know large last late learn least leave left less let level like
	limit line list little live local long look loss losses lot low lower lows made main make many market may mean means
	mid might mind mode model more most move moves much must near need never new news next nice night no none nor not
	note now of off old on once one only open or order other our out over own pair part past pay per place plan play
	please plus point price prices profit pure put quick quiet range rate read ready real really rest right rise risk
	robust rule rules run safe same say sell set share she short should show side sign simple since size slow small so
	solid some soon spike spread stable start stay step still stop stops strict strong such sure take target test than
	that the their them then there these they thing think this those three tight time to today too top total trade
	trades train trend true try turn two type under until up upon use used using very wait want was watch way we weak
	week well were what when where which while who why wide will win with within work works worst would write wrong year
	yes yet you your zero`)
