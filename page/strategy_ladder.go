package page

import "github.com/ktrdr/ktrdr/research"

// rung is one step of the ladder of a strategy.
type rung struct {
	Name, Number, Means, NotMeans, Next string
	Mark                                string // p reached, o not
}

// rungs are the steps of the ladder; nil before the research has ended.
func (f *facts) rungs() (all []rung) {
	if f.ladder == nil {
		return nil
	}
	return rungsOf(f.ladder)
}

func rungsOf(l *research.Ladder) (all []rung) {
	for _, r := range l.Rungs {
		step := rung{Name: capital(r.Rung), Means: r.Means, NotMeans: r.NotMeans, Next: plain(r.Next), Mark: "o"}
		if r.Reached {
			step.Mark = "p"
		}
		switch {
		case r.P != nil:
			step.Number = pValue(r.P)
		case r.EValue != nil:
			step.Number = "e = " + significantE(*r.EValue)
		}
		all = append(all, step)
	}
	return all
}
