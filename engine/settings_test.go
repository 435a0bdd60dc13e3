package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/engine"
)

func TestSettings_DefaultsFollowTheTimeout(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		timeout, heartbeat time.Duration
	}{
		"the product's default":    {0, 10 * time.Second},
		"a long timeout":           {10 * time.Minute, 10 * time.Second},
		"a timeout of a test":      {3 * time.Second, 500 * time.Millisecond},
		"a fraction of a second":   {600 * time.Millisecond, 100 * time.Millisecond},
		"exactly six of the limit": {time.Minute, 10 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engine.Settings{OrphanTimeout: tt.timeout}
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := s.WithDefaults().HeartbeatInterval; got != tt.heartbeat {
				t.Errorf("heartbeat every %v, want %v", got, tt.heartbeat)
			}
		})
	}
}

func TestSettings_InvalidOnesAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		settings engine.Settings
		names    []string
	}{
		"negative timeout":   {engine.Settings{OrphanTimeout: -time.Second}, []string{"ORPHAN_TIMEOUT_SECONDS"}},
		"negative interval":  {engine.Settings{CheckInterval: -1}, []string{"ORPHAN_CHECK_INTERVAL_SECONDS"}},
		"negative heartbeat": {engine.Settings{HeartbeatInterval: -1}, []string{"HEARTBEAT_INTERVAL_SECONDS"}},
		"timeout below 3 beats": {
			engine.Settings{OrphanTimeout: 5 * time.Second, HeartbeatInterval: 2 * time.Second},
			[]string{"ORPHAN_TIMEOUT_SECONDS", "HEARTBEAT_INTERVAL_SECONDS"},
		},
		"unknown policy": {engine.Settings{RestartPolicy: "hope"}, []string{"RESTART_POLICY", "hope"}},
		"everything wrong at once": {
			engine.Settings{OrphanTimeout: -1, CheckInterval: -1, RestartPolicy: "x"},
			[]string{"ORPHAN_TIMEOUT_SECONDS", "ORPHAN_CHECK_INTERVAL_SECONDS", "RESTART_POLICY"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.settings.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.names {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %s", err, want)
				}
			}
		})
	}
}
