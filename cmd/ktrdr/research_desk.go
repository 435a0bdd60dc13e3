package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// researchDesk puts research into the API's words. Neither of them knows the
// other.
type researchDesk struct {
	desk   *research.Desk
	memory *research.Memory
	engine *engine.Engine
	limit  func([]ktrdr.Worker) int // how many researches may be active
	calls  ktrdr.Journal            // of what models were asked
	models Models
	level  *resilience.Degradation
	keys   llm.Keys // that no request may bring into the store
}

// Trigger implements httpapi.Research.
func (d researchDesk) Trigger(ctx context.Context, r httpapi.ResearchRequest, run string) (httpapi.ResearchOrder, error) {
	if err := d.level.Allows(resilience.NewResearch); err != nil {
		return httpapi.ResearchOrder{}, err
	}
	if d.keys.In(r.Brief, r.Strategy, r.StrategyYAML, r.Model, r.TriggerReason, r.Costs) { // people paste more than they mean to
		return httpapi.ResearchOrder{}, ktrdr.Errorf(ktrdr.CodeInvalid,
			"the request holds the key of a provider of models, and would be kept and sent to models with it: take it out, and make a new key if others may have seen it")
	}
	r.Model = cmp.Or(r.Model, d.models.Default)
	o, err := d.desk.Trigger(ctx, triggerOf(r, run))
	return httpapi.ResearchOrder(o), err
}

// Rest implements httpapi.Research.
func (d researchDesk) Rest(r httpapi.ResearchRequest, run string, first json.RawMessage) (httpapi.ResearchOrder, error) {
	o, err := d.desk.Rest(triggerOf(r, run), first)
	return httpapi.ResearchOrder(o), err
}

func triggerOf(r httpapi.ResearchRequest, run string) research.Trigger {
	return research.Trigger{
		Brief: r.Brief, Strategy: r.Strategy, StrategyYAML: r.StrategyYAML, Model: r.Model, TriggerReason: r.TriggerReason,
		BypassGates: r.BypassGates, Force: r.Force, RefuseUnknown: r.RefuseUnknown, Count: r.Count, Until: r.Until, Seed: r.Seed, Symbols: r.Symbols, Timeframe: r.Timeframe,
		Timeframes: r.Timeframes, Costs: r.Costs, Run: run,
	}
}

// Budget implements httpapi.Research.
func (d researchDesk) Budget(ctx context.Context) (httpapi.ModelBudget, error) {
	spent, err := d.calls.Spending(ctx, "")
	if err != nil {
		return httpapi.ModelBudget{}, err
	}
	return httpapi.ModelBudget{
		Limit: d.models.Daily.USD(), Spent: spent.Today.USD(), Remaining: max(d.models.Daily-spent.Today, 0).USD(),
	}, nil
}

// Status implements httpapi.Research.
func (d researchDesk) Status(ctx context.Context, waiting int) (httpapi.ResearchStatus, error) {
	s, err := d.snapshot(ctx, waiting)
	if err != nil {
		return httpapi.ResearchStatus{}, err
	}
	budget, err := d.Budget(ctx)
	if err != nil {
		return httpapi.ResearchStatus{}, err
	}
	s.Budget = research.BudgetStatus(budget)
	st := research.StatusOf(s)
	out := httpapi.ResearchStatus{
		Status: st.Status, Phase: string(st.Phase), Active: []httpapi.ActiveResearch{}, Lasting: []httpapi.LastingRun{}, Workers: map[string]ktrdr.WorkerSlots{},
		Capacity: s.Queue, Budget: httpapi.ModelBudget(st.Budget),
	}
	for name, slots := range st.Workers {
		out.Workers[name] = ktrdr.WorkerSlots{Busy: slots.Busy, Total: slots.Total}
	}
	for _, r := range st.Lasting {
		out.Lasting = append(out.Lasting, httpapi.LastingRun(r))
	}
	for _, a := range st.Active {
		out.Active = append(out.Active, httpapi.ActiveResearch{
			Operation: a.Operation, Session: a.Session, Status: a.Status, Phase: string(a.Phase), Strategy: a.Strategy, Brief: a.Brief,
			Seed: a.Seed, MadeUp: a.MadeUp, Run: a.Run, Generation: a.Generation, Index: a.Index, Child: a.Child, Progress: a.Progress,
			CreatedAt: a.CreatedAt, StartedAt: a.StartedAt, Seconds: a.Seconds,
		})
	}
	if l := st.Last; l != nil {
		out.Last = &httpapi.EndedResearch{
			Operation: l.Operation, Session: l.Session, Status: l.Status, Outcome: string(l.Outcome), Strategy: l.Strategy,
			Verdict: l.Verdict, Summary: l.Summary, MadeUp: l.MadeUp, Error: l.Error, CompletedAt: l.CompletedAt,
		}
	}
	return out, nil
}

