package research

import (
	"cmp"
	"context"
	"slices"
)

// Suggestion is what assessments propose to try next: the hypotheses with the
// same text.
type Suggestion struct {
	Text      string                   `json:"text"`
	Rationale string                   `json:"rationale,omitempty"` // of the newest
	Count     int                      `json:"count"`
	Status    map[HypothesisStatus]int `json:"status"` // how many of them are tested, and how it came out
}

// suggestions groups hypotheses by their text, the most frequent first.
func (v Views) suggestions(ctx context.Context, q MemoryQuery) ([]Suggestion, error) {
	limit := q.Limit
	q.Limit = 0
	rows, err := v.hypotheses(ctx, q)
	if err != nil {
		return nil, err
	}
	byText := map[string]*Suggestion{}
	list := []*Suggestion{}
	for i := range rows {
		h := &rows[i]
		s := byText[h.Text]
		if s == nil {
			s = &Suggestion{Text: h.Text, Rationale: h.Rationale, Status: map[HypothesisStatus]int{}}
			byText[h.Text], list = s, append(list, s)
		}
		s.Count++
		s.Status[h.Status]++
	}
	slices.SortStableFunc(list, func(a, b *Suggestion) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text)) })
	if limit > 0 {
		list = list[:min(limit, len(list))]
	}
	out := make([]Suggestion, len(list))
	for i, s := range list {
		out[i] = *s
	}
	return out, nil
}
