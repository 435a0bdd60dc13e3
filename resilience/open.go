package resilience

import (
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// OpenError says that a breaker did not let a call through. It is never tried
// again by a RetryPolicy: the breaker knows when.
type OpenError struct {
	Name    string // scope:name
	State   ktrdr.BreakerState
	Forced  bool      // by a person
	Held    bool      // until a person resets it
	Err     error     // of the store, when it did not say who may probe
	RetryAt time.Time // when a call may pass again; zero when a probe or a person must say first
}

// Error says which breaker, why, and until when or what to do.
func (e *OpenError) Error() string {
	switch {
	case e.Forced:
		return fmt.Sprintf("breaker %s was forced open by a person: give it back with ktrdr breakers force", e.Name)
	case e.Held:
		return fmt.Sprintf("breaker %s is open until a person closes it with ktrdr breakers reset", e.Name)
	case e.Err != nil:
		return fmt.Sprintf("breaker %s is to be probed, and the store does not say by which backend: %v", e.Name, e.Err)
	case e.State == ktrdr.BreakerHalfOpen:
		return fmt.Sprintf("breaker %s is being probed by another call", e.Name)
	}
	return fmt.Sprintf("breaker %s is open until %s", e.Name, e.RetryAt.UTC().Format(time.RFC3339))
}
