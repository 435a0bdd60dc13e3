package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

const followHelp = `Follow a run or an operation to its end. Of a run: its counts, and the phases of
the researches that are active. Of an operation: its events and, on a terminal, a
live bar for it and each of its children. The exit code is the result: 0
COMPLETED, 1 FAILED, 3 CANCELLED; of a run, 1 if a research failed. A backend that
restarts meanwhile is waited for. Ctrl-C stops the watching, not the work.`

func newFollow(a *app) *cobra.Command {
	cmd := a.onRunOrOperation("follow", "Follow a run or an operation to its end; the exit code is its result",
		func(ctx context.Context, c *httpapi.Client, run ktrdr.Run) error { return a.followRun(ctx, c, run.ID) }, a.follow)
	cmd.Long = followHelp
	return cmd
}

// patience is how long a follower waits for a server that is out of reach.
const patience = 10 * time.Minute

// follower watches one operation.
type follower struct {
	a      *app
	c      *httpapi.Client
	id     ktrdr.OperationID
	screen *screen // nil when nothing can be redrawn

	op       ktrdr.Operation
	children []ktrdr.Operation
	told     map[ktrdr.OperationID]ktrdr.Status // of children, where lines are printed
	tenths   int                                // of the progress last printed as a line
	away     time.Time                          // since when the server is out of reach
}

// follow shows an operation until it has ended and returns its outcome as an
// exit code.
func (a *app) follow(ctx context.Context, c *httpapi.Client, id ktrdr.OperationID) error {
	f := &follower{a: a, c: c, id: id, told: map[ktrdr.OperationID]ktrdr.Status{}}
	if terminal(a.out) && !a.json {
		f.screen = &screen{w: a.out}
	}
	if err := f.look(ctx); err != nil {
		return err
	}
	if err := f.watch(ctx); err != nil {
		if errors.Is(context.Cause(ctx), errStopped) && !a.json {
			fmt.Fprintf(a.err, "The operation goes on. Watch it again with `ktrdr follow %s`.\n", id)
		}
		return err
	}
	return f.outcome()
}

// watch prints what happens until the operation has ended. Events tell the
// story; looking at the row tells the progress, and the end.
func (f *follower) watch(ctx context.Context) error {
	streaming, stop := context.WithCancel(ctx)
	events := make(chan ktrdr.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range f.c.FollowEvents(streaming, f.id, ktrdr.Cursor{}) {
			if err != nil {
				continue // it reconnects by itself, and the row tells the rest
			}
			select {
			case events <- e:
			case <-streaming.Done():
				return
			}
		}
	}()
	defer func() { stop(); <-done }()

	tick := time.NewTicker(f.pace())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-events:
			f.tell(e)
			if ended(e.Kind) {
				// an earlier end, which was resumed from, is not the last
				if err := f.look(ctx); err == nil && f.op.Status.Terminal() && e.Epoch == f.op.Epoch {
					return nil
				}
			}
		case <-tick.C:
			if err := f.lookAgain(ctx); err != nil {
				return err
			}
			if f.op.Status.Terminal() {
				return f.lastWords(ctx, events)
			}
		}
	}
}

