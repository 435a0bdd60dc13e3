package report

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
)

const mostPauses = 10

func (l *lookback) readMachine(ctx context.Context) error {
	counts, err := l.engine.MachineSince(ctx, l.out.From)
	if err != nil {
		return err
	}
	l.out.Machine = MachineOf(counts, l.out.From)
	return nil
}

// MachineOf puts the counts of events into the words of a report.
func MachineOf(counts ktrdr.MachineCounts, from time.Time) Machine {
	m := Machine{Pauses: pausesOf(counts.Pauses, from)}
	m.Processes, m.Log = processesOf(counts.Newest, from)
	kinds := map[ktrdr.EventKind]*int{
		ktrdr.EventBackendStarted: &m.BackendStarts, ktrdr.EventBackendDied: &m.BackendDeaths, ktrdr.EventWorkerLost: &m.WorkersLost,
		ktrdr.EventReported: &m.Reported, ktrdr.EventResumed: &m.Resumed, ktrdr.EventCheckpointSkipped: &m.CheckpointsSkipped,
		ktrdr.EventWriteRefused: &m.WritesRefused, ktrdr.EventBreaker: &m.BreakerChanges,
	}
	codes := map[ktrdr.Code]*int{
		ktrdr.CodeOrphaned: &m.Orphaned, ktrdr.CodePoison: &m.Poisoned, ktrdr.CodeBackendRestart: &m.Interrupted,
	}
	releases := map[string]*int{ktrdr.ReleasedByRecovery: &m.Requeued, ktrdr.ReleasedByWorker: &m.Released}
	processes := map[ktrdr.EventKind]*int{ktrdr.EventWorkerRegistered: &m.WorkersJoined, ktrdr.EventWorkerLeft: &m.WorkersLeft}
	for _, c := range counts.Events {
		n := kinds[c.Kind]
		switch {
		case c.Kind == ktrdr.EventFailed:
			n = codes[c.Code]
		case c.Kind == ktrdr.EventReleased:
			n = releases[c.By]
		case n == nil && c.HeldBy == "": // a backend's own workers start and stop with it
			n = processes[c.Kind]
		}
		if n != nil {
			*n += c.N
		}
	}
	return m
}

func pausesOf(events []ktrdr.Event, from time.Time) (list []Pause) {
	for _, e := range events {
		open := len(list) > 0 && list[len(list)-1].To.IsZero()
		switch {
		case e.Kind == ktrdr.EventUnpaused && open:
			list[len(list)-1].To = e.At
		case e.Kind == ktrdr.EventUnpaused: // it began before the first event that is known
			list = append(list, Pause{From: from, To: e.At})
		case !open:
			list = append(list, Pause{From: e.At})
		}
	}
	return list[max(0, len(list)-mostPauses):]
}
