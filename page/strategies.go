package page

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

func (p *Pages) routeStrategies() {
	p.mux.HandleFunc("GET /strategies", p.view("Strategies", "strategies", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readStrategies(ctx, readBoardQuery("/strategies", r.URL.Query()))
	}))
	p.mux.HandleFunc("GET /strategies/{id}", p.view("Strategy", "strategy", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readStrategy(ctx, r)
	}))
	p.routeClaims()
	p.routeDetails()
	p.routeZoom()
	p.mux.HandleFunc("POST /strategies/{id}/{act}", p.act(p.changeStrategy))
}

// strategies is the leaderboard alone.
type strategies struct {
	Headline string
	Board    board
}

func (p *Pages) readStrategies(ctx context.Context, q boardQuery) (strategies, error) {
	found, err := p.lab.Leaderboard(ctx, q.LeaderboardQuery)
	if err != nil {
		return strategies{}, err
	}
	s := strategies{Headline: "No strategy claims an edge.", Board: boardOf(found, q, []field{{"run", q.Run}})}
	if found.Claims > 0 {
		s.Headline = plural(found.Claims, "strategy") + " claim an edge."
		if found.Claims == 1 {
			s.Headline = "1 strategy claims an edge."
		}
	}
	return s, nil
}

// changeStrategy does what a button of a strategy says.
func (p *Pages) changeStrategy(ctx context.Context, r *http.Request) (string, error) {
	id, err := p.findResearch(ctx, r.PathValue("id"))
	if err != nil {
		return "", err
	}
	back := "/strategies/" + string(id)
	switch act := r.PathValue("act"); act {
	case "resume":
		_, err = p.lab.Resume(ctx, id)
	case "retry":
		made, failed := p.retryOnce(r, id)
		return "/strategies/" + string(made), failed
	case "cancel":
		_, err = p.lab.CancelResearch(ctx, id, "from the page")
	case "pin":
		_, err = p.lab.Pin(ctx, id)
	case "unpin":
		_, err = p.lab.Unpin(ctx, id)
	default:
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "a strategy has no action %.40q", act)
	}
	return back, err
}

// findResearch finds the research that the beginning of an id, or of its last
// eight characters, names.
func (p *Pages) findResearch(ctx context.Context, named string) (ktrdr.OperationID, error) {
	const shortest = 4
	if len(named) < shortest {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "%q is too short for a strategy: give at least %d characters of its id", named, shortest)
	}
	page, err := p.lab.List(ctx, ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Search: named, Limit: 100})
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(page.Operations, func(op ktrdr.Operation) bool {
		return !strings.HasPrefix(string(op.ID), named) && !strings.HasPrefix(op.ID.Tail(), named)
	})
	switch len(found) {
	case 0:
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "no strategy has an id that begins with %.100q", named)
	case 1:
		return found[0].ID, nil
	}
	return "", ktrdr.Errorf(ktrdr.CodeInvalid, "%.100q is the beginning of several strategies: add a character or two", named)
}
