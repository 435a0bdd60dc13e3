package httpapi

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Resilience is what the API needs of whoever keeps the circuit breakers and
// decides what is shed.
type Resilience interface {
	Breakers() []BreakerStatus
	BreakerHistory(ctx context.Context, name string, limit int) ([]ktrdr.BreakerChange, error)
	// ResetBreaker closes a breaker, and ForceBreaker holds it open or closed
	// or sets it back to automatic. Both want to know who decides, and why.
	ResetBreaker(ctx context.Context, name string, d BreakerDecision) (DecidedBreaker, error)
	ForceBreaker(ctx context.Context, name string, d BreakerDecision) (DecidedBreaker, error)
	Degradation() Degradation
	// Models lists the language models that may be asked, in their order.
	Models() []LanguageModel
}

// BreakerStatus is a breaker and what it has seen.
type BreakerStatus struct {
	ktrdr.Breaker
	Enabled     bool    `json:"enabled"`
	Calls       int64   `json:"calls"` // in its window, as the rates
	Failures    int64   `json:"failures"`
	Slow        int64   `json:"slow"`
	FailureRate float64 `json:"failure_rate"`
	SlowRate    float64 `json:"slow_rate"`
	Streak      int64   `json:"failures_in_a_row"`
	Refused     int64   `json:"refused_total"`
}

// BreakerDecision is a person's.
type BreakerDecision struct {
	State ktrdr.BreakerState `json:"state,omitempty"` // of force: OPEN, CLOSED, or nothing for automatic
	By    string             `json:"by"`
	Why   string             `json:"why"`
}

// DecidedBreaker is a breaker as a person's decision left it.
type DecidedBreaker struct {
	ktrdr.Breaker
	// InTheWay names the others that the same calls pass and that are not
	// closed: a provider's, the cluster of its host, and the other way round.
	InTheWay []string `json:"in_the_way,omitempty"`
}

// Degradation is how much of its service the system gives.
type Degradation struct {
	Level    string          `json:"level"` // FULL, DEGRADED, MINIMAL or OFFLINE
	Since    time.Time       `json:"since"`
	Score    float64         `json:"score"`
	Services []ServiceHealth `json:"services"`
	Shed     []string        `json:"shed"`    // features that are switched off now
	History  []LevelChange   `json:"history"` // oldest first
}

// LevelChange is when and why the level changed.
type LevelChange struct {
	From   string    `json:"from"`
	To     string    `json:"to"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// ServiceHealth is one service that the level is made of.
type ServiceHealth struct {
	Name     string  `json:"name"`
	Health   string  `json:"health"`
	Weight   float64 `json:"weight"`
	Critical bool    `json:"critical"`
}

// LanguageModel is a model that may be asked.
type LanguageModel struct {
	Name        string   `json:"name"`
	Provider    string   `json:"provider"`
	Input       *float64 `json:"usd_per_million_input_tokens"` // null where nobody knows: such a model is not asked
	Output      *float64 `json:"usd_per_million_output_tokens"`
	Well        bool     `json:"well"`
	Failures    int      `json:"failures_in_a_row"`
	Calls       int64    `json:"calls"`
	SuccessRate *float64 `json:"success_rate"`
	Seconds     float64  `json:"latency_seconds"`
	LastError   string   `json:"last_error,omitempty"`
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

func (s *Server) breakers(*call, none) ([]BreakerStatus, error) {
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

func (s *Server) resetBreaker(c *call, in BreakerDecision) (DecidedBreaker, error) {
	if in.State != "" {
		return DecidedBreaker{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a reset closes the breaker: leave out the state, or use force")
	}
	return s.resilience.ResetBreaker(c.Context(), c.PathValue("name"), in)
}

func (s *Server) forceBreaker(c *call, in BreakerDecision) (DecidedBreaker, error) {
	return s.resilience.ForceBreaker(c.Context(), c.PathValue("name"), in)
}

func (s *Server) degradation(*call, none) (Degradation, error) {
	return s.resilience.Degradation(), nil
}

func (s *Server) languageModels(*call, none) ([]LanguageModel, error) {
	return listed(s.resilience.Models()), nil
}
