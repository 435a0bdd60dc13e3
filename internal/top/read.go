package top

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

const (
	mostRows = 200             // that are read of a list
	patience = 5 * time.Second // for an answer
)

// reader reads what is shown, with the public client.
type reader struct {
	ctx context.Context //nolint:containedctx // of the program, which has no other way to pass it
	c   *client.Client
}

// read is a command that reads what a place shows, and how the server is.
func (r reader) read(asked int, at target) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		defer cancel()
		out := loaded{asked: asked}
		out.content, out.summary, out.err = r.load(ctx, at)
		out.at = time.Now()
		return out
	}
}

func (r reader) load(ctx context.Context, at target) (content, string, error) {
	st, err := r.c.ResearchStatus(ctx)
	if err != nil {
		return content{}, "", err
	}
	fleet, err := r.c.Workers(ctx)
	if err != nil {
		return content{}, "", err
	}
	h, err := r.c.Health(ctx)
	if err != nil {
		return content{}, "", err
	}
	c, err := r.contentOf(ctx, at, st, fleet)
	c.read = true
	c.about = text.Map(c.about, term.Plain)
	return c, summary(h, st, fleet), err
}

func summary(h ktrdr.Health, st research.Status, fleet []ktrdr.Worker) string {
	live, busy, slots := 0, 0, 0
	for _, w := range fleet {
		if w.Live {
			live, busy, slots = live+1, busy+w.Running, slots+w.Slots
		}
	}
	said := fmt.Sprintf("%s; %d of %d researches active, %d wait; %s, %d of %d slots busy; up %s", h.Status, st.Capacity.Active,
		st.Capacity.Limit, st.Capacity.Waiting, text.Counted(live, "worker"), busy, slots, term.Seconds(h.UptimeSeconds))
	if h.Paused {
		said = "PAUSED; " + said
	}
	return said
}

func (r reader) contentOf(ctx context.Context, at target, st research.Status, fleet []ktrdr.Worker) (content, error) {
	switch at.kind {
	case runs:
		page, err := r.c.Runs(ctx, ktrdr.RunQuery{Limit: mostRows})
		return runsContent(page.Runs), err
	case researches:
		return researchesContent(st), nil
	case workers:
		return workersContent(fleet), nil
	case breakers:
		all, err := r.c.Breakers(ctx)
		return breakersContent(all), err
	case oneRun:
		return r.run(ctx, at.id)
	case oneOperation:
		return r.operation(ctx, ktrdr.OperationID(at.id))
	case oneWorker:
		return r.worker(ctx, at.id, fleet)
	case oneBreaker:
		history, err := r.c.BreakerHistory(ctx, at.id, mostRows)
		return historyContent(history), err
	case logs: // the model has the events
	}
	return content{}, nil
}

func runsContent(list []ktrdr.Run) content {
	c := content{
		head:  []string{"RUN", "STATE", "DONE", "CLAIMS", "FAILED", "PRICES", "CREATED", "GOAL"},
		empty: "No run yet. Start one with `ktrdr research \"a goal\"`.",
	}
	for _, r := range list {
		done := fmt.Sprintf("%d/%d", r.Ended(), max(r.Planned, r.Created))
		c.rows = append(c.rows, rowOf(target{oneRun, r.ID}, ktrdr.ShortRun(r.ID), string(r.State), done,
			fmt.Sprint(r.Claims), fmt.Sprint(r.Failed), term.Prices(r.MadeUp), term.Ago(r.CreatedAt), term.Dash(r.Goal)))
	}
	return c
}

func researchesContent(st research.Status) content {
	c := content{
		head:  []string{"RESEARCH", "PHASE", "PROGRESS", "FOR", "STRATEGY", "WORKER", "GOAL"},
		empty: "No research is active. Start one with `ktrdr research \"a goal\"`.",
	}
	for _, r := range st.Active {
		phase := string(r.Phase)
		if r.Status == ktrdr.Pending {
			phase = "waits"
		}
		c.rows = append(c.rows, rowOf(target{oneOperation, string(r.Operation)}, r.Operation.Tail(), phase,
			fmt.Sprintf("%.0f%%", 100*view.PartOf(r)), term.Seconds(r.Seconds), term.Dash(r.Strategy), term.Dash(r.Worker), term.Dash(r.Brief)))
	}
	return c
}

func workersContent(fleet []ktrdr.Worker) content {
	c := content{
		head:  []string{"WORKER", "NAME", "LIVE", "BUSY", "SEEN", "WHERE", "TYPES"},
		empty: "No worker. Start one with `ktrdr worker`, or a backend with `ktrdr serve --workers 2`.",
	}
	for _, w := range fleet {
		where := fmt.Sprintf("%s pid %d", term.Dash(w.Host), w.PID)
		if w.HeldBy != "" {
			where = "in a backend"
		}
		live := "yes"
		if !w.Live {
			live = "no"
		}
		c.rows = append(c.rows, rowOf(target{oneWorker, string(w.ID)}, string(w.ID), term.Dash(w.Name), live,
			fmt.Sprintf("%d/%d", w.Running, w.Slots), term.Ago(w.SeenAt), where, strings.Join(text.Strings(w.Types), ",")))
	}
	return c
}

