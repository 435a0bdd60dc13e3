package main

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

const (
	usualSpan  = 12 * time.Hour
	quietFor   = 6 * time.Hour // without a new research separate two spells of it
	reportPage = 200           // operations held at once: each carries its spec and its result
)

// lookback makes a report: it reads what there is page by page, and of each page
// keeps only counts and the few entries that are shown.
//
//	events since then ──▶ the machine, and how old the oldest is that ended
//	root operations, newest first, back to that one ──▶ outcomes, claims, failures
//	notes since then ──▶ trials, leaderboard
//	the journal's newest ──▶ money
type lookback struct {
	desk  researchDesk
	query httpapi.ReportQuery
	out   httpapi.Report

	oldest  time.Time                  // when the oldest was created that ended in the span
	ended   map[ktrdr.Count]int64      // other operations, by type and status; N is 0 in the key
	reasons reasons                    // of failures
	roots   map[ktrdr.OperationID]bool // of the run, when there is one
	against count                      // what the verdicts were counted against
}

// Report implements httpapi.Research.
func (d researchDesk) Report(ctx context.Context, q httpapi.ReportQuery) (httpapi.Report, error) {
	now := time.Now().UTC()
	l := &lookback{desk: d, query: q, ended: map[ktrdr.Count]int64{}, reasons: reasons{}, oldest: now}
	l.out = httpapi.Report{From: q.Since, To: now, Run: q.Run, Researches: httpapi.ReportResearches{Outcomes: map[string]int{}}}
	if err := l.look(ctx); err != nil {
		return httpapi.Report{}, err
	}
	l.sum()
	return l.out, nil
}

func (l *lookback) look(ctx context.Context) (err error) {
	if l.query.Last && l.query.Run == "" {
		if l.out.From, err = l.spell(ctx); err != nil {
			return err
		}
	}
	steps := []func(context.Context) error{l.readEvents, l.readRoots}
	if l.query.Run != "" { // which is where the span begins
		steps = []func(context.Context) error{l.readRun, l.readEvents}
	}
	for _, step := range append(steps, l.readNotes, l.readCalls) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	h := l.desk.engine.Health(ctx)
	l.out.Problems = h.Problems
	if l.query.Run == "" {
		line := h.Queues[research.QueueName]
		l.out.Researches.Active, l.out.Researches.Waiting = line.Active, line.Waiting
	}
	return nil
}

// spell is when the newest spell of research began: the creation of the first
// research before which there was none for hours.
func (l *lookback) spell(ctx context.Context) (time.Time, error) {
	began := time.Time{}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Roots: true, Limit: reportPage}
	for seen := 0; seen < searched; seen += reportPage {
		page, err := l.desk.engine.List(ctx, q)
		if err != nil {
			return began, err
		}
		for _, op := range page.Operations {
			if !began.IsZero() && began.Sub(op.CreatedAt) > quietFor {
				return began, nil
			}
			began = op.CreatedAt
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if began.IsZero() {
		began = l.out.To.Add(-usualSpan)
	}
	return began, nil
}

// readNotes counts the trials of the span and ranks its experiments. Notes come
// newest first, so that the first that is older ends it.
func (l *lookback) readNotes(ctx context.Context) error {
	all, err := l.desk.engine.CountNotes(ctx, ktrdr.NoteQuery{Kind: research.NoteTrial})
	if err != nil {
		return err
	}
	l.out.Researches.Ledger = all[research.NoteTrial]
	for q := (ktrdr.NoteQuery{Kind: research.NoteTrial, Run: l.query.Run, Limit: 1000}); ; {
		page, err := l.desk.engine.Notes(ctx, q)
		if err != nil {
			return err
		}
		within := 0
		for within < len(page.Notes) && !page.Notes[within].At.Before(l.out.From) {
			within++
		}
		l.out.Researches.Trials += int64(within)
		if q.Cursor = page.Next; q.Cursor == "" || within < len(page.Notes) {
			break
		}
	}
	best, err := l.best(ctx)
	if err != nil {
		return err
	}
	l.out.Leaders, err = experiments(best)
	return err
}

// reportLeaders is how many of the best are shown.
const reportLeaders = 5

// best are the first of the leaderboard of the span. What failed is no leader.
func (l *lookback) best(ctx context.Context) ([]research.Record, error) {
	var best []research.Record
	for q := (ktrdr.NoteQuery{Run: l.query.Run, Limit: 1000}); ; {
		page, next, err := l.desk.memory.Records(ctx, q)
		if err != nil {
			return nil, err
		}
		older := false
		for _, r := range page {
			if older = r.At.Before(l.out.From); older {
				break
			}
			if r.Status != research.OutcomeFailed {
				best = append(best, r)
			}
		}
		best = research.Leaderboard(best)
		best = best[:min(reportLeaders, len(best))]
		if q.Cursor = next; next == "" || older {
			return best, nil
		}
	}
}
