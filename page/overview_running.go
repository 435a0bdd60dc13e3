package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

const (
	runsOffered = 50
	mostRunning = 25 // rows; the rest is counted
)

// running is a research that has not ended.
type running struct {
	ID, Handle, Strategy, Symbols, Timeframes, Phase, Percent, Step, Speed, ETA, Elapsed, Worker string
	Cells                                                                                        []cell
	Cancel                                                                                       *action
}

type cell struct {
	Class string
	X     int
}

var phases = []research.Phase{research.Designing, research.Training, research.Backtesting, research.Assessing}

func (n *overview) running(ctx context.Context, s research.Status, q overviewQuery) {
	n.Capacity = fmt.Sprintf("%d of at most %s, %d waiting.", s.Capacity.Active, plural(s.Capacity.Limit, "research"), s.Capacity.Waiting)
	if t := s.Workers["training"]; t.Total > 0 {
		n.Capacity += fmt.Sprintf(" Training slots: %d of %d busy.", t.Busy, t.Total)
	}
	for i := range s.Active {
		a := &s.Active[i]
		if q.Run != "" && a.Run != q.Run || len(n.Running) == mostRunning {
			continue
		}
		r := runningOf(a)
		if may(ctx) {
			r.Cancel = &action{
				Name: "Cancel", Path: "/night/cancel", Ask: "Cancel this research and its operations?",
				Fields: []field{{"id", string(a.Operation)}, {"back", q.here()}}, Command: "ktrdr cancel " + string(a.Operation),
			}
		}
		n.Running = append(n.Running, r)
	}
}

func runningOf(a *research.Active) running {
	r := running{
		ID: string(a.Operation), Handle: a.Operation.Tail(), Strategy: strategyName(a.Strategy), Symbols: a.Symbols, Timeframes: a.Timeframes,
		Phase: "Waiting", Percent: "0", Step: "waiting for a place", Speed: missing, ETA: missing, Worker: missing,
		Elapsed: lasted(time.Duration(a.Seconds * float64(time.Second))),
	}
	if r.Strategy == "" {
		r.Strategy = clip(plain(a.Brief), 60)
	}
	if a.Worker != "" {
		r.Worker = a.Worker
	}
	if at := slices.Index(phases, a.Phase); at >= 0 {
		r.Phase = fmt.Sprintf("%s %d of %d", capital(strings.ToLower(string(a.Phase))), at+1, len(phases))
		r.Step = "waiting for a slot"
		for i := range phases {
			class := "" // of what is still to come
			switch {
			case i < at:
				class = "d"
			case i == at:
				class = "p"
			}
			r.Cells = append(r.Cells, cell{class, i * 16})
		}
	}
	if p := a.Progress; p != nil {
		r.Percent, r.Step = fmt.Sprintf("%.0f", p.Percentage), p.CurrentStep
		var c jobs.ProgressContext
		if len(p.Context) > 0 && json.Unmarshal(p.Context, &c) == nil {
			r.Speed, r.ETA = speed(c), missing
			if c.ETASeconds > 0 {
				r.ETA = lasted(time.Duration(c.ETASeconds * float64(time.Second)))
			}
		}
	}
	return r
}

func speed(c jobs.ProgressContext) string {
	per, unit := c.RowsPerSecond, "rows/s"
	if c.BarsPerSecond > 0 {
		per, unit = c.BarsPerSecond, "bars/s"
	}
	switch {
	case per <= 0:
		return missing
	case per >= 1e6:
		return chart.Number(per/1e6, 1) + " M " + unit
	}
	return count(int(per)) + " " + unit
}

// readActions are the buttons of the page, and whether it is the first time.
func (p *Pages) readActions(ctx context.Context, n *overview, q overviewQuery, runs []ktrdr.Run) error {
	if n.First = len(runs) == 0; n.First {
		series, err := client.Call(ctx, p.lab, api.Series, api.None{})
		if err != nil {
			return err
		}
		n.Series = len(series)
	}
	if !may(ctx) {
		return nil
	}
	paused, err := p.lab.Paused(ctx)
	if err != nil {
		return err
	}
	n.Pause = &action{Name: "Pause new work", Command: "ktrdr pause"}
	if paused {
		n.Pause = &action{Name: "Allow new work", Command: "ktrdr unpause", Main: true}
	}
	n.Pause.Path, n.Pause.Fields = "/night/pause", []field{{"paused", strconv.FormatBool(!paused)}, {"back", q.here()}}
	for i := range runs {
		if r := &runs[i]; r.ID == q.Run && r.EndedAt.IsZero() && r.CancelledAt.IsZero() {
			n.Cancel = &action{
				Name: "Cancel this run", Path: "/night/cancel", Ask: "Cancel all researches of this run?", Command: "ktrdr runs cancel " + r.ID,
				Fields: []field{{"run", r.ID}, {"back", "/night?run=" + url.QueryEscape(r.ID)}},
			}
		}
	}
	return nil
}
