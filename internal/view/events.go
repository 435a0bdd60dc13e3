package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
)

func story(e ktrdr.Event) string {
	var d struct {
		Worker   string `json:"worker_id"`
		Attempts int    `json:"attempts"`
		To       string `json:"to"`
		Reason   string `json:"reason"`
		Message  string `json:"error_message"`
		ID       string `json:"checkpoint_id"`
		Type     string `json:"checkpoint_type"`
		Step     int64  `json:"step"`
		ByHand   bool   `json:"by_hand"`
		Input    string `json:"input"`
		Given    int64  `json:"given"`
		Name     string `json:"name"`
		Backend  string `json:"backend_id"`
		Host     string `json:"host"`
		PID      int    `json:"pid"`

		Run        string `json:"run"`
		By         string `json:"by"`
		State      string `json:"state"`
		Generation int    `json:"generation"`
	}
	_ = json.Unmarshal(e.Data, &d) // what is missing is simply not told
	text := string(e.Kind)
	switch e.Kind {
	case ktrdr.EventClaimed:
		text = fmt.Sprintf("claimed by %s (epoch %d)", d.Worker, e.Epoch)
		if d.Worker == "" {
			text = "moved by its plan from now on"
		}
	case ktrdr.EventCheckpoint:
		text = fmt.Sprintf("checkpoint %s at step %d", d.Type, d.Step)
	case ktrdr.EventCheckpointSkipped:
		text = fmt.Sprintf("checkpoint %s could not be used: %s", d.ID, d.Reason)
		if d.ByHand {
			text = fmt.Sprintf("checkpoint %s: %s", d.ID, d.Reason)
		}
	case ktrdr.EventFailed, ktrdr.EventCancelled:
		text += ": " + d.Message
	case ktrdr.EventReleased, ktrdr.EventCancelRequested:
		if d.Reason != "" {
			text += ": " + d.Reason
		}
	case ktrdr.EventPhase:
		text = "phase " + d.To
	case ktrdr.EventReconciling:
		text = "backend restarted; waiting for its worker to report"
	case ktrdr.EventReported:
		text = fmt.Sprintf("its worker reported; running again (epoch %d)", e.Epoch)
	case ktrdr.EventWriteRefused:
		text = fmt.Sprintf("%s from old epoch %d refused", d.Input, d.Given)
	case ktrdr.EventWorkerRegistered, ktrdr.EventWorkerLeft, ktrdr.EventWorkerLost, ktrdr.EventWorkerReturned:
		text = strings.ReplaceAll(text, "_", " ") + ": " + processText(d.Worker, d.Name, d.Host, d.PID)
	case ktrdr.EventBackendStarted, ktrdr.EventBackendStopped, ktrdr.EventBackendDied:
		text = strings.ReplaceAll(text, "_", " ") + ": " + processText(d.Backend, "", d.Host, d.PID)
	case ktrdr.EventRunCancelled:
		text = fmt.Sprintf("%s cancelled by %s: %s", d.Run, d.By, d.Reason)
	case ktrdr.EventRunGivenUp:
		text = d.Run + " given up: " + d.Reason
	case ktrdr.EventRunEnded:
		text = d.Run + " ended: " + d.State
	case ktrdr.EventGenerationClosed:
		text = fmt.Sprintf("%s: generation %d is closed", d.Run, d.Generation)
	}
	return term.Plain(strings.TrimRight(text, ": "))
}

// processText names a worker or a backend, and where it runs.
func processText(id, name, host string, pid int) string {
	text := id
	if name != "" {
		text += " " + name
	}
	if pid != 0 {
		text += fmt.Sprintf(" (pid %d on %s)", pid, term.Dash(host))
	}
	return text
}

// Stamped puts the time, and for which operation, before an event's story.
func Stamped(e ktrdr.Event) string {
	who := ""
	if e.Operation != "" {
		who = "  " + string(e.Operation)
	}
	return e.At.Local().Format(time.TimeOnly) + who + "  " + story(e)
}

// Timed puts the time before an event's story, where its operation is known.
func Timed(e ktrdr.Event) string {
	e.Operation = ""
	return Stamped(e)
}
