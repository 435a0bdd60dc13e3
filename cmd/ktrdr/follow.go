package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
)

const followHelp = `Follow a run or an operation to its end. On a terminal, rows with progress and time
left are redrawn in place: the run, its active researches, and below each the operation
of its phase; or an operation and what is below it. What is active comes first. In a
pipe, each change is a line. The exit code is the result: 0 COMPLETED, 1 FAILED,
3 CANCELLED; for a run, 1 if a research failed. If the backend restarts, follow waits
for it. Ctrl-C stops following, not the work.`

func newFollow(a *app) *cobra.Command {
	cmd := a.onRunOrOperation("follow", "Follow a run or an operation to its end; the exit code is its result",
		func(ctx context.Context, c *client.Client, run ktrdr.Run) error { return a.followRun(ctx, c, run.ID) }, a.follow)
	cmd.Long = followHelp
	return cmd
}

type follower struct {
	watcher

	id       ktrdr.OperationID
	op       ktrdr.Operation
	children []ktrdr.Operation
	below    map[ktrdr.OperationID][]ktrdr.Operation // children of active children, for the screen
	told     map[ktrdr.OperationID]ktrdr.Status      // of children, where lines are printed
	tenths   int                                     // of the progress last printed as a line
	over     time.Time                               // since when it is known to have ended
}

