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
	if err := engine.Register(snapshot{s.engine.Health(c.Context()), s.engine.Counters(), s.streams.Load(), s.door.counts()}); err != nil {
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
	door     doorCounts
}

var (
	descOperations = prometheus.NewDesc("ktrdr_operations", "Operations by type and status.", []string{"type", "status"}, nil)
	descWorkers    = prometheus.NewDesc("ktrdr_workers_live", "Workers that were heard of lately.", nil, nil)
	descSlots      = prometheus.NewDesc("ktrdr_worker_slots", "Slots of live workers by type.", []string{"type", "state"}, nil)
	descPotential  = prometheus.NewDesc("ktrdr_potential_orphans", "Live operations that are two heartbeats late.", nil, nil)
	descWaiting    = prometheus.NewDesc("ktrdr_unschedulable_operations", "Operations that wait for a worker that does not exist.", nil, nil)
	descQueue      = prometheus.NewDesc("ktrdr_queue_operations", "Operations of a queue that are active or wait for their turn.",
		[]string{"queue", "state"}, nil)
	descQueueLimit = prometheus.NewDesc("ktrdr_queue_limit", "How many operations of a queue may be active.", []string{"queue"}, nil)
	descStore      = prometheus.NewDesc("ktrdr_store_up", "Whether the store answers and takes writes.", nil, nil)
	descDisk       = prometheus.NewDesc("ktrdr_disk_free_bytes", "Free disk of the data folder.", nil, nil)
	descStreams    = prometheus.NewDesc("ktrdr_event_streams", "Event streams that are open.", nil, nil)
	descConns      = prometheus.NewDesc("ktrdr_connections",
		"Open connections by the token they showed: of a worker, of another client, or none.", []string{"token"}, nil)
	descMaxConns = prometheus.NewDesc("ktrdr_connections_max", "How many connections may be open (KTRDR_MAX_CONNECTIONS).", nil, nil)
	descDropped  = prometheus.NewDesc("ktrdr_connections_closed_total",
		"Idle connections without a valid token that were closed: at the cap, for too many of one address, or after a few idle seconds.",
		[]string{"reason"}, nil)
	descLateness = prometheus.NewDesc("ktrdr_heartbeat_lateness_seconds",
		"How far the latest heartbeat of the last minute or two was past its interval.", nil, nil)
	descOrphans = prometheus.NewDesc("ktrdr_orphans_total", "Operations that lost their worker.", nil, nil)
	descRefused = prometheus.NewDesc("ktrdr_writes_refused_total",
		"Progress, checkpoints, results and releases from an epoch that was not live.", nil, nil)
	descLost      = prometheus.NewDesc("ktrdr_heartbeats_lost_total", "Claims that a heartbeat named and that were not live.", nil, nil)
	descStalled   = prometheus.NewDesc("ktrdr_stalled_operations", "Live operations that do not move although their workers beat.", nil, nil)
	descBeats     = prometheus.NewDesc("ktrdr_heartbeats_total", "Heartbeats accepted.", nil, nil)
	descSkipped   = prometheus.NewDesc("ktrdr_checkpoints_skipped_total", "Checkpoints that could not be used.", nil, nil)
	descRecovered = prometheus.NewDesc("ktrdr_operations_recovered_total", "Operations taken over from a dead backend.", nil, nil)
)

// Describe sends nothing: an unchecked collector is right for one that lives
// for a single scrape.
func (snapshot) Describe(chan<- *prometheus.Desc) {}

// Collect sends the numbers.
func (s snapshot) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	for _, n := range s.health.Operations {
		gauge(descOperations, float64(n.N), string(n.Type), string(n.Status))
	}
	for t, slots := range s.health.Workers.ByType {
		gauge(descSlots, float64(slots.Busy), string(t), "busy")
		gauge(descSlots, float64(slots.Total-slots.Busy), string(t), "free")
	}
	for name, q := range s.health.Queues {
		gauge(descQueue, float64(q.Active), name, "active")
		gauge(descQueue, float64(q.Waiting), name, "waiting")
		gauge(descQueueLimit, float64(q.Limit), name)
	}
	up := 0.0
	if s.health.Store.OK {
		up = 1
	}
	gauge(descStore, up)
	gauge(descWorkers, float64(s.health.Workers.Live))
	gauge(descPotential, float64(s.health.OrphanDetector.PotentialOrphans))
	gauge(descWaiting, float64(s.health.Unschedulable))
	gauge(descStalled, float64(s.health.Stalled))
	gauge(descDisk, float64(s.health.DiskFreeBytes))
	gauge(descStreams, float64(s.streams))
	for h, n := range s.door.held {
		gauge(descConns, float64(n), holderNames[h])
	}
	gauge(descMaxConns, float64(s.door.most))
	for why, n := range s.door.dropped {
		ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(n), why)
	}
	gauge(descLateness, s.counters.HeartbeatLateness.Seconds())
	counter(descOrphans, s.counters.Orphaned)
	counter(descRefused, s.counters.WritesRefused)
	counter(descLost, s.counters.HeartbeatsLost)
	counter(descBeats, s.counters.Heartbeats)
	counter(descSkipped, s.counters.CheckpointsSkipped)
	counter(descRecovered, s.counters.Recovered)
}
