package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// mostEventPages bounds how many events a eventLog reads.
const mostEventPages = 10

// readTimeline reads what happened to an operation. Checkpoints in a row are one
// entry.
func (p *Pages) readTimeline(ctx context.Context, id ktrdr.OperationID, names map[ktrdr.WorkerID]string) ([]happened, error) {
	var t eventLog
	after := ""
	for range mostEventPages {
		events, next, err := p.lab.OperationEvents(ctx, id, after)
		if err != nil {
			return nil, err
		}
		for i := range events {
			t.add(&events[i], names)
		}
		if len(events) == 0 || next == "" || next == after {
			break
		}
		after = next
	}
	return t.list, nil
}

type eventLog struct {
	list        []happened
	checkpoints int // in a row, at the end of the list
}

func (t *eventLog) add(e *ktrdr.Event, names map[ktrdr.WorkerID]string) {
	h := tell(e, names)
	if e.Kind != ktrdr.EventCheckpoint {
		t.checkpoints = 0
		t.list = append(t.list, h)
		return
	}
	if t.checkpoints++; t.checkpoints == 1 {
		t.list = append(t.list, h)
		return
	}
	h.What = plural(t.checkpoints, "checkpoint")
	h.Note = "newest: " + h.Note
	t.list[len(t.list)-1] = h
}

// tell says what an event means.
func tell(e *ktrdr.Event, names map[ktrdr.WorkerID]string) happened {
	var d struct {
		Worker   ktrdr.WorkerID `json:"worker_id"`
		Attempts int            `json:"attempts"`
		To       string         `json:"to"`
		Reason   string         `json:"reason"`
		Message  string         `json:"error_message"`
		Step     int64          `json:"step"`
		Size     int64          `json:"size_bytes"`
		ByHand   bool           `json:"by_hand"`
		Input    string         `json:"input"`
		Given    int64          `json:"given"`
	}
	_ = json.Unmarshal(e.Data, &d) // what is missing is not told
	h := happened{At: e.At, What: capital(strings.ReplaceAll(string(e.Kind), "_", " "))}
	switch e.Kind {
	case ktrdr.EventClaimed:
		h.Note = fmt.Sprintf("attempt %d", d.Attempts)
		if d.Worker != "" {
			h.Note += ", " + nameOf(d.Worker, names)
		}
	case ktrdr.EventCheckpoint:
		h.What, h.Note = "1 checkpoint", fmt.Sprintf("step %s, %s", count(int(d.Step)), size(d.Size))
	case ktrdr.EventCheckpointSkipped:
		h.What, h.Note = "A checkpoint could not be used", d.Reason
		if d.ByHand {
			h.What = "An older checkpoint was chosen"
		}
	case ktrdr.EventFailed, ktrdr.EventCancelled:
		h.Note = d.Message
	case ktrdr.EventReleased:
		h.What, h.Note = "Given back", d.Reason
	case ktrdr.EventCancelRequested:
		h.What, h.Note = "Cancel requested", d.Reason
	case ktrdr.EventPhase:
		h.What, h.Note = "Phase", strings.ToLower(d.To)
	case ktrdr.EventReconciling:
		h.What, h.Note = "Waits for its worker", "the backend restarted"
	case ktrdr.EventReported:
		h.What, h.Note = "Its worker reported", "it continues"
	case ktrdr.EventWriteRefused:
		h.What, h.Note = "A write was refused", fmt.Sprintf("%s of an attempt that is over (epoch %d)", d.Input, d.Given)
	}
	return h
}
