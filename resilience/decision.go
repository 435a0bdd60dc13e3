package resilience

import "github.com/ktrdr/ktrdr"

// HumanDecision is what a person decides about a breaker.
type HumanDecision struct {
	State ktrdr.BreakerState `json:"state,omitempty"` // of force: OPEN, CLOSED, or empty for automatic
	By    string             `json:"by"`
	Why   string             `json:"why"`
}

// Decided is a breaker as a person's decision left it.
type Decided struct {
	ktrdr.Breaker
	// InTheWay names the others that the same calls pass and that are not
	// closed: a provider's, the cluster of its host, and the other way round.
	InTheWay []string `json:"in_the_way,omitempty"`
}
