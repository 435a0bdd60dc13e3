package engine

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// RestartPolicy says what happens to work that a dead backend ran in process.
type RestartPolicy string

// The policies.
const (
	RestartResume RestartPolicy = "resume" // it resumes from its checkpoint by itself
	RestartFail   RestartPolicy = "fail"   // it is FAILED and waits to be resumed by hand
)

// Settings are the engine's times and policies. Zero durations mean the default given beside each.
type Settings struct {
	OrphanTimeout     time.Duration // silence after which a claim is given up; 60 s
	CheckInterval     time.Duration // between sweeps; 15 s
	HeartbeatInterval time.Duration // asked of workers; min(10 s, OrphanTimeout/6)
	RestartPolicy     RestartPolicy // resume
	NoAutoResume      bool          // AUTO_RESUME=false: children that lose their worker stay FAILED
	Retention         time.Duration // of checkpoints; 30 days
	EventRetention    time.Duration // 90 days
	CleanupInterval   time.Duration // between retention runs; 1 h
	DiskReserve       int64         // free bytes below which new work is refused; 1 GiB, negative means none

	CheckpointInterval time.Duration // asked of workers; 300 s, negative means none by time
	StalledAfter       time.Duration // without a step after which running work is called stalled; 10 min

	NoCompaction    bool          // KTRDR_COMPACT=false: researches that claim nothing keep their files
	CompactInterval time.Duration // between two looks for researches to compact; 10 s

	// TrashTime is between trash and purge of blobs that rows stopped naming. It is
	// longer than a request takes from finding a blob to the row that names it; 2 min.
	TrashTime time.Duration
}

const (
	defaultTimeout   = 60 * time.Second
	defaultInterval  = 15 * time.Second
	maxHeartbeat     = 10 * time.Second
	heartbeatsPerTTL = 6
	minHeartbeats    = 3
	day              = 24 * time.Hour
)

// WithDefaults fills what is zero.
func (s Settings) WithDefaults() Settings {
	s.OrphanTimeout = cmp.Or(s.OrphanTimeout, defaultTimeout)
	s.CheckInterval = cmp.Or(s.CheckInterval, defaultInterval)
	s.HeartbeatInterval = cmp.Or(s.HeartbeatInterval, min(maxHeartbeat, s.OrphanTimeout/heartbeatsPerTTL))
	s.RestartPolicy = cmp.Or(s.RestartPolicy, RestartResume)
	s.Retention = cmp.Or(s.Retention, 30*day)
	s.EventRetention = cmp.Or(s.EventRetention, 90*day)
	s.CleanupInterval = cmp.Or(s.CleanupInterval, time.Hour)
	s.DiskReserve = cmp.Or(s.DiskReserve, 1<<30)
	s.CheckpointInterval = cmp.Or(s.CheckpointInterval, 300*time.Second)
	s.StalledAfter = cmp.Or(s.StalledAfter, 10*time.Minute)
	s.CompactInterval = cmp.Or(s.CompactInterval, 10*time.Second)
	s.TrashTime = cmp.Or(s.TrashTime, 2*time.Minute)
	return s
}

// Validate names every setting that cannot be used, as its users write it.
func (s Settings) Validate() error {
	s = s.WithDefaults()
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if s.OrphanTimeout <= 0 {
		bad("ORPHAN_TIMEOUT_SECONDS must be positive, not %v; leave it out for 60", s.OrphanTimeout.Seconds())
	}
	if s.CheckInterval <= 0 {
		bad("ORPHAN_CHECK_INTERVAL_SECONDS must be positive, not %v; leave it out for 15", s.CheckInterval.Seconds())
	}
	if s.HeartbeatInterval <= 0 && s.OrphanTimeout > 0 {
		bad("HEARTBEAT_INTERVAL_SECONDS must be positive, not %v; leave it out for a sixth of the timeout", s.HeartbeatInterval.Seconds())
	}
	if s.HeartbeatInterval > 0 && s.OrphanTimeout > 0 && s.OrphanTimeout < minHeartbeats*s.HeartbeatInterval {
		bad("ORPHAN_TIMEOUT_SECONDS=%v is less than three heartbeats of HEARTBEAT_INTERVAL_SECONDS=%v: "+
			"one lost packet would look like a dead worker; raise the timeout or lower the interval",
			s.OrphanTimeout.Seconds(), s.HeartbeatInterval.Seconds())
	}
	if s.RestartPolicy != RestartResume && s.RestartPolicy != RestartFail {
		bad("RESTART_POLICY %q: %s", s.RestartPolicy, text.Choices(string(s.RestartPolicy), []RestartPolicy{RestartResume, RestartFail}))
	}
	if s.Retention < 0 || s.EventRetention < 0 || s.CleanupInterval < 0 || s.StalledAfter < 0 || s.CompactInterval < 0 || s.TrashTime < 0 {
		bad("retention, cleanup, compaction and stall intervals must be positive")
	}
	return errors.Join(problems...)
}

// policy is how the store treats work without a keeper.
func (s Settings) policy() ktrdr.RecoveryPolicy {
	return ktrdr.RecoveryPolicy{
		Timeout:    s.OrphanTimeout,
		Late:       2 * s.HeartbeatInterval,
		AutoResume: !s.NoAutoResume,
		FailLocal:  s.RestartPolicy == RestartFail,
	}
}
