package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

const (
	usualSpan     = 12 * time.Hour
	quietFor      = 6 * time.Hour // without a run between two spells of research
	mostClaims    = 10
	reportLeaders = 5
)

// Engine is what a report needs of the engine.
type Engine interface {
	research.Notes
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Health(ctx context.Context) ktrdr.Health
	FindRun(ctx context.Context, id string) (ktrdr.Run, error)
	Runs(ctx context.Context, q ktrdr.RunQuery) (ktrdr.RunPage, error)
	EndedSince(ctx context.Context, at time.Time) ([]ktrdr.EndedCount, error)
	Tally(ctx context.Context, q ktrdr.TallyQuery) (ktrdr.Tally, error)
	Trials(ctx context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error)
	TrialPoints(ctx context.Context, q ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error)
	Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error)
	ClaimOf(ctx context.Context, id ktrdr.OperationID) (ktrdr.LivingClaim, error)
	Markets(ctx context.Context) ([]ktrdr.Market, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
	Failures(ctx context.Context, q ktrdr.FailureQuery) ([]ktrdr.FailedOperation, error)
	MachineSince(ctx context.Context, at time.Time) (ktrdr.MachineCounts, error)
}

// Calls is what a report needs of the journal of calls to models.
type Calls interface {
	CallSums(ctx context.Context, since time.Time, run string) ([]ktrdr.CallSum, error)
}

// Reporter makes reports and leaderboards.
type Reporter struct {
	engine Engine
	calls  Calls
	panels *panels
}

// NewReporter makes a Reporter.
func NewReporter(e Engine, c Calls) Reporter { return Reporter{e, c, newPanels()} }

// lookback makes a report from sums that the store keeps or counts, and from
// short lists. The number of questions does not depend on how much happened.
//
//	run row, or operations by outcome ──▶ researches
//	ledger ──▶ markets, trials, looks, claims, the best
//	failures, newest 500 ──▶ reasons
//	events of processes, counted ──▶ the machine
//	journal of calls, summed up ──▶ money
type lookback struct {
	Reporter
	query Query
	out   Report
	run   *ktrdr.Run // nil: the report is of a span
}

// Report is of a span of time that ends now, or of a run; CodeNotFound.
func (r Reporter) Report(ctx context.Context, q Query) (Report, error) {
	l := &lookback{Reporter: r, query: q}
	l.out = Report{From: q.Since, To: time.Now().UTC(), Run: q.Run, Researches: Researches{Outcomes: map[string]int{}}}
	if err := l.begin(ctx); err != nil {
		return Report{}, err
	}
	for _, step := range []func(context.Context) error{l.readEnded, l.readLedger, l.readPanels, l.readFailures, l.readMachine, l.readCalls} {
		if err := step(ctx); err != nil {
			return Report{}, err
		}
	}
	h := r.engine.Health(ctx)
	l.out.Problems = h.Problems
	if l.run == nil {
		line := h.Queues[research.QueueName]
		l.out.Researches.Active, l.out.Researches.Waiting = line.Active, line.Waiting
	}
	l.out.Summary = l.summary()
	return l.out, nil
}

func (l *lookback) begin(ctx context.Context) error {
	switch {
	case l.query.Run != "":
		run, err := l.engine.FindRun(ctx, l.query.Run)
		if err != nil {
			return err
		}
		l.run = &run
		if l.out.From.IsZero() {
			l.out.From = run.CreatedAt
		}
	case l.query.Last:
		page, err := l.engine.Runs(ctx, ktrdr.RunQuery{Limit: 1000})
		if err != nil {
			return err
		}
		l.out.From = spellBegan(page.Runs, l.out.To)
	}
	return nil
}

// spellBegan is when the newest spell of research began: the creation of the
// first run before which none was open for hours. Runs are given newest first.
func spellBegan(runs []ktrdr.Run, now time.Time) time.Time {
	if len(runs) == 0 {
		return now.Add(-usualSpan)
	}
	began := runs[0].CreatedAt
	for i := 1; i < len(runs); i++ {
		busy := runs[i].EndedAt
		if busy.IsZero() {
			busy = now
		}
		if began.Sub(busy) > quietFor {
			break // an older run may have been open for longer
		}
		began = runs[i].CreatedAt
	}
	return began
}

