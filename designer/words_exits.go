package designer

import "slices"

// Exit is what a goal says about a stop or a target.
type Exit struct {
	At   float64 `json:"at,omitempty"`   // fraction of the entry price; 0: the designer's choice
	Use  bool    `json:"use,omitempty"`  // every design has one
	None bool    `json:"none,omitempty"` // no design has one
}

// mostExit is the farthest stop or target that a goal may ask for, and mostRisk the
// most that a trade may lose, as fractions.
const (
	mostExit = 0.5
	mostRisk = 0.2
)

// between may stand between "stop loss" and its number.
var between = []string{"of", "at", "to", "is", "around", "about", "max", "maximum", "below", "=", "a", "the", "per", "trade"}

// percent is the fraction that belongs to the phrase of n words at i: right before
// it or, behind words that say nothing, after it. "2%", "2 percent" and "0.02" are
// fractions; "20" of anything else is not.
func (r *briefReader) percent(i, n int, most float64) (x float64, from, words int) {
	fraction := func(k int) (float64, int, bool) {
		x, ok := numeral(r.word(k))
		if !ok {
			return 0, 0, false
		}
		words := 1
		switch next := r.word(k + 1); {
		case r.word(k)[len(r.word(k))-1] == '%':
			x /= 100
		case next == "%" || next == "percent" || next == "pct":
			x, words = x/100, 2
		case next == "per" && r.word(k+2) == "cent":
			x, words = x/100, 3
		case x >= 1 || (next != stop && !slices.Contains(between, next)):
			return 0, 0, false
		}
		return x, words, x > 0 && x <= most
	}
	for k := i - 1; k >= max(0, i-3); k-- { // "2 percent stop"
		if x, words, ok := fraction(k); ok && k+words == i {
			return x, k, words
		}
	}
	k := i + n
	for slices.Contains(between, r.word(k)) {
		k++
	}
	if x, words, ok := fraction(k); ok {
		return x, k, words
	}
	return 0, 0, 0
}

func (r *briefReader) readExit(e *Exit, i, n int) bool {
	if r.negated {
		*e = Exit{None: true}
		return true
	}
	x, at, words := r.percent(i, n, mostExit)
	*e = Exit{At: max(x, e.At), Use: true}
	r.use(at, words)
	return true
}

func (r *briefReader) readRisk(i, n int) bool {
	x, at, words := r.percent(i, n, mostRisk)
	if x == 0 || r.negated {
		return false
	}
	r.brief.Risk = x
	r.use(at, words)
	return true
}

// hold puts what the brief says about an exit into a gene: a distance that the brief
// gives is written as it is, and the gene is none.
func (e Exit) hold(gene, usual float64) float64 {
	switch {
	case e.None || e.At > 0:
		return 0
	case e.Use && gene == 0:
		return usual
	}
	return gene
}