// follow shows an operation until it has ended and returns its outcome as an
// exit code.
func (a *app) follow(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
	f := &follower{watcher: newWatcher(a, c), id: id, told: map[ktrdr.OperationID]ktrdr.Status{}}
	f.redraw = f.show
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
	return watch(ctx, f.pace(), eventsOf(f.c, f.id, ktrdr.Cursor{}), func(e ktrdr.Event) (bool, error) {
		f.tell(e)
		if !e.Kind.Terminal() {
			return false, nil
		}
		seen := !f.over.IsZero() || f.look(ctx) == nil && f.reached(ctx, nil) == nil
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

// eventsOf yields the events of an operation, or of all. Errors are left out: the
// client connects again, and the row tells the rest.
func eventsOf(c *client.Client, id ktrdr.OperationID, after ktrdr.Cursor) func(context.Context) iter.Seq[ktrdr.Event] {
	return func(ctx context.Context) iter.Seq[ktrdr.Event] {
		return func(yield func(ktrdr.Event) bool) {
			for e, err := range c.FollowEvents(ctx, id, after) {
				if err == nil && !yield(e) {
					return
				}
			}
		}
	}
}

// pace is how often the row is looked at.
func (f *follower) pace() time.Duration {
	if f.screen != nil {
		return 250 * time.Millisecond
	}
	return time.Second
}

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
	if f.screen != nil {
		f.below = map[ktrdr.OperationID][]ktrdr.Operation{}
		if err := f.lookBelow(ctx, f.children, deepest); err != nil {
			return err
		}
	}
	f.show()
	return nil
}

// deepest is how many levels below the children are shown.
const deepest = 3

// lookBelow reads what is below operations that have not ended.
func (f *follower) lookBelow(ctx context.Context, ops []ktrdr.Operation, levels int) error {
	for _, op := range ops {
		if !op.HasPlan || op.Status.Terminal() || levels == 0 {
			continue
		}
		page, err := f.c.List(ctx, ktrdr.OperationQuery{Parent: op.ID, Limit: 100})
		if err != nil {
			return err
		}
		f.below[op.ID] = page.Operations
		if err := f.lookBelow(ctx, page.Operations, levels-1); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) tell(e ktrdr.Event) {
	switch {
	case f.a.json:
		_ = f.a.line(eventLine{e.Cursor.String(), e})
	case f.screen != nil:
		f.screen.Above(view.Timed(e))
		f.show()
	default:
		fmt.Fprintln(f.a.out, view.Stamped(e))
	}
}

func (f *follower) show() {
	if f.a.json {
		return
	}
	if f.screen != nil {
		f.screen.Draw(view.LiveLines(f.rows(), f.a.palette(), f.screen.Columns()))
		return
	}
	if tenths := int(view.Percent(f.op) / 10); tenths > f.tenths && !f.op.Status.Terminal() {
		f.tenths = tenths
		fmt.Fprintf(f.a.out, "%s  %s  %.0f%%  %s\n", time.Now().Format(time.TimeOnly), f.op.ID, view.Percent(f.op),
			term.Plain(view.ProgressText(f.op.Progress)))
	}
	for _, child := range f.children {
		if f.told[child.ID] != child.Status {
			f.told[child.ID] = child.Status
			fmt.Fprintf(f.a.out, "%s    %s  %s  %s\n", becameAt(child).Local().Format(time.TimeOnly), child.ID, child.Status,
				term.Plain(view.Note(child)))
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

// rows are the operation and what is below it.
func (f *follower) rows() []view.LiveRow {
	p := f.a.palette()
	rows := []view.LiveRow{view.LiveOperation(f.op, p, 0)}
	var add func(ops []ktrdr.Operation, depth int)
	add = func(ops []ktrdr.Operation, depth int) {
		for _, op := range activeFirst(ops) {
			rows = append(rows, view.LiveOperation(op, p, depth))
			add(f.below[op.ID], depth+1)
		}
	}
	add(f.children, 1)
	return rows
}

// activeFirst puts operations that have not ended before the others: a terminal
// that is too low cuts off the last rows. What runs is before what waits.
func activeFirst(ops []ktrdr.Operation) []ktrdr.Operation {
	place := func(op ktrdr.Operation) int {
		switch {
		case op.Status.Terminal():
			return 2
		case op.Status == ktrdr.Pending:
			return 1
		}
		return 0
	}
	list := slices.Clone(ops)
	slices.SortStableFunc(list, func(a, b ktrdr.Operation) int { return cmp.Compare(place(a), place(b)) })
	return list
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
		fmt.Fprintf(a.out, "%s %s after %s", op.ID, a.palette().Status(op.Status), term.Brief(took))
		if n := view.Note(op); n != "" {
			fmt.Fprintf(a.out, ": %s", term.Plain(n))
		}
		if said := view.Summary(op.Result); said != "" {
			fmt.Fprintf(a.out, "\n%s\nSee `ktrdr results %s`.", term.Plain(said), op.ID)
		} else if said := view.ResultWords(op.Result); said != "" {
			fmt.Fprintf(a.out, ": %s", term.Plain(said))
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

// patience is how long a watcher waits for a server that is out of reach.
const patience = 10 * time.Minute

// watcher is what the watchers of a run and of an operation have in common.
type watcher struct {
	a      *app
	c      *client.Client
	screen *term.Screen // nil when nothing can be redrawn
	redraw func()       // draws the screen

	away time.Time // since when the server is out of reach
}

func newWatcher(a *app, c *client.Client) watcher {
	w := watcher{a: a, c: c}
	if term.IsTerminal(a.out) && !a.json {
		w.screen = term.NewScreen(a.out)
	}
	return w
}

// watch hears a stream and looks at the rows in turn, until one of them says
// that it has ended.
func watch[T any](
	ctx context.Context, pace time.Duration, stream func(context.Context) iter.Seq[T],
	hear func(T) (ended bool, err error), look func() (ended bool, err error),
) error {
	streaming, stop := context.WithCancel(ctx)
	news, done := make(chan T), make(chan struct{})
	go func() {
		defer close(done)
		for x := range stream(streaming) {
			select {
			case news <- x:
			case <-streaming.Done():
				return
			}
		}
	}()
	defer func() { stop(); <-done }()

	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		var ended bool
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case x := <-news:
			ended, err = hear(x)
		case <-tick.C:
			ended, err = look()
		}
		if ended || err != nil {
			return err
		}
	}
}

// reached judges the error of a look: a server that is out of reach is waited
// for.
func (w *watcher) reached(ctx context.Context, err error) error {
	switch {
	case err == nil:
		if !w.away.IsZero() {
			w.say("The server answers again, after " + term.Brief(time.Since(w.away)) + ".")
		}
		w.away = time.Time{}
		return nil
	case ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || ctx.Err() != nil:
		return err
	case w.away.IsZero():
		w.away = time.Now()
		w.say("The server is out of reach; waiting for it.")
	case time.Since(w.away) > patience:
		return err
	}
	return nil
}

// say prints a line about the watching itself.
func (w *watcher) say(line string) {
	switch {
	case w.a.json:
	case w.screen != nil:
		w.screen.Above(line)
		w.redraw()
	default:
		fmt.Fprintln(w.a.err, line)
	}
}

// stopped tells a user who stopped the watching that the work still runs.
func (w *watcher) stopped(ctx context.Context, what, id string) {
	if w.screen != nil {
		w.screen.End()
	}
	if errors.Is(context.Cause(ctx), errStopped) && !w.a.json {
		fmt.Fprintf(w.a.err, "The %s is still running. Watch it again with `ktrdr follow %s`.\n", what, id)
	}
}