// readEnded counts what ended. Of a run all researches are counted, by its row.
func (l *lookback) readEnded(ctx context.Context) error {
	r := &l.out.Researches
	if l.run != nil {
		r.Ended, r.Outcomes, r.Finalists = l.run.Ended(), research.OutcomeCounts(l.run.RunCounts), l.run.Finalists
		r.Active = l.run.Open
		return nil
	}
	counts, err := l.engine.EndedSince(ctx, l.out.From)
	if err != nil {
		return err
	}
	others := map[ktrdr.Count]int{}
	for _, c := range counts {
		switch {
		case c.Type == ktrdr.AgentResearch:
			r.Ended += c.N
			r.Outcomes[string(research.OutcomeBy(c.Status, c.Rung))] += c.N
			if c.Rung == ktrdr.RungFinalist {
				r.Finalists += c.N
			}
		case c.Type == ktrdr.AgentConfirm && c.Status == ktrdr.Completed: // counted as a look
		default:
			others[ktrdr.Count{Type: c.Type, Status: c.Status}] += c.N
		}
	}
	for key, n := range others {
		l.out.Others = append(l.out.Others, ktrdr.Count{Type: key.Type, Status: key.Status, N: int64(n)})
	}
	slices.SortFunc(l.out.Others, func(a, b ktrdr.Count) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Status, b.Status))
	})
	return nil
}

func (l *lookback) readLedger(ctx context.Context) error {
	q := ktrdr.TallyQuery{Run: l.query.Run}
	if l.run == nil {
		q.Since = l.out.From
	}
	t, err := l.engine.Tally(ctx, q)
	if err != nil {
		return err
	}
	r := &l.out.Researches
	r.Markets, r.Trials, r.Looks, r.Claims, r.Unaided = t.Markets, t.Trials, t.Looks, t.Claims, t.Unaided
	rows, _, err := l.ranked(ctx, ranking{
		TrialQuery: ktrdr.TrialQuery{Run: q.Run, Since: q.Since, Type: ktrdr.AgentResearch, Ended: true}, limit: mostClaims + reportLeaders,
	})
	if err != nil {
		return err
	}
	for i := range rows {
		if i < reportLeaders || rows[i].Claim {
			if err := l.stands(ctx, &rows[i]); err != nil {
				return err
			}
		}
	}
	for _, row := range rows {
		if row.Claim && len(l.out.Claims) < mostClaims {
			if row.Since, err = l.since(ctx, row.Look); err != nil {
				return err
			}
			if row.Calibration, err = research.CalibrationQuote(ctx, l.engine, research.SeriesOf(&row.Trial), row.Market); err != nil {
				return err
			}
			l.out.Claims = append(l.out.Claims, row)
		}
	}
	l.out.Leaders = rows[:min(reportLeaders, len(rows))]
	listTrials(l.out.Claims)
	listTrials(l.out.Leaders)
	return l.readHeads(ctx)
}

// since is what the bars after a claim have shown; nil if it is not followed yet.
func (l *lookback) since(ctx context.Context, claim ktrdr.OperationID) (*ktrdr.ClaimLife, error) {
	c, err := l.engine.ClaimOf(ctx, claim)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil, nil
	}
	return &c.ClaimLife, err
}

// mostHeads bounds the heads of a report. Those of the markets of its claims come first.
const mostHeads = 50

func (l *lookback) readHeads(ctx context.Context) error {
	if l.run != nil {
		l.out.Heads = l.run.Heads
		return nil
	}
	markets, err := l.engine.Markets(ctx)
	if err != nil {
		return err
	}
	claimed := func(m ktrdr.Market) bool {
		return slices.ContainsFunc(l.out.Claims, func(c Leader) bool { return c.Market == m.ID })
	}
	slices.SortStableFunc(markets, func(a, b ktrdr.Market) int {
		switch {
		case claimed(a) == claimed(b):
			return 0
		case claimed(a):
			return -1
		}
		return 1
	})
	for i := range markets {
		if h := markets[i].Head; h.Links > 0 && len(l.out.Heads) < mostHeads {
			l.out.Heads = append(l.out.Heads, h)
		}
	}
	return nil
}

func (l *lookback) summary() string {
	r := l.out.Researches
	switch {
	case r.Markets > 0 && (r.Ended > 0 || r.Claims > 0):
		return claimsOnMarkets(r.Claims, r.Markets)
	case r.Ended > 0: // of an earlier version, or it failed before it was counted
		return "No market was tried."
	case r.Active+r.Waiting > 0:
		return "No research has ended yet."
	}
	return "Nothing was researched."
}
