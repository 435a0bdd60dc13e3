package designer

import (
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// grammar are words that say nothing by themselves.
var grammar = strings.Fields(`a about above add after again all along also always am an and another any anything are around as at
	based be because been before behind being below beside best better between both but by can cannot could dear did do does
	doing dont during each either else enough etc even every everything except exclude excluding few fewer for from get gets
	give gives go goes going good great greater had has have having he hello here hi him higher how i i'd i'll i'm idea ideas if in including
	instead into is it it's its just keep keeps kind larger left less let lets like likes look looking looks lower made make makes making many
	max maximum may maybe me might min minimum minute mine more most much must my need needs next no nor not now of off ok on
	once one only or other others our out over own per please plus possible possibly prefer preferably preferred prefers rather
	really same see should show since smaller so some something still such sure take takes than thank thanks that that's the their
	them then there these they thing things this those to together too try trying type under until up upon us use used uses
	using very via vs want wants was we well were what when where which while who will wish with within without would yes you
	your avoid never least percent pct cent`)

// everyday are words for what every research does, with any goal or none.
var everyday = strings.Fields(`algo algorithm algorithms alpha approach backtest backtested backtesting backtests bar bars build
	candle candles chart charts cost costs create data design designs develop discover earn earns edge edges entries entry
	explore find finding finds following follower indicator indicators invest investigate investing learn learning lookahead market
	markets method methods model models money net network networks neural overfit overfitting position positions price prices
	profit profitability profitable profits research researches researching robust rule rules sample samples search seek
	series setup signal signals strat strategies strategy style styles symbol symbols system systems test tested testing
	tests timeframe timeframes trade traded trader traders trades trading train trained training work working works`)

// saysNothing tells whether a word is no content: no effect is expected of it.
func saysNothing(word string) bool {
	return slices.Contains(grammar, word) || slices.Contains(everyday, word) || strings.HasSuffix(word, "n't")
}

// lost are the content words that had no effect, each once, as they are written.
// A number is listed with the word behind it: "50 trades". What is in doubt is
// listed whole: "a stop is optional".
func (r *briefReader) lost() (list []string) {
	doubts := map[int]int{} // where they end, by where they begin
	for _, d := range r.doubts {
		doubts[d.from] = max(doubts[d.from], d.to)
	}
	for i := 0; i < len(r.words); i++ {
		if to := doubts[i]; to > 0 {
			list = appendNew(list, strings.Join(r.raw[i:to], " "))
			i = to - 1
			continue
		}
		w := r.words[i]
		if n := r.vagueCount(i); n > 0 {
			list = appendNew(list, strings.Join(r.raw[i:i+n], " "))
			i += n - 1
			continue
		}
		if r.used[i] || saysNothing(w) || strings.Trim(w, ".%<>='") == "" {
			continue
		}
		text := strings.TrimLeft(r.raw[i], "<>=")
		if next := r.word(i + 1); plainNumber(text) && next != stop && !r.used[i+1] && !slices.Contains(grammar, next) &&
			strings.Trim(next, "%<>=") != "" {
			text += " " + r.raw[i+1]
			i++
		}
		list = appendNew(list, text)
	}
	return list
}

// counted are what a design could have few or many of, and amounts the words for how
// many or how large: nothing is done about "few trades".
var (
	counted = strings.Fields("trade trades trading position positions signal signals entry entries indicator indicators")
	amounts = strings.Fields("few fewer many much more less most larger smaller")
)

// vagueCount is how many words an amount without a number has that begins at i: "few
// trades", "few good trades", "trade less"; 0 if no such phrase begins there.
func (r *briefReader) vagueCount(i int) int {
	if slices.Contains(counted, r.words[i]) {
		if next := r.word(i + 1); !r.used[i] && slices.Contains(amounts, next) && r.word(i+2) == stop {
			return 2
		}
		return 0
	}
	if !slices.Contains(amounts, r.words[i]) {
		return 0
	}
	const most = 4 // words: "fewer but larger positions"
	for n := 1; n < most; n++ {
		switch w := r.word(i + n); {
		case slices.Contains(counted, w):
			if r.used[i+n] {
				return 0
			}
			return n + 1
		case w == "than" || w == stop || !saysNothing(w) || r.used[i+n]:
			return 0
		}
	}
	return 0
}

// Nearest is the word that a user may have meant who wrote one that was not understood; "" where none is near.
func Nearest(word string) string {
	const fewest = 4 // letters: shorter words are near to too many
	if len(word) < fewest {
		return ""
	}
	near := text.Nearest(word, vocabulary())
	// Most words of English are near to one of ours, and a word of ours is not misspelt.
	if edits := text.Edits(strings.ToLower(word), near); edits == 0 || edits > len(word)/fewest {
		return ""
	}
	return near
}

// vocabulary are the words that are understood, in order.
func vocabulary() []string {
	var list []string
	for p := range phrases {
		for w := range strings.FieldsSeq(p) {
			if !saysNothing(w) || phrases[w].family != "" {
				list = appendNew(list, w)
			}
		}
	}
	list = appendNew(list, "drawdown", "hourly", "daily", "weekly", "monthly", "gold", "silver", "bitcoin", "following")
	slices.Sort(list)
	return list
}