// snapshot reads what a status is made from.
func (d researchDesk) snapshot(ctx context.Context, most int) (research.Snapshot, error) {
	s := research.Snapshot{Children: map[ktrdr.OperationID]ktrdr.Operation{}, Now: time.Now()}
	var err error
	if s.Workers, err = d.engine.Workers(ctx); err != nil {
		return s, err
	}
	q, err := d.engine.InQueue(ctx, research.QueueName, most)
	if err != nil {
		return s, err
	}
	s.Queue = ktrdr.QueueHealth{Limit: d.limit(s.Workers), Active: q.Count.Active, Waiting: q.Count.Waiting}
	s.Researches, s.Last = append(q.Started, q.Waiting...), q.Last
	if s.Runs, err = d.engine.OpenRuns(ctx); err != nil {
		return s, err
	}
	for _, child := range q.Children {
		s.Children[child.ID] = child
	}
	return s, nil
}

// Memory implements httpapi.Research.
func (d researchDesk) Memory(ctx context.Context, q httpapi.MemoryQuery) (httpapi.Memory, string, error) {
	counts, err := d.engine.CountNotes(ctx, ktrdr.NoteQuery{Run: q.Run})
	if err != nil {
		return httpapi.Memory{}, "", err
	}
	tally, err := d.engine.Tally(ctx, ktrdr.TallyQuery{Run: q.Run})
	if err != nil {
		return httpapi.Memory{}, "", err
	}
	m := httpapi.Memory{Kind: q.Kind, Counts: map[string]int64{
		"experiments": counts[research.NoteExperiment], "hypotheses": counts[research.NoteHypothesis],
		"trials": int64(tally.Trials), "looks": int64(tally.Looks),
	}}
	var next string
	notes := ktrdr.NoteQuery{Run: q.Run, Limit: q.Limit, Cursor: q.Cursor}
	switch q.Kind {
	case "hypotheses":
		m.Hypotheses, err = d.hypotheses(ctx, q)
	case "trials":
		var page ktrdr.TrialPage
		page, err = d.engine.Trials(ctx, ktrdr.TrialQuery{Run: q.Run, Limit: q.Limit, Cursor: q.Cursor})
		m.Trials, next = page.Trials, page.Next
	default:
		var records []research.Record
		if records, next, err = d.memory.Records(ctx, notes); err == nil {
			m.Experiments, err = d.experiments(ctx, records)
		}
		for i := range m.Experiments {
			m.Experiments[i].Trial = nil // a row says of it what it shows
		}
	}
	return m, next, err
}

func (d researchDesk) hypotheses(ctx context.Context, q httpapi.MemoryQuery) ([]httpapi.Hypothesis, error) {
	if q.Cursor != "" {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "hypotheses come in one page: leave out the cursor and raise the limit")
	}
	const notesRead = 10_000 // each hypothesis has a note for each time that something became known of it
	known, err := d.memory.Hypotheses(ctx, notesRead)
	if err != nil {
		return nil, err
	}
	list, marks := []httpapi.Hypothesis{}, map[string]*bool{} // by run
	for _, h := range known {
		if q.Run != "" && !strings.HasPrefix(h.Source, q.Run+"/") || q.Limit > 0 && len(list) == q.Limit {
			continue
		}
		id, _, _ := strings.Cut(h.Source, "/") // all researches of a run have the same bars
		mark, seen := marks[id]
		if !seen {
			run, err := d.engine.FindRun(ctx, id)
			if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
				return nil, err
			}
			mark, marks[id] = run.MadeUp, run.MadeUp
		}
		list = append(list, httpapi.Hypothesis{
			ID: h.ID, Text: h.Text, Rationale: h.Rationale, Status: string(h.Status), Source: h.Source, MadeUp: mark, TestedBy: h.TestedBy,
		})
	}
	return list, nil
}

// experiments puts records into the API's words, each with its row of the ledger.
func (d researchDesk) experiments(ctx context.Context, records []research.Record) ([]httpapi.Experiment, error) {
	list := make([]httpapi.Experiment, len(records))
	if len(records) == 0 {
		return list, nil
	}
	ids := make([]ktrdr.OperationID, len(records))
	for i, r := range records {
		ids[i] = r.Operation
	}
	page, err := d.engine.Trials(ctx, ktrdr.TrialQuery{Of: ids, Limit: mostRanked})
	if err != nil {
		return nil, err
	}
	rows := map[ktrdr.OperationID]*ktrdr.Trial{}
	for i := range page.Trials {
		rows[page.Trials[i].Operation] = &page.Trials[i]
	}
	for i, r := range records {
		e := httpapi.Experiment{
			Operation: r.Operation, At: r.At, Run: r.Run, Generation: r.Generation, Index: r.Index,
			Strategy: r.Name, Status: string(r.Status), Verdict: string(r.Verdict), Rung: r.Rung, Summary: r.Summary,
			GateReason: r.GateReason, Error: r.Error,
		}
		if t := rows[r.Operation]; t != nil {
			e.Standing, e.MarketTrials, e.MarketLooks = research.Standing(t), t.MarketTrials, t.MarketLooks
			e.MadeUp, e.Trial = t.MadeUp, t
		}
		if f := r.Figures; f != nil {
			e.Sharpe, e.NetReturn, e.MaxDrawdown, e.Trades = f.Sharpe, &f.NetReturn, &f.MaxDrawdown, f.Trades
		}
		e.Evidence = evidenceOf(r.Figures)
		list[i] = e
	}
	return list, nil
}
