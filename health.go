package ktrdr

import "time"

// Health is what /health answers: a bare object. The detector's account is true
// at the moment of asking; what the store was asked is at most a second old.
type Health struct {
	Status         string         `json:"status"` // ok, or degraded with Problems
	Version        string         `json:"version"`
	Backend        Backend        `json:"backend"`
	UptimeSeconds  float64        `json:"uptime_seconds"`
	Paused         bool           `json:"paused"`
	Problems       []string       `json:"problems,omitempty"` // each a sentence that says what to do
	OrphanDetector OrphanDetector `json:"orphan_detector"`
	Workers        WorkerCounts   `json:"workers"`
	Operations     []Count        `json:"operations"`
	Unschedulable  int64          `json:"unschedulable_operations"`
	Stalled        int            `json:"stalled_operations"` // live, and not moving although their workers beat
	Store          StoreHealth    `json:"store"`
	DiskFreeBytes  int64          `json:"disk_free_bytes"`
	Degradation    HealthLevel    `json:"degradation"`

	Queues map[string]QueueHealth `json:"queues,omitempty"` // by name

	Waiting []Waiting `json:"-"` // for metrics: what workers could claim
}

// HealthLevel is the degradation level: FULL, DEGRADED, MINIMAL or OFFLINE, and
// the features that it switches off.
type HealthLevel struct {
	Level string   `json:"level"`
	Shed  []string `json:"shed"`
}

// OrphanDetector is the detector's own account of itself.
type OrphanDetector struct {
	Running              bool      `json:"running"`
	LastCheck            time.Time `json:"last_check,omitzero"`
	PotentialOrphans     int       `json:"potential_orphans_count"`
	OrphanedTotal        int64     `json:"orphaned_total"` // since this backend started
	OrphanTimeoutSeconds float64   `json:"orphan_timeout_seconds"`
	CheckIntervalSeconds float64   `json:"check_interval_seconds"`
}

// WorkerCounts counts live workers and their slots by type.
type WorkerCounts struct {
	Live   int                  `json:"live"`
	ByType map[Type]WorkerSlots `json:"by_type"`
}

// WorkerSlots is how many slots offer a type, and how many are taken.
type WorkerSlots struct {
	Busy  int `json:"busy"`
	Total int `json:"total"`
}

// StoreHealth says whether the store answers and takes writes.
type StoreHealth struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	StoreInfo
}

// Counters are totals since this backend started.
type Counters struct {
	Orphaned           int64         // operations that lost their worker
	WritesRefused      int64         // progress, checkpoints, results and releases from an epoch that was not live
	Heartbeats         int64         // heartbeat calls accepted
	HeartbeatsLost     int64         // claims that a heartbeat named and that were not live
	HeartbeatLateness  time.Duration // how far the latest heartbeat of the last minute or two was past its interval
	CheckpointsSkipped int64         // checkpoints that could not be used
	Recovered          int64         // operations taken over from a dead backend
}