// lastWords gives the closing event, which was committed before the row was
// seen, a moment to arrive.
func (f *follower) lastWords(ctx context.Context, events <-chan ktrdr.Event) error {
	late := time.NewTimer(time.Second)
	defer late.Stop()
	for {
		select {
		case e := <-events:
			f.tell(e)
			if ended(e.Kind) && e.Epoch == f.op.Epoch {
				return nil
			}
		case <-late.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func ended(k ktrdr.EventKind) bool {
	return k == ktrdr.EventCompleted || k == ktrdr.EventFailed || k == ktrdr.EventCancelled
}

// pace is how often the row is looked at.
func (f *follower) pace() time.Duration {
	if f.screen != nil {
		return 250 * time.Millisecond
	}
	return time.Second
}

// lookAgain looks at the row, and bears with a server that is out of reach.
func (f *follower) lookAgain(ctx context.Context) error {
	err := f.look(ctx)
	switch {
	case err == nil:
		f.away = time.Time{}
		return nil
	case ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || ctx.Err() != nil:
		return err
	case f.away.IsZero():
		f.away = time.Now()
		if !f.a.json {
			fmt.Fprintln(f.a.err, "The server is out of reach; waiting for it.")
		}
	case time.Since(f.away) > patience:
		return err
	}
	return nil
}

// look reads the operation and its children and shows them.
func (f *follower) look(ctx context.Context) error {
	op, err := f.c.Operation(ctx, f.id)
	if err != nil {
		return err
	}
	f.op = op
	if op.HasPlan {
		page, err := f.c.List(ctx, ktrdr.OperationQuery{Parent: f.id, Limit: 100})
		if err != nil {
			return err
		}
		f.children = page.Operations
	}
	f.show()
	return nil
}

// tell prints an event.
func (f *follower) tell(e ktrdr.Event) {
	switch {
	case f.a.json:
		_ = json.NewEncoder(jsonLines{f.a.out}).Encode(eventLine{e.Cursor.String(), e})
	case f.screen != nil:
		f.screen.above(stamped(e))
		f.show()
	default:
		fmt.Fprintln(f.a.out, stamped(e))
	}
}

// show draws the bars, or prints what changed as lines.
func (f *follower) show() {
	if f.a.json {
		return
	}
	if f.screen != nil {
		f.screen.draw(f.bars())
		return
	}
	if tenths := int(percent(f.op) / 10); tenths > f.tenths && !f.op.Status.Terminal() {
		f.tenths = tenths
		fmt.Fprintf(f.a.out, "%s  %s  %.0f%%  %s\n", time.Now().Format(time.TimeOnly), f.op.ID, percent(f.op), plain(progressText(f.op.Progress)))
	}
	for _, child := range f.children {
		if f.told[child.ID] != child.Status {
			f.told[child.ID] = child.Status
			fmt.Fprintf(f.a.out, "%s    %s  %s  %s\n", becameAt(child).Local().Format(time.TimeOnly), child.ID, child.Status, plain(note(child)))
		}
	}
}

// becameAt is when an operation took the status that it has.
func becameAt(op ktrdr.Operation) time.Time {
	switch {
	case op.Status.Terminal() && !op.CompletedAt.IsZero():
		return op.CompletedAt
	case op.Status != ktrdr.Pending && !op.StartedAt.IsZero():
		return op.StartedAt
	}
	return op.CreatedAt
}

func (f *follower) bars() []string {
	p := f.a.palette()
	line := func(indent string, op ktrdr.Operation) string {
		return fmt.Sprintf("%s%s %s %3.0f%% %s %s", indent, short(op), bar(percent(op)/100, 20), percent(op), p.status(op.Status), p.dim(plain(note(op))))
	}
	lines := []string{line("", f.op)}
	for _, ended := range []bool{false, true} { // what is active is never cut off
		for _, child := range f.children {
			if child.Status.Terminal() == ended {
				lines = append(lines, line("  ", child))
			}
		}
	}
	return lines
}

// outcome prints the end and makes it an exit code.
func (f *follower) outcome() error {
	op, a := f.op, f.a
	if a.json {
		_ = a.line(op)
	} else {
		took := op.CompletedAt.Sub(op.StartedAt)
		if op.StartedAt.IsZero() {
			took = 0
		}
		fmt.Fprintf(a.out, "%s %s after %s", op.ID, a.palette().status(op.Status), brief(took))
		if n := note(op); n != "" {
			fmt.Fprintf(a.out, ": %s", plain(n))
		}
		if said := summary(op.Result); said != "" {
			fmt.Fprintf(a.out, "\n%s\nSee `ktrdr results %s`.", plain(said), op.ID)
		} else if said := resultWords(op.Result); said != "" {
			fmt.Fprintf(a.out, ": %s", plain(said))
		}
		fmt.Fprintln(a.out)
	}
	//exhaustive:enforce
	switch op.Status {
	case ktrdr.Completed:
		return nil
	case ktrdr.Cancelled:
		return &exitError{code: exitCancelled}
	case ktrdr.Failed, ktrdr.Pending, ktrdr.Running, ktrdr.Reconciling:
	}
	return &exitError{code: exitFailed}
}
