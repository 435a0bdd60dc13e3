package designer

import (
	"slices"
	"strings"
)

// The words of bounds. A negation before one turns it round: "no more than 200" is
// an upper bound.
var (
	floors   = []string{"least", "minimum", "min", "over", "above", ">", ">="}
	ceilings = []string{"most", "maximum", "max", "under", "below", "<", "<="}
	greater  = []string{"more", "greater", "higher", "larger"} // before "than"
	smaller  = []string{"less", "fewer", "lower", "smaller"}
	vague    = []string{"of", "a", "the", "about", "around", "is", "are", "=", "roughly"} // between a bound and its number
)

// bound is what stands right before the number at k: 1 is a lower bound, -1 an upper
// one, 0 none. from is the first word of it.
func (r *briefReader) bound(k int) (side, from int) {
	if strings.HasPrefix(r.words[k], ">") {
		return 1, k
	}
	if strings.HasPrefix(r.words[k], "<") {
		return -1, k
	}
	for k--; slices.Contains(vague, r.word(k)); k-- {
	}
	switch w := r.word(k); {
	case w == "than" && slices.Contains(greater, r.word(k-1)):
		return 1, k - 1
	case w == "than" && slices.Contains(smaller, r.word(k-1)):
		return -1, k - 1
	case w == "to" && r.word(k-1) == "up":
		return -1, k - 1
	case slices.Contains(floors, w):
		side = 1
	case slices.Contains(ceilings, w):
		side = -1
	}
	if r.word(k-1) == "at" {
		k--
	}
	return side, k
}

// atLeast says whether the number at k is a lower bound: "at least 200", "no fewer
// than 200". "No more than 200" is none.
func (r *briefReader) atLeast(k int) bool {
	side, from := r.bound(k)
	for from--; !negates(r.word(from)) && r.word(from) != stop && !slices.Contains(links, r.word(from)); from-- {
		if w := r.word(from); !saysNothing(w) && !slices.Contains(passed, w) {
			break
		}
	}
	if negates(r.word(from)) { // "don't open more than 200"
		side = -side
	}
	return side > 0
}

// perTime says whether the trades at i are counted by the day, and not in all.
func (r *briefReader) perTime(i int) bool {
	switch r.word(i + 1) {
	case "per", "daily", "weekly", "monthly", "yearly":
		return true
	case "a", "each", "every":
		return units[r.word(i+2)] != "" || r.word(i+2) == "year"
	}
	return false
}

// countsOther says whether the number at k counts something else than the noun at i:
// "over 200 bars and few trades".
func (r *briefReader) countsOther(k, i int) bool {
	return slices.ContainsFunc(r.words[k+1:i], func(w string) bool { return units[w] != "" || slices.Contains(series, w) })
}

// negates says whether a word is a negation: no, not, don't, shouldn't.
func negates(word string) bool {
	return slices.Contains(negations, word) || strings.HasSuffix(word, "n't")
}
