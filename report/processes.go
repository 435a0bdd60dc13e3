package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// ProcessLife is one life of a backend or of a worker, as far as events tell.
type ProcessLife struct {
	Kind string    `json:"kind"` // backend or worker
	Name string    `json:"name"`
	PID  int       `json:"pid,omitempty"`
	From time.Time `json:"from"`         // the beginning of the report if it started before
	To   time.Time `json:"to,omitzero"`  // zero: it still runs
	Died bool      `json:"died"`         // it ended without having stopped in order
	ID   string    `json:"id,omitempty"` // of a worker, or the incarnation of a backend
}

// ProcessEvent is something that happened to a process.
type ProcessEvent struct {
	At   time.Time       `json:"at"`
	Kind ktrdr.EventKind `json:"kind"`
	Name string          `json:"name,omitempty"`
	PID  int             `json:"pid,omitempty"`
	Text string          `json:"text,omitempty"` // of a breaker: its new state and why
}

const mostProcesses = 24

// told is what the events of processes say of them.
type told struct {
	Worker      string `json:"worker_id"`
	Name        string `json:"name"` // of a worker or a breaker
	HeldBy      string `json:"held_by"`
	Host        string `json:"host"`
	PID         int    `json:"pid"`
	Incarnation string `json:"incarnation"`
	Backend     string `json:"backend_id"`
	To          string `json:"to"`
	Reason      string `json:"reason"`
}

// processesOf are the lives that events name, and the events themselves,
// newest first. Workers inside a backend live as long as it does and are left out.
func processesOf(events []ktrdr.Event, from time.Time) ([]ProcessLife, []ProcessEvent) {
	var lives []ProcessLife
	log := []ProcessEvent{}
	for _, e := range events {
		var t told
		if len(e.Data) > 0 && json.Unmarshal(e.Data, &t) != nil || t.HeldBy != "" {
			continue
		}
		one := ProcessLife{Kind: "worker", Name: cmp.Or(t.Name, t.Worker), PID: t.PID, From: e.At, ID: t.Worker}
		if t.Incarnation != "" {
			one = ProcessLife{Kind: "backend", Name: cmp.Or(t.Backend, t.Host), PID: t.PID, From: e.At, ID: t.Incarnation}
		}
		log = append(log, ProcessEvent{At: e.At, Kind: e.Kind, Name: one.Name, PID: t.PID, Text: eventText(&t)})
		at := slices.IndexFunc(lives, func(p ProcessLife) bool { return p.ID == one.ID && p.Kind == one.Kind && p.To.IsZero() })
		switch e.Kind {
		case ktrdr.EventBackendStarted, ktrdr.EventWorkerRegistered, ktrdr.EventWorkerReturned:
			if at < 0 {
				lives = append(lives, one)
			}
		case ktrdr.EventBackendStopped, ktrdr.EventBackendDied, ktrdr.EventWorkerLeft, ktrdr.EventWorkerLost:
			if at < 0 { // it started before the events that are known
				one.From, at = from, len(lives)
				lives = append(lives, one)
			}
			lives[at].To, lives[at].Died = e.At, e.Kind == ktrdr.EventBackendDied || e.Kind == ktrdr.EventWorkerLost
		default: // of no process
		}
	}
	slices.Reverse(log)
	return append([]ProcessLife{}, lives[max(0, len(lives)-mostProcesses):]...), log
}

func eventText(t *told) string {
	if t.To == "" || t.Reason == "" {
		return t.To + t.Reason
	}
	return t.To + ": " + t.Reason
}
