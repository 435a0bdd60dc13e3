package designer

import (
	"slices"
	"strings"
)

// The words of bounds. A negation before one turns it round: "no more than 200" is an upper bound.
var (
	floors   = []string{"least", "minimum", "min", "over", "above", ">", ">="}
	ceilings = []string{"most", "maximum", "max", "under", "below", "<", "<="}
	greater  = []string{"more", "greater", "higher", "larger"} // before "than"
	smaller  = []string{"less", "fewer", "lower", "smaller"}
	exceeds  = []string{"exceed", "exceeds", "exceeding"}
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
	k--
	for last := k - near; k > last && slices.Contains(vague, r.word(k)); { // a text may be long
		k--
	}
	switch w := r.word(k); {
	case w == "than" && slices.Contains(greater, r.word(k-1)):
		return 1, k - 1
	case w == "than" && slices.Contains(smaller, r.word(k-1)):
		return -1, k - 1
	case w == "to" && r.word(k-1) == "up":
		return -1, k - 1
	case slices.Contains(floors, w), slices.Contains(exceeds, w):
		side = 1
	case slices.Contains(ceilings, w):
		side = -1
	}
	if r.word(k-1) == "at" {
		k--
	}
	return side, k
}

func (r *briefReader) bounded(k int) bool {
	if _, number := numeral(r.words[k]); !number {
		return false
	}
	side, _ := r.bound(k)
	return side != 0
}

// sideOf is the bound that the number at k is to the noun at i: 1 is a lower bound, as
// in "at least 200" and "no fewer than 200", -1 an upper one, 0 none. What is ruled
// out turns a bound round: "no drawdown above 10%". A number that is ruled out
// without a bound, or twice, is no bound that can be kept: ok is false.
func (r *briefReader) sideOf(k, i int) (side int, ok bool) {
	side, from := r.bound(k)
	for from--; !negates(r.word(from)) && r.word(from) != stop && !slices.Contains(links, r.word(from)); from-- {
		if w := r.word(from); !saysNothing(w) && !slices.Contains(passed, w) {
			break
		}
	}
	here := negates(r.word(from)) // "don't open more than 200"
	denied := r.verdicts[i] == unwanted
	by := r.deniedBy[i]
	switch {
	case r.verdicts[i] == doubtful, denied && side == 0, denied && here && (from < by.from || from >= by.to):
		return 0, false
	case denied || here:
		return -side, true
	}
	return side, true
}

// perTime says whether the trades at i are counted by the day or in a row, and not in all.
func (r *briefReader) perTime(i int) bool {
	switch r.word(i + 1) {
	case "in":
		return r.word(i+3) == "row" || r.perTime(i+1)
	case "per", "daily", "weekly", "monthly", "yearly":
		return true
	case "a", "each", "every":
		return units[r.word(i+2)] != "" || r.word(i+2) == "year"
	}
	return false
}
