package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

const followHelp = `Follow a run or an operation to its end. A run shows its counts and the phases of its
active researches. An operation shows its events and, on a terminal, a progress bar for
it and each of its children. The exit code is the result: 0 COMPLETED, 1 FAILED,
3 CANCELLED; for a run, 1 if a research failed. If the backend restarts, follow waits
for it. Ctrl-C stops following, not the work.`

func newFollow(a *app) *cobra.Command {
	cmd := a.onRunOrOperation("follow", "Follow a run or an operation to its end; the exit code is its result",
		func(ctx context.Context, c *client.Client, run ktrdr.Run) error { return a.followRun(ctx, c, run.ID) }, a.follow)
	cmd.Long = followHelp
	return cmd
}

// follower watches one operation.
type follower struct {
	watcher

	id       ktrdr.OperationID
	op       ktrdr.Operation
	children []ktrdr.Operation
	told     map[ktrdr.OperationID]ktrdr.Status // of children, where lines are printed
	tenths   int                                // of the progress last printed as a line
	over     time.Time                          // since when it is known to have ended
}

// follow shows an operation until it has ended and returns its outcome as an
// exit code.
func (a *app) follow(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
	f := &follower{watcher: newWatcher(a, c), id: id, told: map[ktrdr.OperationID]ktrdr.Status{}}
	if err := f.look(ctx); err != nil {
		return err
	}
	if err := f.watch(ctx); err != nil {
		f.stopped(ctx, "operation", string(id))
		return err
	}
	return f.outcome()
}

// watch prints what happens until the operation has ended. Events tell the
// story; looking at the row tells the progress, and the end.
func (f *follower) watch(ctx context.Context) error {
	return watch(ctx, f.pace(), f.events, func(e ktrdr.Event) (bool, error) {
		f.tell(e)
		if !ended(e.Kind) {
			return false, nil
		}
		seen := !f.over.IsZero() || f.look(ctx) == nil
		// An earlier end, which was resumed from, is not the last.
		return seen && f.op.Status.Terminal() && e.Epoch == f.op.Epoch, nil
	}, func() (bool, error) {
		if f.over.IsZero() {
			if err := f.reached(ctx, f.look(ctx)); err != nil || !f.op.Status.Terminal() {
				return false, err
			}
			f.over = time.Now() // the closing event was committed before; it gets a moment to arrive
		}
		return time.Since(f.over) >= time.Second, nil
	})
}

// events yields what happens to the operation. An error ends it: the row tells
// the rest.
func (f *follower) events(ctx context.Context) iter.Seq[ktrdr.Event] {
	return func(yield func(ktrdr.Event) bool) {
		for e, err := range f.c.FollowEvents(ctx, f.id, ktrdr.Cursor{}) {
			if err == nil && !yield(e) {
				return
			}
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
		return fmt.Sprintf("%s%s %s %3.0f%% %s %s", indent, short(op), bar(percent(op)/100, 20), percent(op), p.status(op.Status),
			p.dim(plain(note(op))))
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
