package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// Operation prints what there is to know of an operation, and the next command.
func Operation(w io.Writer, p term.Palette, op ktrdr.Operation) {
	line := func(name string, value any) { term.Field(w, name, "%v", value) }
	fmt.Fprintf(w, "%s  %s  %.0f%%\n", op.ID, p.Status(op.Status), Percent(op))
	if op.Parent != "" {
		line("parent", op.Parent)
	}
	if op.RetryOf != "" {
		line("retry of", op.RetryOf)
	}
	if n := Note(op); n != "" {
		line("note", n)
	}
	line("epoch", fmt.Sprintf("%d after %s, worker %s", op.Epoch, text.Counted(op.Attempts, "attempt"), term.Dash(string(op.Worker))))
	line("created", term.When(op.CreatedAt))
	line("started", term.When(op.StartedAt))
	if !op.Status.Terminal() {
		line("heartbeat", term.When(op.HeartbeatAt))
	} else {
		line("ended", term.When(op.CompletedAt))
	}
	if c := op.Checkpoint; c != nil {
		line("checkpoint", fmt.Sprintf("%s %s at step %d, %s, %s", c.ID, c.Type, c.Step, term.Bytes(c.Size), term.Ago(c.CreatedAt)))
	}
	if op.Error != nil {
		line("error", fmt.Sprintf("%s (%s, %s)", op.Error.Code, op.Error.Class, op.Error.Severity))
		for _, cause := range op.Error.Chain {
			line("", cause)
		}
	}
	if said := cmp.Or(Summary(op.Result), ResultWords(op.Result)); said != "" {
		line("result", said)
	}
	if madeUp, known := madeUpOf(op); known {
		line("prices", term.Prices(madeUp))
	}
	switch {
	case Summary(op.Result) != "":
		fmt.Fprintf(w, "See `ktrdr results %s`.\n", op.ID)
	case (op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled) && op.Checkpoint != nil:
		fmt.Fprintf(w, "Continue it with `ktrdr resume %s`.\n", op.ID)
	case op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled:
		fmt.Fprintf(w, "Start it over with `ktrdr retry %s`.\n", op.ID)
	case !op.Status.Terminal():
		fmt.Fprintf(w, "Watch it with `ktrdr follow %s`.\n", op.ID)
	}
}

// Slots prints how busy the live workers are, each slot once: health counts
// it for every type that it can run.
func Slots(w io.Writer, workers []ktrdr.Worker) {
	live, shared := 0, map[string]ktrdr.WorkerSlots{} // by the types that share them
	for _, wk := range workers {
		if !wk.Live {
			continue
		}
		live++
		name := text.Join(slices.Sorted(slices.Values(wk.Types)))
		s := shared[name]
		s.Busy += wk.Running
		s.Total += wk.Slots
		shared[name] = s
	}
	fmt.Fprintf(w, "workers: %d live", live)
	for _, types := range slices.Sorted(maps.Keys(shared)) {
		fmt.Fprintf(w, "; %s: %d of %d slots busy", types, shared[types].Busy, shared[types].Total)
	}
	fmt.Fprintln(w)
}

// Short is an operation where there is no room for its id: commands take the
// last word of it.
func Short(op ktrdr.Operation) string { return string(op.Type) + " " + op.ID.Tail() }

// Percent is how far an operation is.
func Percent(op ktrdr.Operation) float64 {
	if op.Status == ktrdr.Completed {
		return 100
	}
	return min(max(op.Progress.Percentage, 0), 100)
}

// Operations prints operations as a table.
func Operations(w io.Writer, ops []ktrdr.Operation) {
	term.Table(w, "OPERATION\tSTATUS\tPROGRESS\tATTEMPTS\tWORKER\tCREATED\tNOTE", ops, func(op ktrdr.Operation) []any {
		id := string(op.ID)
		if term.IsTerminal(w) && term.Width(w) < term.FullIDsAbove {
			id = Short(op)
		}
		return []any{
			id, op.Status, fmt.Sprintf("%.0f%%", Percent(op)), op.Attempts, term.Dash(string(op.Worker)), term.Ago(op.CreatedAt), Note(op),
		}
	})
}

// Note is the one thing to know about an operation besides its status.
func Note(op ktrdr.Operation) string { return noteWith(op, ProgressText) }

// noteWith is Note with the progress in other words.
func noteWith(op ktrdr.Operation, progress func(ktrdr.Progress) string) string {
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
	return progress(op.Progress)
}

// ProgressText is where the work stands: the step and, of a training or a
// backtest, its figures, how fast it is and when it will be done.
func ProgressText(p ktrdr.Progress) string {
	if left := timeLeft(p); left > 0 {
		return progressFigures(p) + ", " + term.Brief(left) + " left"
	}
	return progressFigures(p)
}

// timeLeft is how long work still takes by its own account; 0: not known.
func timeLeft(p ktrdr.Progress) time.Duration {
	var f jobs.ProgressContext
	if json.Unmarshal(p.Context, &f) != nil || p.Percentage >= 100 {
		return 0
	}
	return time.Duration(f.ETASeconds * float64(time.Second))
}

// progressFigures is ProgressText without the time that is left.
func progressFigures(p ktrdr.Progress) string {
	var f jobs.ProgressContext
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
	return strings.Join(parts, ", ")
}

// madeUpOf says of the bars that an operation was created with whether they were made
// up; known is false where it reads no bars.
func madeUpOf(op ktrdr.Operation) (madeUp *bool, known bool) {
	var spec struct {
		Bars   []jobs.Bars `json:"bars"`
		MadeUp *bool       `json:"made_up"` // of an assessment, which reads figures
	}
	if json.Unmarshal(op.Spec, &spec) != nil || len(spec.Bars) == 0 && spec.MadeUp == nil {
		return nil, false
	}
	if spec.MadeUp != nil {
		return spec.MadeUp, true
	}
	return jobs.AnyMadeUp(spec.Bars), true
}
