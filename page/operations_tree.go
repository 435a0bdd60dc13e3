package page

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
)

const (
	mostParts   = 1000 // below the operations of a page
	looksOfPage = 200  // looks that are sorted below their researches
)

// runGroup is the run of the rows that follow.
type runGroup struct {
	Handle, Goal, Link, Percent, Ended string
}

// tree reports whether the list shows parts below their operations: a filter may
// find a part and not what it belongs to.
func (q operationsQuery) tree() bool {
	return q.status == "" && q.kind == "" && q.search == "" && !q.roots
}

// readParts adds the parts of the rows below them, looks at holdouts below their
// researches, and runs above them.
func (p *Pages) readParts(ctx context.Context, list []api.OperationRow, names map[ktrdr.WorkerID]string, back string, v *operations) error {
	ids := make([]ktrdr.OperationID, len(list))
	at := map[ktrdr.OperationID]int{}
	for i := range list {
		ids[i], at[list[i].ID] = list[i].ID, i
	}
	if len(ids) == 0 {
		return nil
	}
	parts, _, err := p.lab.Rows(ctx, ktrdr.OperationQuery{Parents: ids, Sort: ktrdr.Oldest, Limit: mostParts})
	if err != nil {
		return err
	}
	found, err := p.lab.Looks(ctx, ktrdr.LookQuery{Limit: looksOfPage})
	if err != nil {
		return err
	}
	runs, err := p.lab.Runs(ctx, ktrdr.RunQuery{Limit: rowsOfAPage})
	if err != nil {
		return err
	}
	for i := range parts {
		row := &v.Rows[at[parts[i].Parent]]
		row.Parts = append(row.Parts, p.operationRow(&parts[i], names, may(ctx), back))
	}
	moved := map[ktrdr.OperationID]bool{}
	for i := range slices.Backward(found.Looks) {
		look := &found.Looks[i]
		of, known := at[look.Research]
		if !known || look.Operation == "" {
			continue
		}
		row := lookRow(look)
		if k, here := at[look.Operation]; here {
			moved[look.Operation] = true
			row = v.Rows[k]
			row.Child = true
		}
		v.Rows[of].Parts = append(v.Rows[of].Parts, row)
	}
	run := ""
	kept := v.Rows[:0]
	for i, row := range v.Rows {
		if moved[list[i].ID] {
			continue
		}
		row.Open = row.Mark == "run" || row.Mark == "failed"
		if list[i].Run != run {
			run = list[i].Run
			row.Run = groupOf(run, runs.Runs)
		}
		kept = append(kept, row)
	}
	v.Rows = kept
	return nil
}

// lookRow is a look at a holdout whose operation is on another page of the list.
func lookRow(l *ktrdr.Look) operationRow {
	r := operationRow{
		ID: string(l.Operation), Handle: l.Operation.Tail(), Kind: kindWord(ktrdr.AgentConfirm), Status: statusWord(ktrdr.Running),
		Mark: statusMarks[ktrdr.Running], Child: true, Attempts: 1, Worker: missing, Took: missing,
		Created: l.ReservedAt.UTC().Format(time.RFC3339),
	}
	if !l.EndedAt.IsZero() {
		r.Status, r.Mark, r.Took = statusWord(ktrdr.Completed), statusMarks[ktrdr.Completed], lasted(l.EndedAt.Sub(l.ReservedAt))
	}
	return r
}

func groupOf(run string, runs []ktrdr.Run) *runGroup {
	i := slices.IndexFunc(runs, func(r ktrdr.Run) bool { return r.ID == run })
	if i < 0 {
		return nil
	}
	r := &runs[i]
	ended, all := r.Ended(), max(r.Created, r.Planned)
	return &runGroup{
		Handle: r.ID, Goal: clip(plain(r.Goal), 80), Link: withQuery("/night", field{"run", r.ID}),
		Percent: chart.Number(100*float64(ended)/float64(max(all, 1)), 0),
		Ended:   fmt.Sprintf("%s of %s ended", count(ended), plural(all, "research")),
	}
}

// stepsFigure draws the steps that the checkpoints of an operation keep, by time and
// attempt. Checkpoints are given newest first.
func stepsFigure(all []ktrdr.CheckpointInfo) template.HTML {
	const fewest = 3
	if len(all) < fewest || all[0].Step == 0 {
		return ""
	}
	from, to := all[len(all)-1].CreatedAt, all[0].CreatedAt
	if !to.After(from) {
		return ""
	}
	seconds := func(t time.Time) float64 { return t.Sub(from).Seconds() }
	plot := chart.Plot{Unit: "steps kept in checkpoints", Left: 7, X: chart.Scale{Min: 0, Max: seconds(to)}, Y: chart.Scale{Min: 0, Max: 1}}
	var attempts [][]chart.XY
	var epochs []ktrdr.Epoch
	for _, c := range slices.Backward(all) {
		plot.Y = plot.Y.Include(float64(c.Step))
		if n := len(epochs); n == 0 || epochs[n-1] != c.Epoch {
			epochs, attempts = append(epochs, c.Epoch), append(attempts, nil)
		}
		attempts[len(attempts)-1] = append(attempts[len(attempts)-1], chart.XY{X: seconds(c.CreatedAt), Y: float64(c.Step)})
	}
	plot.Y = plot.Y.Pad(0.05)
	for i, points := range attempts {
		last := points[len(points)-1]
		if i > 0 { // what was kept while no attempt ran
			before := attempts[i-1][len(attempts[i-1])-1]
			plot.Layers = append(plot.Layers, chart.Zone{From: before.X, To: points[0].X, Class: "tr"},
				chart.Line{Points: []chart.XY{before, {X: points[0].X, Y: before.Y}}, Class: "mk"})
		}
		drawn := chart.Downsample(points, mostDots)
		plot.Layers = append(plot.Layers, chart.Line{Points: drawn, Class: "st"}, chart.Dots{Points: drawn, Class: "pt k"})
		if len(attempts) > 1 {
			plot.Layers = append(plot.Layers, chart.Text{
				X: last.X, Y: last.Y, DX: -6, DY: -8, Edge: 1, Class: "k", Text: "attempt " + strconv.Itoa(int(epochs[i])),
			})
		}
	}
	for _, t := range plot.X.Ticks(5) {
		plot.XTicks = append(plot.XTicks, chart.Tick{At: t, Text: lasted(time.Duration(t * float64(time.Second)))})
	}
	plot.Label = fmt.Sprintf("Step %s after %s and %s.", count(int(all[0].Step)), plural(len(all), "checkpoint"),
		plural(len(attempts), "attempt"))
	return plot.HTML()
}
