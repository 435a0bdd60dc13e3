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
	if r.negated {
		*e = Exit{None: true}
		return true
	}
	a := r.fractionOf(i, n, mostExit)
	*e = Exit{At: max(a.x, e.At), Use: true}
	r.use(a.at, a.words)
	return true
}

func (r *briefReader) readRisk(i, n int) bool {
	a := r.fractionOf(i, n, mostRisk)
	if a.words == 0 || r.negated {
		return false
	}
	r.brief.Risk = a.x
	r.use(a.at, a.words)
	return true
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
