package designer

import (
	"slices"
	"strconv"
	"strings"
)

// near is how many words away from its noun a number may stand.
const near = 5

// between may stand between "stop loss" and its number.
var between = []string{"of", "at", "to", "is", "around", "about", "max", "maximum", "below", "=", "a", "the", "per", "trade"}

var drawdowns = []string{"drawdown", "drawdowns", "dd"}

// amount is a number of a text. It has no words if the text has no number.
type amount struct {
	x         float64
	at, words int
}

// takesNumber is how many words the phrase at i has, if a percentage may belong to it:
// a drawdown, a stop, a target, a risk; else 0.
func (r *briefReader) takesNumber(i int) int {
	if slices.Contains(drawdowns, r.word(i)) {
		return 1
	}
	for n := min(3, len(r.words)-i); n > 0; n-- {
		if m := phrases[strings.Join(r.words[i:i+n], " ")]; m.stop || m.target || m.risk {
			return n
		}
	}
	return 0
}

// fraction reads the words at k as a fraction that belongs to nothing yet: "2%",
// "2 percent" and "0.02"; "20" of anything else is no percentage.
func (r *briefReader) fraction(k int, most float64) amount {
	x, ok := numeral(r.word(k))
	if !ok || r.used[k] {
		return amount{}
	}
	words := r.percentWords(k)
	switch next := r.word(k + words); {
	case words > 1 || strings.HasSuffix(r.word(k), "%"):
		x /= 100
	case x >= 1 || next != stop && !slices.Contains(between, next) && !slices.Contains(links, next) && r.takesNumber(k+1) == 0:
		return amount{}
	}
	if x <= 0 || x > most {
		return amount{}
	}
	return amount{x, k, words}
}

// percentWords is how many words a number at k has, with its percent.
func (r *briefReader) percentWords(k int) int {
	switch next := r.word(k + 1); {
	case next == "%" || next == "percent" || next == "pct":
		return 2
	case next == "per" && r.word(k+2) == "cent":
		return 3
	}
	return 1
}

// before is the fraction that ends right before the word at i: "2 percent stop".
func (r *briefReader) before(i int, most float64) amount {
	for k := i - 1; k >= max(0, i-3); k-- {
		if a := r.fraction(k, most); a.words > 0 && k+a.words == i {
			return a
		}
	}
	return amount{}
}

// after is the fraction that stands behind the phrase of n words at i, with words in between that say nothing.
func (r *briefReader) after(i, n int, most float64) amount {
	k := i + n
	for slices.Contains(between, r.word(k)) {
		k++
	}
	return r.fraction(k, most)
}

// ownsNext says whether a fraction at a belongs to the phrase that stands before it. In "10%
// drawdown 2% stop" the 2% belongs to the stop, in "drawdown 10% stop 2%" the 10% does not.
func (r *briefReader) ownsNext(a amount) bool {
	for range 2 * near { // a text may be long
		if a.words == 0 {
			break
		}
		i := a.at + a.words
		n := r.takesNumber(i)
		if n == 0 {
			return true
		}
		a = r.after(i, n, 1)
	}
	return false
}

// fractionOf is the fraction that belongs to the phrase of n words at i. Of two beside
// it the one behind is meant, unless that is the next phrase's.
func (r *briefReader) fractionOf(i, n int, most float64) amount {
	before, after := r.before(i, most), r.after(i, n, most)
	if before.words > 0 && !r.ownsNext(after) {
		return before
	}
	return after
}

// readNumber reads the number that belongs to "drawdown" or "trades" at i.
func (r *briefReader) readNumber(i int) {
	switch w := r.words[i]; {
	case slices.Contains(drawdowns, w):
		a := r.drawdown(i)
		if a.words == 0 {
			return
		}
		if side, ok := r.sideOf(a.at, i); ok && side <= 0 { // "above 10%" is no cap
			r.brief.MaxDrawdown = a.x
			r.use(i, 1)
			r.use(a.at, a.words)
			if k := a.at - 1; slices.Contains(exceeds, r.word(k)) {
				r.use(k, 1)
			}
		}
	case w == "trades":
		a := r.tradesAt(i)
		if a.words == 0 {
			return
		}
		side, ok := r.sideOf(a.at, i)
		// "over 200 bars and few trades" and "10 winning trades" count something else
		other := slices.ContainsFunc(r.words[a.at+1:i], func(w string) bool { return units[w] != "" || !slices.Contains(grammar, w) })
		if ok && side > 0 && !other && !r.perTime(i) && a.x >= 1 && a.x <= 1e6 {
			r.brief.MinTrades = int(a.x)
			r.use(i, 1)
			r.use(a.at, 1)
		}
	}
}

func (r *briefReader) tradesAt(i int) amount {
	return r.number(i, -near, func(k int) bool { return !strings.HasSuffix(r.words[k], "%") })
}

// drawdown is the number that belongs to the drawdown at i: beside it, else within a
// few words. Of a drawdown "10" is a percentage too.
func (r *briefReader) drawdown(i int) amount {
	from := i // of "max drawdown"
	for slices.Contains(between, r.word(from-1)) {
		from--
	}
	if a := r.fractionOf(from, i+1-from, 1); a.words > 0 && a.x < 1 {
		return a
	}
	ahead := func(k int) bool {
		a := amount{at: k, words: r.percentWords(k)}
		return r.countsNothing(k) && (k == i+1 || r.ownsNext(a))
	}
	back := func(k int) bool { // "1.5 and a low drawdown" is no number of the drawdown
		to := k + r.percentWords(k)
		other := slices.ContainsFunc(r.words[min(to, i):i], func(w string) bool { return !saysNothing(w) })
		return r.countsNothing(k) && (!other || to > k+1 || strings.HasSuffix(r.words[k], "%"))
	}
	a := r.number(i, near, ahead)
	if a.words == 0 {
		a = r.number(i, -near, back)
	}
	if a.x >= 1 {
		a.x /= 100
	}
	if a.x <= 0 || a.x >= 1 {
		return amount{}
	}
	return a
}

// countsNothing says whether the number at k is one of nothing that is counted, as in
// "4 hours" and "200 trades".
func (r *briefReader) countsNothing(k int) bool {
	next := r.word(k + 1)
	return units[next] == "" && next != "trades" && next != "atr"
}

// number is the first number within reach words after i, or before it where the
// count is negative, that belongs to nothing yet and fits. Neither a stop nor another
// phrase that takes a number is passed.
func (r *briefReader) number(i, count int, fits func(k int) bool) amount {
	step := 1
	if count < 0 {
		step, count = -1, -count
	}
	for k := 1; k <= count; k++ {
		j := i + k*step
		if r.word(j) == stop || r.takesNumber(j) > 0 {
			return amount{}
		}
		if x, ok := numeral(r.words[j]); ok && !r.used[j] && fits(j) {
			return amount{x, j, r.percentWords(j)}
		}
	}
	return amount{}
}

// numeral reads a word as a number, with or without a sign of percent.
func numeral(word string) (float64, bool) {
	w := strings.Trim(word, "%<>=")
	x, err := strconv.ParseFloat(w, 64)
	return x, err == nil && digit(w[0]) && len(w) < 12
}

func plainNumber(word string) bool {
	_, ok := numeral(word)
	return ok && !strings.ContainsAny(word, "%<>=")
}
