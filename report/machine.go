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
	for _, c := range counts.Events {
		switch c.Kind {
		case ktrdr.EventBackendStarted:
			m.BackendStarts += c.N
		case ktrdr.EventBackendDied:
			m.BackendDeaths += c.N
		case ktrdr.EventWorkerRegistered:
			if c.HeldBy == "" { // a backend's own workers start with it
				m.WorkersJoined += c.N
			}
		case ktrdr.EventWorkerLeft:
			if c.HeldBy == "" {
				m.WorkersLeft += c.N
			}
		case ktrdr.EventWorkerLost:
			m.WorkersLost += c.N
		case ktrdr.EventFailed:
			switch c.Code {
			case ktrdr.CodeOrphaned:
				m.Orphaned += c.N
			case ktrdr.CodePoison:
				m.Poisoned += c.N
			case ktrdr.CodeBackendRestart:
				m.Interrupted += c.N
			}
		case ktrdr.EventReleased:
			switch c.By {
			case ktrdr.ReleasedByRecovery:
				m.Requeued += c.N
			case ktrdr.ReleasedByWorker:
				m.Released += c.N
			}
		case ktrdr.EventReported:
			m.Reported += c.N
		case ktrdr.EventResumed:
			m.Resumed += c.N
		case ktrdr.EventCheckpointSkipped:
			m.CheckpointsSkipped += c.N
		case ktrdr.EventWriteRefused:
			m.WritesRefused += c.N
		case ktrdr.EventBreaker:
			m.BreakerChanges += c.N
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
