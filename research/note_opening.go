package research

import (
	"slices"

	"github.com/ktrdr/ktrdr"
)

// touches says that the opening showed bars which a holdout has, too: the series
// may have grown since, and is another file then.
func (o Opening) touches(holdout []Span) bool {
	return slices.ContainsFunc(holdout, func(s Span) bool {
		return slices.Contains(o.Holdout, s.Hash) || slices.ContainsFunc(o.Spans, s.meets)
	})
}

// opened notes that the assessment looked at the holdout of the symbol that it
// traded. All later verdicts on these bars count it.
func (r *research) opened(symbol string) (ktrdr.Note, error) {
	o := Opening{Of: r.parent.ID, Spans: of(r.spec.Sealed, symbol)}
	if child := r.newest(ktrdr.AgentAssessment); child != nil {
		o.By = child.ID
	}
	o.From = begin(o.Spans)
	for _, s := range o.Spans {
		o.Holdout = append(o.Holdout, s.Hash)
	}
	return r.note(NoteOpening, "", o)
}
