package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// runWatcher follows a run until it has ended. On a terminal it is a table that
// is redrawn; elsewhere each change is a line.
//
//	stream of the run's row ──▶ counts, and the end
//	status, every second ─────▶ the researches that are active now
//
// What it holds and asks for is bounded by the researches that run at once, not
// by those of the run.
type runWatcher struct {
	watcher

	run    ktrdr.Run
	active map[ktrdr.OperationID]research.Active // of the run, started
	told   map[ktrdr.OperationID]research.Phase  // the phase last printed as a line, of active ones
	ended  []view.LiveRow                        // the last ends, for the screen
	counts string                                // the counts last printed as a line
}

// followRun shows a run until it has ended and returns its outcome as an exit
// code.
func (a *app) followRun(ctx context.Context, c *client.Client, id string) error {
	w := &runWatcher{watcher: newWatcher(a, c), run: ktrdr.Run{ID: id}, told: map[ktrdr.OperationID]research.Phase{}}
	w.redraw = w.show
	err := w.watch(ctx)
	if err == nil {
		w.screen = nil // what follows stays
		return w.finish(ctx)
	}
	w.stopped(ctx, "run", ktrdr.ShortRun(id))
	return err
}

type rowOrError struct {
	run ktrdr.Run
	err error
}

// states yields the row of the run until it has ended. A server that is out of
// reach is asked again: reached decides for how long.
func (w *runWatcher) states(ctx context.Context) iter.Seq[rowOrError] {
	return func(yield func(rowOrError) bool) {
		for ctx.Err() == nil {
			for run, err := range w.c.FollowRun(ctx, w.run.ID) {
				final := err != nil && !ktrdr.CodeOf(err).Retryable()
				if (err == nil || final) && !yield(rowOrError{run, err}) {
					return
				}
				if final || err == nil && !run.EndedAt.IsZero() {
					return
				}
			}
			backoff.Sleep(ctx, time.Second)
		}
	}
}

func (w *runWatcher) watch(ctx context.Context) error {
	pace := time.Second
	if w.screen != nil {
		pace = 500 * time.Millisecond
	}
	return watch(ctx, pace, w.states, func(r rowOrError) (bool, error) {
		if r.err != nil {
			return false, r.err
		}
		if w.run = r.run; w.run.EndedAt.IsZero() {
			return false, nil
		}
		w.lookLast(ctx)
		return true, nil
	}, func() (bool, error) { return false, w.reached(ctx, w.look(ctx)) })
}

// lookLast shows how the last researches ended. The table that follows
// names them too, so an error is not reported.
func (w *runWatcher) lookLast(ctx context.Context) {
	if w.a.json {
		return
	}
	if w.look(ctx) != nil {
		w.active = nil
		w.show()
		return
	}
	_ = w.reached(ctx, nil)
}

// look reads which researches of the run are active, and how those ended that
// are no more.
func (w *runWatcher) look(ctx context.Context) error {
	st, err := w.c.ResearchStatus(ctx)
	if err != nil {
		return err
	}
	now := map[ktrdr.OperationID]research.Active{}
	for _, r := range st.Active {
		if r.Run == w.run.ID && r.Status != ktrdr.Pending {
			now[r.Operation] = r
		}
	}
	for _, r := range w.inOrder() {
		if _, still := now[r.Operation]; still {
			continue
		}
		op, err := w.c.Operation(ctx, r.Operation)
		if err != nil {
			return err
		}
		if op.Status.Terminal() {
			w.tellEnd(r, op)
			delete(w.told, r.Operation)
		}
	}
	w.active = now
	w.show()
	return nil
}

// inOrder are the active researches by their place.
func (w *runWatcher) inOrder() []research.Active {
	list := slices.Collect(maps.Values(w.active))
	slices.SortFunc(list, func(a, b research.Active) int {
		return cmp.Or(cmp.Compare(w.number(a), w.number(b)), cmp.Compare(a.Operation, b.Operation))
	})
	return list
}

// number is the place of a research in its run, from 1.
func (w *runWatcher) number(r research.Active) int {
	return r.Generation*w.run.Size + r.Index + 1
}

func (w *runWatcher) tellEnd(r research.Active, op ktrdr.Operation) {
	switch {
	case w.a.json:
	case w.screen != nil:
		row := view.LiveOperation(op, w.a.palette(), 1)
		row.Name, row.Part, row.Note = fmt.Sprintf("research %d", w.number(r)), 1, view.Ended(op)
		w.ended = append(w.ended, row)
		w.ended = w.ended[max(0, len(w.ended)-shownEnds):]
	default:
		fmt.Fprintf(w.a.out, "%s  %4d  %-11s %s\n", time.Now().Format(time.TimeOnly), w.number(r), op.Status, term.Plain(view.Ended(op)))
	}
}

