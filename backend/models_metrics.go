package backend

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ktrdr/ktrdr"
)

var (
	descBreaker = prometheus.NewDesc("ktrdr_breaker_state", "Circuit breakers: 0 closed, 1 half open, 2 open; a forced state counts.",
		[]string{"name"}, nil)
	descRefusal = prometheus.NewDesc("ktrdr_breaker_refused_total", "Calls that a circuit breaker refused.", []string{"name"}, nil)
	descLevel   = prometheus.NewDesc("ktrdr_service_level", "1 for the level of service given now.", []string{"level"}, nil)
)

// Describe sends nothing: breakers appear with their first call.
func (l *modelWiring) Describe(chan<- *prometheus.Desc) {}

// Collect sends how the breakers and the level stand.
func (l *modelWiring) Collect(ch chan<- prometheus.Metric) {
	states := map[ktrdr.BreakerState]float64{ktrdr.BreakerHalfOpen: 1, ktrdr.BreakerOpen: 2}
	for _, s := range l.registry.List() {
		state := s.State
		if s.Forced != "" {
			state = s.Forced
		}
		ch <- prometheus.MustNewConstMetric(descBreaker, prometheus.GaugeValue, states[state], s.Name)
		ch <- prometheus.MustNewConstMetric(descRefusal, prometheus.CounterValue, float64(s.Refused), s.Name)
	}
	ch <- prometheus.MustNewConstMetric(descLevel, prometheus.GaugeValue, 1, string(l.level.Level()))
}
