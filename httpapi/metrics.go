package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// metrics is what the server counts itself. What the engine knows is asked for
// at each scrape.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ktrdr_http_requests_total", Help: "Requests answered.",
		}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ktrdr_http_request_seconds", Help: "Time from a request's arrival to its answer, streams excepted.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.seconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe counts an answered request. Labels come from our table, never from
// the request, so that no client can make us remember what it sends.
func (m *metrics) observe(c *call, took time.Duration) {
	method := c.Method
	if !slices.Contains(countedMethods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(c.spec.Key(), method, strconv.Itoa(c.sent)).Inc()
	if !c.spec.Stream {
		m.seconds.WithLabelValues(c.spec.Key()).Observe(took.Seconds())
	}
}

var countedMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func (s *Server) prometheus(c *call, _ api.None) error {
	engine := prometheus.NewRegistry()
	if err := engine.Register(snapshot{
		s.engine.Health(c.Context()), s.engine.Counters(), s.streams.Load(), s.limiter.counts(), s.types,
	}); err != nil {
		return err
	}
	promhttp.HandlerFor(prometheus.Gatherers{s.metrics.registry, engine}, promhttp.HandlerOpts{}).ServeHTTP(c, c.Request)
	return nil
}

// snapshot is the engine's numbers at one scrape.
type snapshot struct {
	health   ktrdr.Health
	counters ktrdr.Counters
	streams  int64
	conns    limiterCounts
	types    ktrdr.Types
}

// Describe sends nothing: an unchecked collector is right for one that lives
// for a single scrape.
func (snapshot) Describe(chan<- *prometheus.Desc) {}

// Collect sends the numbers.
func (s snapshot) Collect(ch chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name, help string, v float64, labels prometheus.Labels) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("ktrdr_"+name, help, nil, labels), kind, v)
	}
	gauge := func(name, help string, v float64) { send(prometheus.GaugeValue, name, help, v, nil) }
	counter := func(name, help string, v int64) { send(prometheus.CounterValue, name, help, float64(v), nil) }
	labeled := func(name, help string, v int, labels prometheus.Labels) {
		send(prometheus.GaugeValue, name, help, float64(v), labels)
	}
	for _, n := range s.health.Operations {
		labeled("operations", "Operations by type and status.", int(n.N), prometheus.Labels{"type": string(n.Type), "status": string(n.Status)})
	}
	for t, slots := range s.health.Workers.ByType {
		for state, n := range map[string]int{"busy": slots.Busy, "free": slots.Total - slots.Busy} {
			labeled("worker_slots", "Slots of live workers by type.", n, prometheus.Labels{"type": string(t), "state": state})
		}
	}
	for t, w := range s.waiting() {
		labeled("waiting_operations", "Operations that a worker could claim now, by type.", int(w.N), prometheus.Labels{"type": string(t)})
		send(prometheus.GaugeValue, "waiting_oldest_seconds", "How long the oldest of them has waited.", w.Oldest.Seconds(),
			prometheus.Labels{"type": string(t)})
	}
	for t, n := range s.wanted() {
		labeled("wanted_slots", "Slots that would be busy if there were enough: operations that run or that a worker could claim now, by type.",
			int(n), prometheus.Labels{"type": string(t)})
	}
	for name, q := range s.health.Queues {
		for state, n := range map[string]int{"active": q.Active, "waiting": q.Waiting} {
			labeled("queue_operations", "Operations of a queue that are active or wait for their turn.", n,
				prometheus.Labels{"queue": name, "state": state})
		}
		labeled("queue_limit", "How many operations of a queue may be active.", q.Limit, prometheus.Labels{"queue": name})
	}
	for h, n := range s.conns.held {
		labeled("connections", "Open connections by the token they showed: of a worker, of another client, or none.", n,
			prometheus.Labels{"token": holderNames[h]})
	}
	for why, n := range s.conns.dropped {
		send(prometheus.CounterValue, "connections_closed_total", "Idle connections without a valid token that were closed: "+
			"at the cap, for too many of one address, or after a few idle seconds.", float64(n), prometheus.Labels{"reason": why})
	}
	up := 0.0
	if s.health.Store.OK {
		up = 1
	}
	gauge("store_up", "Whether the store answers and takes writes.", up)
	gauge("workers_live", "Workers that were heard of lately.", float64(s.health.Workers.Live))
	gauge("potential_orphans", "Live operations that are two heartbeats late.", float64(s.health.OrphanDetector.PotentialOrphans))
	gauge("unschedulable_operations", "Operations that wait for a worker that does not exist.", float64(s.health.Unschedulable))
	gauge("stalled_operations", "Live operations that do not move although their workers beat.", float64(s.health.Stalled))
	gauge("disk_free_bytes", "Free disk of the data folder.", float64(s.health.DiskFreeBytes))
	gauge("event_streams", "Event streams that are open.", float64(s.streams))
	gauge("connections_max", "How many connections may be open (KTRDR_MAX_CONNECTIONS).", float64(s.conns.most))
	gauge("heartbeat_lateness_seconds", "How far the latest heartbeat of the last minute or two was past its interval.",
		s.counters.HeartbeatLateness.Seconds())
	counter("orphans_total", "Operations whose worker died.", s.counters.Orphaned)
	counter("writes_refused_total", "Progress, checkpoints, results and releases from an epoch that was not live.", s.counters.WritesRefused)
	counter("heartbeats_lost_total", "Claims that a heartbeat named and that were not live.", s.counters.HeartbeatsLost)
	counter("heartbeats_total", "Heartbeats accepted.", s.counters.Heartbeats)
	counter("checkpoints_skipped_total", "Checkpoints that could not be used.", s.counters.CheckpointsSkipped)
	counter("operations_recovered_total", "Operations taken over from a dead backend.", s.counters.Recovered)
}

// waiting is what waits for a worker, by type. Types of which nothing waits are
// there too: who scales workers by it needs the zero.
func (s snapshot) waiting() map[ktrdr.Type]ktrdr.Waiting {
	all := map[ktrdr.Type]ktrdr.Waiting{}
	for t, d := range s.types {
		if d.Plan == nil {
			all[t] = ktrdr.Waiting{Type: t}
		}
	}
	for _, w := range s.health.Waiting {
		w.N += all[w.Type].N
		w.Oldest = max(w.Oldest, all[w.Type].Oldest)
		all[w.Type] = w
	}
	return all
}

// wanted is how many slots the work of each type would take now.
func (s snapshot) wanted() map[ktrdr.Type]int64 {
	all := map[ktrdr.Type]int64{}
	for t, w := range s.waiting() {
		all[t] = w.N
	}
	for _, n := range s.health.Operations {
		if _, byWorkers := all[n.Type]; byWorkers && n.Status.Live() {
			all[n.Type] += n.N
		}
	}
	return all
}
