package page

import (
	"context"
	"net/http"

	"github.com/ktrdr/ktrdr/research"
)

// suggestions is what to try next.
type suggestions struct {
	Rows []research.Suggestion
	All  int
	May  bool
}

const suggestionsShown = 6

func (p *Pages) readSuggestions(ctx context.Context, r *http.Request) (any, error) {
	page, _, err := p.lab.Memory(ctx, research.MemoryQuery{Kind: "suggestions", Run: r.URL.Query().Get("run"), Limit: suggestionsShown})
	return suggestions{page.Suggestions, int(page.Counts["hypotheses"]), may(ctx)}, err
}
