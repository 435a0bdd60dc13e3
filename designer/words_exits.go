package designer

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

func (r *briefReader) readExit(e *Exit, i, n int) bool {
	a := r.fractionOf(i, n, mostExit)
	if a.words == 0 && r.verdicts[i] == unwanted {
		a = r.number(i+n-1, near, r.countsNothing)
	}
	if r.verdicts[i] == unwanted && a.words > 0 { // "no stop of more than 2%" may want another
		by := r.deniedBy[i]
		r.doubts = append(r.doubts, words{min(i, by.from, a.at), max(i+n, by.to, a.at+a.words)})
		return false
	}
	if r.verdicts[i] == unwanted {
		*e = Exit{None: true}
		return true
	}
	a = r.exact(a)
	*e = Exit{At: max(a.x, e.At), Use: true}
	r.use(a.at, a.words)
	return true
}

func (r *briefReader) readRisk(i, n int) bool {
	a := r.exact(r.fractionOf(i, n, mostRisk))
	if a.words == 0 || r.verdicts[i] == unwanted {
		return false
	}
	r.brief.Risk = a.x
	r.use(a.at, a.words)
	return true
}

// exact is an amount that is no mere bound: "below 2%" is only a bound. "Max 2%" is used as 2%.
func (r *briefReader) exact(a amount) amount {
	if a.words == 0 {
		return a
	}
	if side, from := r.bound(a.at); side != 0 && r.word(from) != "max" && r.word(from) != "maximum" {
		return amount{}
	}
	return a
}

// hold puts what the brief says about an exit into a gene: a distance that the brief
// gives is written as it is, and there is no gene.
func (e Exit) hold(gene, usual float64) float64 {
	switch {
	case e.None || e.At > 0:
		return 0
	case e.Use && gene == 0:
		return usual
	}
	return gene
}
