package resilience

import "slices"

// Level is how much of its service the system gives.
//
//	FULL ── DEGRADED ── MINIMAL        by the weighted health of all services
//	                         OFFLINE   while a critical service is down
//
// A worse level is entered at once. A better one is entered when the services
// have been good enough for a while.
type Level string

// The levels, the best first.
const (
	Full     Level = "FULL"
	Degraded Level = "DEGRADED"
	Minimal  Level = "MINIMAL"
	Offline  Level = "OFFLINE"
)

var levels = []Level{Full, Degraded, Minimal, Offline}

// worse says whether l gives less than other.
func (l Level) worse(other Level) bool { return slices.Index(levels, l) > slices.Index(levels, other) }

// Health is how a service is.
type Health string

// The healths.
const (
	HealthUnknown  Health = "unknown" // nothing was reported yet; it counts as degraded
	HealthGood     Health = "healthy"
	HealthDegraded Health = "degraded" // it works, with trouble
	HealthDown     Health = "down"
)

// value is what a service of that health adds to the whole.
func (h Health) value() (float64, bool) {
	switch h {
	case HealthGood:
		return 1, true
	case HealthDegraded, HealthUnknown:
		return 0.5, true
	case HealthDown:
		return 0, true
	}
	return 0, false
}

// Feature is something that the system can do without.
type Feature string

// The features of the product.
const (
	LLMAssessment Feature = "llm_assessment" // a model's second opinion; the built-in verdict stands without it
	LLMDesign     Feature = "llm_design"     // a model's strategies; the built-in designer makes others
	NewResearch   Feature = "new_research"   // there is no store to keep it, or no worker to compute it
)

// defaultSheds says what each level switches off, beyond what a better one does.
var defaultSheds = map[Level][]Feature{
	Degraded: {LLMAssessment},
	Minimal:  {LLMDesign},
	Offline:  {NewResearch},
}

// sheddings returns for every feature the best level that switches it off.
func sheddings(sheds map[Level][]Feature) map[Feature]Level {
	first := map[Feature]Level{}
	for _, l := range slices.Backward(levels) {
		for _, f := range sheds[l] {
			first[f] = l
		}
	}
	return first
}
