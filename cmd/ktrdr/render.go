package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// percent is how far an operation is.
func percent(op ktrdr.Operation) float64 {
	if op.Status == ktrdr.Completed {
		return 100
	}
	return min(max(op.Progress.Percentage, 0), 100)
}

// listed prints operations as a table.
func listed(w io.Writer, ops []ktrdr.Operation) {
	term.Table(w, "OPERATION\tSTATUS\tPROGRESS\tATTEMPTS\tWORKER\tCREATED\tNOTE", func(row func(...any)) {
		for _, op := range ops {
			id := string(op.ID)
			if term.IsTerminal(w) && term.Width(w) < term.FullIDsAbove {
				id = short(op)
			}
			row(id, op.Status, fmt.Sprintf("%.0f%%", percent(op)), op.Attempts, term.Dash(string(op.Worker)), term.Ago(op.CreatedAt), note(op))
		}
	})
}

// note is the one thing to know about an operation besides its status.
func note(op ktrdr.Operation) string {
	switch {
	case op.ErrorMessage != "":
		return op.ErrorMessage
	case op.Unschedulable != "":
		return op.Unschedulable
	case op.Status.Terminal():
		return ""
	case !op.NotBefore.IsZero():
		return "waits until " + op.NotBefore.Local().Format(time.DateTime) + ", for another " + term.Brief(time.Until(op.NotBefore))
	case op.CancelRequested:
		return "cancel requested"
	case op.StalledSeconds > 0:
		return "has not moved for " + term.Brief(time.Duration(op.StalledSeconds*float64(time.Second)))
	case op.Phase != "":
		return op.Phase
	}
	return progressText(op.Progress)
}

// progressText is where the work stands: the step and, of a training or a
// backtest, its figures, how fast it is and when it will be done.
func progressText(p ktrdr.Progress) string {
	var f jobs.Figures
	if json.Unmarshal(p.Context, &f) != nil { // another kind of work
		return p.CurrentStep
	}
	parts := []string{p.CurrentStep}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if f.Loss != nil {
		add("loss %.4f", *f.Loss)
	}
	if f.ValLoss != nil {
		add("validation %.4f", *f.ValLoss)
	}
	if f.Trades > 0 {
		add("%s", text.Counted(f.Trades, "trade"))
	}
	if f.RowsPerSecond > 0 {
		add("%s rows/s", term.Thousands(f.RowsPerSecond))
	}
	if f.BarsPerSecond > 0 {
		add("%s bars/s", term.Thousands(f.BarsPerSecond))
	}
	if f.ETASeconds > 0 && p.Percentage < 100 {
		add("%s left", term.Brief(time.Duration(f.ETASeconds*float64(time.Second))))
	}
	return strings.Join(parts, ", ")
}

// story tells an event as a line.
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
		text = fmt.Sprintf("its worker reported; it goes on (epoch %d)", e.Epoch)
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

// stamped puts the time, and for which operation, before an event's story.
func stamped(e ktrdr.Event) string {
	who := ""
	if e.Operation != "" {
		who = "  " + string(e.Operation)
	}
	return e.At.Local().Format(time.TimeOnly) + who + "  " + story(e)
}
