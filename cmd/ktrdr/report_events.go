package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

const (
	// mostRead bounds how many events one report reads: some seconds.
	mostRead = 500_000
	// mostPauses bounds how many are listed.
	mostPauses = 10
	// clocksApart is how far the clock that an id was made by, or a slow
	// transaction's, may be from the database's.
	clocksApart = 10 * time.Minute
)

// eventLog is what finding a place in the events needs.
type eventLog interface {
	Events(ctx context.Context, q ktrdr.EventQuery) ([]ktrdr.Event, error)
	LastEvent(ctx context.Context) (ktrdr.Cursor, error)
}

// placeBefore finds a place in the events before which all are older than an
// instant. It halves the cursors instead of reading what lies between: their
// order is that of time, but for transactions that overlapped.
func placeBefore(ctx context.Context, log eventLog, at time.Time) (ktrdr.Cursor, error) {
	last, err := log.LastEvent(ctx)
	if err != nil {
		return ktrdr.Cursor{}, err
	}
	cursor := func(n int64) ktrdr.Cursor { return ktrdr.Cursor{Tx: n} }
	high := last.Tx
	if last.Tx == 0 { // a store whose ids alone are the order
		cursor = func(n int64) ktrdr.Cursor { return ktrdr.Cursor{ID: n} }
		high = last.ID
	}
	low := int64(0)
	for low < high {
		middle := low + (high-low)/2
		next, err := log.Events(ctx, ktrdr.EventQuery{After: cursor(middle), Limit: 1})
		if err != nil {
			return ktrdr.Cursor{}, err
		}
		if len(next) == 0 || !next[0].At.Before(at) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return cursor(low), nil
}

// readEvents tells what happened to the machine, and how far back one must look
// for what ended.
func (l *lookback) readEvents(ctx context.Context) error {
	after, err := placeBefore(ctx, l.desk.engine, l.out.From.Add(-clocksApart))
	if err != nil {
		return err
	}
	m := machineLog{machine: &l.out.Machine, from: l.out.From, lost: map[string]bool{}}
	for read := 0; read < mostRead; {
		page, err := l.desk.engine.Events(ctx, ktrdr.EventQuery{After: after, Limit: 1000})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			m.close()
			return nil
		}
		for _, e := range page {
			if after = e.Cursor; e.At.Before(l.out.From) {
				continue
			}
			m.add(e)
			if ended(e.Kind) {
				l.lookBackTo(e.Operation)
			}
		}
		read += len(page)
		if read >= mostRead {
			l.out.Incomplete = append(l.out.Incomplete, fmt.Sprintf("events were read up to %s only: ask for a shorter time", page[len(page)-1].At.UTC().Format(time.RFC3339)))
		}
	}
	m.close()
	return nil
}

// lookBackTo makes sure that an operation is found among the roots. When it was
// created stands in its id.
func (l *lookback) lookBackTo(id ktrdr.OperationID) {
	made := time.Time{} // an id that does not tell: look through all
	if parts := strings.Split(string(id), "_"); len(parts) > 3 {
		if at, err := time.Parse("20060102_150405", strings.Join(parts[len(parts)-3:len(parts)-1], "_")); err == nil {
			made = at.Add(-clocksApart)
		}
	}
	if made.Before(l.oldest) {
		l.oldest = made
	}
}

// machineLog reads events for what they tell of processes.
type machineLog struct {
	machine *httpapi.ReportMachine
	from    time.Time
	lost    map[string]bool // workers

	agents, computers int // pools inside backends that were registered
}

// messageRequeued is how the store says that it took work over from a backend
// that was gone.
const messageRequeued = "Backend restarted - requeued"

func (m *machineLog) add(e ktrdr.Event) {
	var d struct {
		Worker string       `json:"worker_id"`
		Types  []ktrdr.Type `json:"types"`
		Code   ktrdr.Code   `json:"code"`
		Reason string       `json:"reason"`
	}
	_ = json.Unmarshal(e.Data, &d) // what is missing is simply not counted
	switch e.Kind {
	case ktrdr.EventWorkerRegistered:
		m.registered(d.Types)
	case ktrdr.EventFailed:
		m.failed(d.Code, d.Worker)
	case ktrdr.EventReleased:
		switch d.Reason {
		case messageRequeued:
			m.machine.Requeued++
		case ktrdr.MessageReleased:
			m.machine.Released++
		}
	case ktrdr.EventReported:
		m.machine.Reported++
	case ktrdr.EventResumed:
		m.machine.Resumed++
	case ktrdr.EventCheckpointSkipped:
		m.machine.CheckpointsSkipped++
	case ktrdr.EventWriteRefused:
		m.machine.WritesRefused++
	case ktrdr.EventBreaker:
		m.machine.BreakerChanges++
	case ktrdr.EventPaused, ktrdr.EventUnpaused:
		m.paused(e)
	}
}

// registered tells a backend's own workers from others by what they offer: only
// inside a backend are designs made and files loaded.
func (m *machineLog) registered(types []ktrdr.Type) {
	switch {
	case slices.Contains(types, ktrdr.AgentDesign):
		m.agents++
	case slices.Contains(types, ktrdr.DataLoad):
		m.computers++
	default:
		m.machine.WorkersJoined++
	}
}

func (m *machineLog) failed(code ktrdr.Code, worker string) {
	switch code {
	case ktrdr.CodeOrphaned:
		m.machine.Orphaned++
	case ktrdr.CodePoison:
		m.machine.Poisoned++
	case ktrdr.CodeBackendRestart:
		m.machine.Interrupted++
		return
	default:
		return
	}
	if worker != "" {
		m.lost[worker] = true
	}
}

func (m *machineLog) paused(e ktrdr.Event) {
	list := m.machine.Pauses
	open := len(list) > 0 && list[len(list)-1].To.IsZero()
	switch {
	case e.Kind == ktrdr.EventUnpaused && open:
		list[len(list)-1].To = e.At
	case e.Kind == ktrdr.EventUnpaused: // it was so before we looked
		list = append(list, httpapi.ReportPause{From: m.from, To: e.At})
	case !open:
		list = append(list, httpapi.ReportPause{From: e.At})
	}
	m.machine.Pauses = list[max(0, len(list)-mostPauses):]
}

func (m *machineLog) close() {
	m.machine.WorkersLost = len(m.lost)
	m.machine.BackendStarts = max(m.agents, m.computers) // most have both
}
