package main

import (
	"context"
	"encoding/json"
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
	away  time.Time                    // since when the server is out of reach
}

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

// hopeless says whether the last n all failed.
func (v *vigil) hopeless(n int) bool {
	if len(v.ids) < n {
		return false
	}
	for _, id := range v.ids[len(v.ids)-n:] {
		if v.ended[id].Status != ktrdr.Failed {
			return false
		}
	}
	return true
}

// keep watches until all have ended, then prints what came of them. After each
// look more is asked whether there is more to watch; it may be nil.
func (v *vigil) keep(ctx context.Context, more func(context.Context) error) error {
	pace := time.Second
	if v.screen != nil {
		pace = 250 * time.Millisecond
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		err := v.lookAgain(ctx)
		if err == nil && more != nil && v.away.IsZero() {
			err = more(ctx)
		}
		if err == nil && len(v.live) == 0 {
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
	lines := []string{fmt.Sprintf("%d researches: %d ended, %d wait", len(v.ids), len(v.ended), v.waiting())}
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

func resultOf(op ktrdr.Operation) (r research.Result) {
	_ = json.Unmarshal(op.Result, &r) // one that failed has none
	return r
}

// verdictOf is the judgement in two words.
func verdictOf(r research.Result) string {
	switch {
	case r.Claim:
		return string(r.Verdict) + ", an edge is claimed"
	case r.Outcome == research.OutcomeRejected:
		return "refused by a gate: " + r.GateReason
	case r.Verdict == "":
		return "-"
	}
	return string(r.Verdict)
}

// printVerdicts prints the result table, and what it means.
func printVerdicts(w io.Writer, ops []ktrdr.Operation) {
	claims := 0
	table(w, "\nRESEARCH\tSTRATEGY\tSHARPE\tRETURN\tDRAWDOWN\tTRADES\tHOLDOUT\tVERDICT", func(row func(...any)) {
		for _, op := range ops {
			r := resultOf(op)
			sharpe, net, fall, trades, holdout, verdict := "-", "-", "-", "-", "closed", verdictOf(r)
			if f := r.Figures; f != nil {
				if f.Sharpe != nil {
					sharpe = fmt.Sprintf("%.2f", *f.Sharpe)
				}
				net, fall, trades = percentText(f.NetReturn), percentText(f.MaxDrawdown), fmt.Sprint(f.Trades)
			}
			if r.HoldoutOpened {
				holdout = "opened"
			}
			if op.Status != ktrdr.Completed {
				verdict = string(op.Status) + ": " + op.ErrorMessage
			}
			if r.Claim {
				claims++
			}
			row(tail(op.ID), dash(r.StrategyName), sharpe, net, fall, trades, holdout, verdict)
		}
	})
	switch {
	case claims > 0:
		fmt.Fprintf(w, "\n%d of %d claim an edge: it is left after costs, counted against all that was tried, and on a holdout that the design did not see.\n", claims, len(ops))
	default:
		fmt.Fprintf(w, "\nNothing survived: no edge is claimed by any of %d.\n", len(ops))
	}
}

func percentText(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
