package resilience

import (
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// ServiceStatus is a service as reported.
type ServiceStatus struct {
	Name     string  `json:"name"`
	Health   Health  `json:"health"`
	Weight   float64 `json:"weight"`
	Critical bool    `json:"critical"`
}

// DegradationStatus is all there is to know.
type DegradationStatus struct {
	Level    Level           `json:"level"`
	Since    time.Time       `json:"since"`
	Score    float64         `json:"score"`
	Services []ServiceStatus `json:"services"`
	Shed     []Feature       `json:"shed"`
	History  []LevelChange   `json:"history"` // oldest first
}

// Status returns the level and what it rests on.
func (d *Degradation) Status() DegradationStatus {
	level := d.Level()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := DegradationStatus{
		Level: level, Since: d.since.UTC(), Score: d.score(),
		Services: []ServiceStatus{}, Shed: []Feature{}, History: append([]LevelChange{}, d.history...),
	}
	for _, v := range d.config.Services {
		s.Services = append(s.Services, ServiceStatus{v.Name, d.health[v.Name], v.Weight, v.Critical})
	}
	for _, f := range slices.Sorted(maps.Keys(d.first)) {
		if !d.first[f].worse(level) {
			s.Shed = append(s.Shed, f)
		}
	}
	return s
}

// Status is a breaker with what it counts.
type Status struct {
	ktrdr.Breaker
	CallStats
	Enabled bool  `json:"enabled"` // false when no breaker of this backend refuses anything
	Streak  int64 `json:"failures_in_a_row"`
	Refused int64 `json:"refused_total"`
}

// List returns every breaker, by name.
func (r *Registry) List() []Status { return text.Map(r.all(), (*Breaker).Status) }

// Status is how the breaker stands now.
func (b *Breaker) Status() Status {
	return Status{
		Breaker: b.state.Load().row, CallStats: b.window.figures(),
		Enabled: b.owner.config.Enabled, Streak: b.streak.Load(), Refused: b.refused.Load(),
	}
}

// Health is what a call would meet now: a breaker that passes it is healthy, one
// that lets probes through is degraded, also while it waits for the first, and
// one that refuses is down.
func (b *Breaker) Health() Health {
	s := b.state.Load()
	switch {
	case s.passes:
		return HealthGood
	case s.row.Forced != "", s.row.Held, s.row.State == ktrdr.BreakerOpen && time.Now().Before(s.until):
		return HealthDown
	}
	return HealthDegraded
}
