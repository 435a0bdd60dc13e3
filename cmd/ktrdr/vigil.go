package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

// vigil watches researches to their ends. On a terminal it is a table that is
// redrawn; elsewhere a line tells of each change.
type vigil struct {
	a      *app
	c      *httpapi.Client
	screen *screen // nil when nothing can be redrawn

	ids   []ktrdr.OperationID // in their order
	live  map[ktrdr.OperationID]httpapi.ActiveResearch
	ended map[ktrdr.OperationID]ktrdr.Operation
	told  map[ktrdr.OperationID]string // the phase or end last printed as a line
	run   string                       // that they belong to
	until time.Time                    // when it begins no more of them; zero if it does not
	idle  time.Time                    // since when nothing of it is live
	away  time.Time                    // since when the server is out of reach
}

// patienceWithARun is how long a run may go without a research.
const patienceWithARun = 20 * time.Second

func (a *app) newVigil(c *httpapi.Client) *vigil {
	v := &vigil{
		a: a, c: c, live: map[ktrdr.OperationID]httpapi.ActiveResearch{},
		ended: map[ktrdr.OperationID]ktrdr.Operation{}, told: map[ktrdr.OperationID]string{},
	}
	if terminal(a.out) && !a.json {
		v.screen = &screen{w: a.out}
	}
	return v
}

// add watches what was started too.
func (v *vigil) add(made httpapi.Triggered) {
	v.run = made.Run
	for _, op := range made.Operations {
		v.ids = append(v.ids, op.Operation)
		v.live[op.Operation] = httpapi.ActiveResearch{Operation: op.Operation, Session: op.Session, Status: op.Status, Phase: string(research.Idle)}
	}
}

// waiting counts those whose turn has not come.
func (v *vigil) waiting() (n int) {
	for _, r := range v.live {
		if r.Status == ktrdr.Pending {
			n++
		}
	}
	return n
}

// keep watches until all have ended, then prints what came of them.
func (v *vigil) keep(ctx context.Context) error {
	pace := time.Second
	if v.screen != nil {
		pace = 250 * time.Millisecond
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		err := v.lookAgain(ctx)
		if err == nil && v.over() {
			return v.finish()
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-tick.C:
				continue
			}
		}
		if errors.Is(context.Cause(ctx), errStopped) {
			if !v.a.json {
				fmt.Fprintln(v.a.err, "The researches go on. See `ktrdr status`.")
			}
			return context.Cause(ctx)
		}
		return err
	}
}

// over says whether there is nothing left to come. A run that lasts until a time
// begins its next generation within seconds, or has given up.
func (v *vigil) over() bool {
	if len(v.live) > 0 {
		v.idle = time.Time{}
		return false
	}
	if time.Now().After(v.until) {
		return true
	}
	if v.idle.IsZero() {
		v.idle = time.Now()
	}
	return v.away.IsZero() && time.Since(v.idle) > patienceWithARun
}

// lookAgain bears with a server that is out of reach.
func (v *vigil) lookAgain(ctx context.Context) error {
	err := v.look(ctx)
	switch {
	case err == nil:
		v.away = time.Time{}
		return nil
	case ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || ctx.Err() != nil:
		return err
	case v.away.IsZero():
		v.away = time.Now()
		if !v.a.json {
			fmt.Fprintln(v.a.err, "The server is out of reach; waiting for it.")
		}
	case time.Since(v.away) > patience:
		return err
	}
	return nil
}

// look reads how they stand: all that have not ended at once, and each of the
// others a last time.
func (v *vigil) look(ctx context.Context) error {
	st, err := v.c.ResearchStatus(ctx)
	if err != nil {
		return err
	}
	still := map[ktrdr.OperationID]bool{}
	for _, r := range st.Active {
		if _, known := v.live[r.Operation]; !known && r.Run == v.run && v.ended[r.Operation].ID == "" {
			v.ids = append(v.ids, r.Operation)
			v.live[r.Operation] = r
		}
		if _, ours := v.live[r.Operation]; ours {
			v.live[r.Operation], still[r.Operation] = r, true
		}
	}
	for _, id := range v.ids {
		if _, alive := v.live[id]; !alive || still[id] {
			continue
		}
		op, err := v.c.Operation(ctx, id)
		if err != nil {
			return err
		}
		if op.Status.Terminal() {
			v.ended[id] = op
			delete(v.live, id)
		}
	}
	v.show()
	return nil
}

// show draws the table, or prints what changed as lines.
func (v *vigil) show() {
	switch {
	case v.a.json:
	case v.screen != nil:
		v.screen.draw(v.lines())
	default:
		for i, id := range v.ids {
			now, text := v.state(id)
			if now != v.told[id] && now != string(research.Idle) {
				v.told[id] = now
				fmt.Fprintf(v.a.out, "%s  %*d  %-11s %s\n", time.Now().Format(time.TimeOnly), len(fmt.Sprint(len(v.ids))), i+1, now, plain(text))
			}
		}
	}
}

// state is the phase or the end of a research, and what there is to say of it.
func (v *vigil) state(id ktrdr.OperationID) (now, text string) {
	if op, over := v.ended[id]; over {
		r := resultOf(op)
		if op.ErrorMessage != "" {
			return string(op.Status), op.ErrorMessage
		}
		return string(op.Status), r.StrategyName + ": " + verdictOf(r)
	}
	r := v.live[id]
	return r.Phase, r.Strategy
}

// shownResearches bounds the table, so that it fits on a screen.
const shownResearches = 20

func (v *vigil) lines() []string {
	p := v.a.palette()
	lines := []string{fmt.Sprintf("%s: %d ended, %d wait", numbered(len(v.ids), "research", "researches"), len(v.ended), v.waiting())}
	skipped := max(0, len(v.ids)-shownResearches)
	for i, id := range v.ids[skipped:] {
		now, text := v.state(id)
		colour := p.status(v.ended[id].Status)
		if colour == "" {
			colour = now
		}
		part := 0.0
		if r, live := v.live[id]; live {
			part = partOf(r)
		} else {
			part = 1
		}
		lines = append(lines, fmt.Sprintf("%4d %s %s%*s %s", skipped+i+1, bar(part, 20), colour, max(0, 11-len(now)), "", plain(text)))
	}
	return lines
}

// partOf is how much of a research is done: its phases count alike.
func partOf(r httpapi.ActiveResearch) float64 {
	phases := len(research.Phases) - 2 // the first and the last take no time
	for i, p := range research.Phases[1 : phases+1] {
		if string(p) == r.Phase {
			part := float64(i)
			if r.Progress != nil {
				part += min(max(r.Progress.Percentage/100, 0), 1)
			}
			return part / float64(phases)
		}
	}
	return 0
}

// finish prints what came of all of them and makes it an exit code.
func (v *vigil) finish() error {
	var ops []ktrdr.Operation
	for _, id := range v.ids {
		ops = append(ops, v.ended[id])
	}
	v.screen = nil // what follows stays
	err := v.a.print(ops, func(w io.Writer) { printVerdicts(w, ops) })
	if err != nil {
		return err
	}
	return outcomes(ops)
}