func breakersContent(all []resilience.Status) content {
	c := content{
		head:  []string{"NAME", "STATE", "CALLS", "FAILED", "REFUSED", "LAST TRIP", "DECISION"},
		empty: "No circuit breaker yet: each appears with its first call.",
	}
	for _, b := range all {
		state, decision := string(b.State), "-"
		switch {
		case !b.Enabled:
			state += " (disabled)"
		case b.Forced != "":
			state = string(b.Forced) + " (forced)"
		case b.Held:
			state += " (waits for a person)"
		}
		if b.By != "" {
			decision = b.By + ": " + b.Reason
		}
		c.rows = append(c.rows, rowOf(target{oneBreaker, b.Name}, b.Name, state, fmt.Sprint(b.Calls), fmt.Sprint(b.Failures),
			fmt.Sprint(b.Refused), term.Dash(b.Trip), decision))
	}
	return c
}

func historyContent(history []ktrdr.BreakerChange) content {
	c := content{head: []string{"AT", "FROM", "TO", "BY", "REASON"}, empty: "It has not changed yet."}
	for _, b := range history {
		c.rows = append(c.rows, rowOf(target{}, b.At.Local().Format(time.DateTime), string(b.From), string(b.To), term.Dash(b.By), b.Reason))
	}
	return c
}

func (r reader) run(ctx context.Context, id string) (content, error) {
	run, err := r.c.Run(ctx, id)
	if err != nil {
		return content{}, err
	}
	page, err := r.c.List(ctx, ktrdr.OperationQuery{Run: run.ID, Roots: true, Limit: mostRows})
	if err != nil {
		return content{}, err
	}
	c := operationsContent(page.Operations)
	c.about = linesOf(func(b *bytes.Buffer) { view.Run(b, run) })
	c.empty = "No research of it yet."
	return c, nil
}

func (r reader) operation(ctx context.Context, id ktrdr.OperationID) (content, error) {
	op, err := r.c.Operation(ctx, id)
	if err != nil {
		return content{}, err
	}
	about := linesOf(func(b *bytes.Buffer) { view.Operation(b, false, op) })
	if op.HasPlan {
		page, err := r.c.List(ctx, ktrdr.OperationQuery{Parent: id, Limit: mostRows})
		if err != nil {
			return content{}, err
		}
		c := operationsContent(page.Operations)
		c.about, c.empty = about, "No operation below it yet."
		return c, nil
	}
	events, _, err := r.c.OperationEvents(ctx, id, "")
	c := content{about: about, head: []string{"TIME", "EVENT"}, empty: "No event yet."}
	for _, e := range slices.Backward(events) {
		at, story, _ := cutTime(view.Timed(e))
		c.rows = append(c.rows, rowOf(target{}, at, story))
	}
	return c, err
}

func (r reader) worker(ctx context.Context, id string, fleet []ktrdr.Worker) (content, error) {
	page, err := r.c.List(ctx, ktrdr.OperationQuery{ActiveOnly: true, Limit: mostRows})
	c := operationsContent(slices.DeleteFunc(page.Operations, func(op ktrdr.Operation) bool { return string(op.Worker) != id }))
	c.empty = "It runs no operation now."
	for _, w := range fleet {
		if string(w.ID) == id {
			c.about = []string{fmt.Sprintf("%s %s on %s, pid %d, version %s, %d of %d slots busy, seen %s", w.ID, w.Name, term.Dash(w.Host), w.PID,
				term.Dash(w.Version), w.Running, w.Slots, term.Ago(w.SeenAt))}
		}
	}
	return c, err
}

// operationsContent lists operations; what is active comes first.
func operationsContent(ops []ktrdr.Operation) content {
	c := content{head: []string{"OPERATION", "STATUS", "PROGRESS", "CREATED", "NOTE"}}
	ended := func(op ktrdr.Operation) int {
		if op.Status.Terminal() {
			return 1
		}
		return 0
	}
	list := slices.Clone(ops)
	slices.SortStableFunc(list, func(a, b ktrdr.Operation) int { return cmp.Compare(ended(a), ended(b)) })
	for _, op := range list {
		c.rows = append(c.rows, rowOf(target{oneOperation, string(op.ID)}, view.Short(op), string(op.Status),
			fmt.Sprintf("%.0f%%", view.Percent(op)), term.Ago(op.CreatedAt),
			cmp.Or(view.Note(op), strings.ReplaceAll(op.Rung, "_", " "))))
	}
	return c
}

// linesOf are the lines that a function prints.
func linesOf(write func(*bytes.Buffer)) []string {
	var b bytes.Buffer
	write(&b)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}