// shownEnds is how many of the last ends are shown below what is active.
const shownEnds = 6

func (w *runWatcher) show() {
	switch {
	case w.a.json:
	case w.screen != nil:
		w.screen.Draw(view.LiveLines(w.rows(), w.a.palette(), w.screen.Columns()))
	default:
		w.printLines()
	}
}

func (w *runWatcher) printLines() {
	stamp := time.Now().Format(time.TimeOnly)
	for _, r := range w.inOrder() {
		if w.told[r.Operation] != r.Phase && r.Phase != research.Idle {
			w.told[r.Operation] = r.Phase
			fmt.Fprintf(w.a.out, "%s  %4d  %-11s %s\n", stamp, w.number(r), r.Phase, term.Plain(r.Strategy))
		}
	}
	if now := w.progress(); w.run.Ended() > 0 && now != w.counts {
		w.counts = now
		fmt.Fprintf(w.a.out, "%s  %s\n", stamp, now)
	}
}

func (w *runWatcher) progress() string {
	return fmt.Sprintf("%s: %d of %s ended, %s, %s", ktrdr.ShortRun(w.run.ID), w.run.Ended(),
		text.Counted(w.run.Created, "research", "researches"),
		text.Counted(w.run.Finalists, "finalist"), text.Counted(w.run.Looks, "look"))
}

// rows are the run, what is active, and the last ends: where a terminal is too low,
// the oldest end is cut off first.
func (w *runWatcher) rows() []view.LiveRow {
	p := w.a.palette()
	rows := []view.LiveRow{view.LiveRun(w.run, time.Now(), p)}
	for _, r := range w.inOrder() {
		rows = append(rows, view.LiveResearch(r, w.number(r), p, 1)...)
	}
	for _, row := range slices.Backward(w.ended) {
		rows = append(rows, row)
	}
	return rows
}

// runOutcome is how a run ended, with the best of its researches.
type runOutcome struct {
	Run         ktrdr.Run          `json:"run"`
	Leaderboard report.Leaderboard `json:"leaderboard"`
	Failures    []ktrdr.Operation  `json:"failures,omitempty"` // the newest few
}

// shownFailures is how many failures are shown at the end of a run.
const shownFailures = 3

func (w *runWatcher) finish(ctx context.Context) error {
	out := runOutcome{Run: w.run}
	var err error
	if out.Leaderboard, err = w.c.Leaderboard(ctx, report.LeaderboardQuery{Run: w.run.ID}); err != nil {
		return err
	}
	if w.run.Failed > 0 {
		page, err := w.c.List(ctx, ktrdr.OperationQuery{Run: w.run.ID, Roots: true, Status: []ktrdr.Status{ktrdr.Failed}, Limit: shownFailures})
		if err != nil {
			return err
		}
		out.Failures = page.Operations
	}
	if err := w.a.print(out, func(to io.Writer) { printOutcome(to, out) }); err != nil {
		return err
	}
	return out.exit()
}

func printOutcome(w io.Writer, out runOutcome) {
	fmt.Fprintln(w)
	if len(out.Leaderboard.Rows) > 0 {
		report.PrintLeaderboard(w, out.Leaderboard)
	}
	for _, op := range out.Failures {
		fmt.Fprintf(w, "%s failed: %s\n", op.ID.Tail(), term.Plain(op.ErrorMessage))
	}
	r := out.Run
	fmt.Fprintf(w, "%s %s: %s; %s, %s, %s.\n", ktrdr.ShortRun(r.ID), r.State, view.RunCounts(r), text.Counted(r.Finalists, "finalist"),
		text.Counted(r.Looks, "look"), text.Counted(r.Claims, "claim"))
	for _, why := range []string{r.CancelReason, r.GivenUp} {
		if why != "" {
			fmt.Fprintf(w, "Reason: %s\n", term.Plain(why))
		}
	}
}

func (out runOutcome) exit() error {
	switch r := out.Run; {
	case r.Failed > 0 || r.State == ktrdr.RunGivenUp:
		return &exitError{code: exitFailed}
	case r.Cancelled > 0 || r.State == ktrdr.RunCancelled:
		return &exitError{code: exitCancelled}
	}
	return nil
}
