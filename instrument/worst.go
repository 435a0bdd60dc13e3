package instrument

import "strings"

// WorstMove is how far the price of a symbol is taken to fall and to rise at most within one
// bar, gaps included, as fractions of the price at the bar's beginning. The bets on a claim are
// bounded by it: docs/research.md gives the reason of each.
func WorstMove(symbol string) (down, up float64) {
	class, _ := ClassOf(symbol)
	switch class {
	case MajorFX:
		if strings.Contains(strings.ToUpper(symbol), "CHF") { // its floor was given up in 2015: 30 % within minutes
			return 0.4, 0.4
		}
		return 0.2, 0.2
	case MinorFX:
		return 0.4, 0.4
	case Metal, Index:
		return 0.5, 0.5
	}
	return 1, 4
}
