package httpapi

import (
	"context"

	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"

	"github.com/ktrdr/ktrdr"
)

// Resilience is what the API needs of whoever keeps the circuit breakers and
// decides what is shed.
type Resilience interface {
	Breakers() []resilience.Status
	BreakerHistory(ctx context.Context, name string, limit int) ([]ktrdr.BreakerChange, error)
	// ResetBreaker closes a breaker, and ForceBreaker holds it open or closed
	// or sets it back to automatic. Both want to know who decides, and why.
	ResetBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error)
	ForceBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error)
	Degradation() resilience.DegradationStatus
	// Models lists the language models that may be asked, in their order.
	Models() []llm.ModelHealth
}

func resilienceRoutes() []row {
	const base = "/api/v1/breakers"
	return []row{
		on(get(base, "Circuit breakers, and what they have seen"), (*Server).breakers),
		on(get(base+"/history", "Changes of breakers, newest first",
			param{name: "name", kind: kindString, doc: "only those of this breaker"}, paramLimit), (*Server).breakerHistory),
		on(post(base+"/{name}/reset", "Close a breaker; says who and why"), (*Server).resetBreaker),
		on(post(base+"/{name}/force", "Hold a breaker OPEN or CLOSED, or set it back to automatic; says who and why"), (*Server).forceBreaker),
		on(get("/api/v1/degradation", "How much of its service the system gives, and what is shed"), (*Server).degradation),
		on(get("/api/v1/agent/models", "Language models that may be asked, in their order"), (*Server).languageModels),
	}
}

func (s *Server) breakers(*call, none) ([]resilience.Status, error) {
	return listed(s.resilience.Breakers()), nil
}

func (s *Server) breakerHistory(c *call, _ none) ([]ktrdr.BreakerChange, error) {
	limit := c.query.count("limit", maxPage)
	if c.query.err != nil {
		return nil, c.query.err
	}
	list, err := s.resilience.BreakerHistory(c.Context(), c.query.Get("name"), limit)
	return listed(list), err
}

func (s *Server) resetBreaker(c *call, in resilience.HumanDecision) (resilience.Decided, error) {
	if in.State != "" {
		return resilience.Decided{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a reset closes the breaker: leave out the state, or use force")
	}
	return s.resilience.ResetBreaker(c.Context(), c.PathValue("name"), in)
}

func (s *Server) forceBreaker(c *call, in resilience.HumanDecision) (resilience.Decided, error) {
	return s.resilience.ForceBreaker(c.Context(), c.PathValue("name"), in)
}

func (s *Server) degradation(*call, none) (resilience.DegradationStatus, error) {
	return s.resilience.Degradation(), nil
}

func (s *Server) languageModels(*call, none) ([]llm.ModelHealth, error) {
	return listed(s.resilience.Models()), nil
}
