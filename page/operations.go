package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
)

func (p *Pages) routeOperations() {
	p.mux.HandleFunc("GET /operations", p.view("Operations", "operations", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readOperations(ctx, readOperationsQuery(r.URL.Query()))
	}))
	p.mux.HandleFunc("GET /operations/{id}", p.view("Operation", "operation", p.readOperation))
	p.mux.HandleFunc("GET /operations/{id}/files/{name}", p.sendFile)
	p.mux.HandleFunc("POST /operations/pause", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		return "/operations", p.lab.SetPaused(ctx, r.PostFormValue("paused") == "true")
	}))
	p.mux.HandleFunc("POST /operations/{id}/cancel", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		id := r.PathValue("id")
		_, err := p.lab.Cancel(ctx, ktrdr.OperationID(id), "from the page")
		return "/operations/" + id, err
	}))
	p.mux.HandleFunc("POST /operations/{id}/resume", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		id := r.PathValue("id")
		_, err := p.lab.ResumeFrom(ctx, ktrdr.OperationID(id), r.PostFormValue("checkpoint"))
		return "/operations/" + id, err
	}))
	p.mux.HandleFunc("POST /operations/{id}/retry", p.act(func(_ context.Context, r *http.Request) (string, error) {
		made, err := p.retryOnce(r, ktrdr.OperationID(r.PathValue("id")))
		return "/operations/" + string(made), err
	}))
	p.mux.HandleFunc("POST /breakers/{name}/decide", p.act(p.decideBreaker))
}

// operationsQuery is the query of the list.
type operationsQuery struct {
	status, kind, search, cursor string
	roots                        bool
	breaker                      string // the one that a person decides about
}

func readOperationsQuery(v url.Values) operationsQuery {
	return operationsQuery{
		status: v.Get("status"), kind: v.Get("type"), search: strings.TrimSpace(v.Get("q")), cursor: v.Get("cursor"),
		roots: v.Get("roots") == "1", breaker: v.Get("breaker"),
	}
}

// at is the URL of the list with this query.
func (q operationsQuery) at() string {
	roots := ""
	if q.roots {
		roots = "1"
	}
	return withQuery("/operations", field{"status", q.status}, field{"type", q.kind}, field{"q", q.search}, field{"roots", roots},
		field{"cursor", q.cursor}, field{"breaker", q.breaker})
}

// withQuery is a path with those of the fields that have a value.
func withQuery(path string, fields ...field) string {
	v := url.Values{}
	for _, f := range fields {
		if f.Value != "" {
			v.Set(f.Name, f.Value)
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// operations is the view of the list, of workers, and of circuit breakers.
type operations struct {
	Headline, Lead string
	Facts          []field
	Pause          *action

	Tabs     []tab
	Types    []option
	Query    []field // of the tab, kept by the form
	Search   string
	Roots    bool
	Rows     []operationRow
	Tree     bool // parts are below their operations
	Empty    string
	Filtered bool
	Shown    string
	Next     string

	Fleet    fleet
	Service  serviceLevel
	Breakers breakers
}

// tab is a choice with its count.
type tab struct {
	Name, Link string
	N          int // 0: not told
	Here       bool
}

// operationRow is a row of a list of operations.
type operationRow struct {
	ID, Handle, Kind, Status, Mark, Percent, Step, Worker, Took, Detail, Created string
	Child, Live                                                                  bool
	Attempts                                                                     int
	Actions                                                                      []action

	Parts []operationRow // below it
	Open  bool           // its parts are shown at first
	Run   *runGroup      // of this row and those that follow; nil: the same as before
}

const rowsOfAPage = 50

func (p *Pages) readOperations(ctx context.Context, q operationsQuery) (operations, error) {
	var v operations
	ask := ktrdr.OperationQuery{Roots: q.roots || q.tree(), Search: q.search, Limit: rowsOfAPage, Cursor: q.cursor}
	if q.status != "" {
		ask.Status = []ktrdr.Status{ktrdr.Status(q.status)}
	}
	if q.kind != "" {
		ask.Type = []ktrdr.Type{ktrdr.Type(q.kind)}
	}
	list, next, err := p.lab.Rows(ctx, ask)
	if err != nil {
		return v, err
	}
	health, err := p.lab.Health(ctx)
	if err != nil {
		return v, err
	}
	workers, err := p.lab.Workers(ctx)
	if err != nil {
		return v, err
	}
	running, _, err := p.lab.Rows(ctx, ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Running, ktrdr.Reconciling}, Limit: 1000})
	if err != nil {
		return v, err
	}
	if v.Service, err = p.readServiceLevel(ctx); err != nil {
		return v, err
	}
	if v.Breakers, err = p.readBreakers(ctx, q); err != nil {
		return v, err
	}
	v.Fleet = fleetOf(workers, running, p.now())
	v.head(&health, may(ctx))
	v.choices(q, health.Operations)
	names := workerNames(workers)
	for i := range list {
		v.Rows = append(v.Rows, p.operationRow(&list[i], names, may(ctx), q.at()))
	}
	if v.Tree = q.tree(); v.Tree {
		if err := p.readParts(ctx, list, names, q.at(), &v); err != nil {
			return v, err
		}
	}
	v.Filtered = q.status != "" || q.kind != "" || q.search != "" || q.roots
	v.Shown = fmt.Sprintf("%d shown.", len(v.Rows))
	if next != "" {
		q.cursor, q.breaker = next, ""
		v.Next = q.at()
	}
	return v, nil
}

// head says how things stand.
func (v *operations) head(h *ktrdr.Health, mayChange bool) {
	live := countIn(h.Operations, "", ktrdr.Running) + countIn(h.Operations, "", ktrdr.Reconciling)
	switch {
	case h.Paused:
		v.Headline = "Paused: nothing new is started."
	case live == 0:
		v.Headline = "Nothing is running."
	default:
		v.Headline = have(int(live), "operation", "is running.", "are running.")
	}
	if n := v.Breakers.Open; n > 0 {
		v.Headline += " " + have(n, "circuit breaker", "is open.", "are open.")
	}
	said := []string{v.Service.Sentence}
	if n := countIn(h.Operations, "", ktrdr.Pending); n > 0 {
		said = append(said, have(int(n), "operation", "waits.", "wait."))
	}
	if n := len(v.Fleet.Gone); n > 0 {
		said = append(said, fmt.Sprintf("%d of %s are gone.", n, plural(n+len(v.Fleet.Live), "worker")))
	}
	v.Lead = strings.Join(append(said, h.Problems...), " ")
	v.Facts = []field{
		{"Backend up", lasted(time.Duration(h.UptimeSeconds * float64(time.Second)))},
		{"Store", h.Store.Kind},
		{"Disk free", size(h.DiskFreeBytes)},
		{"Orphans found", count(int(h.OrphanDetector.OrphanedTotal))},
	}
	if mayChange {
		v.Pause = &action{Name: "Pause new work", Path: "/operations/pause", Fields: []field{{"paused", "true"}}, Command: "ktrdr pause"}
		if h.Paused {
			v.Pause = &action{
				Name: "Start new work again", Path: "/operations/pause", Fields: []field{{"paused", "false"}}, Command: "ktrdr unpause", Main: true,
			}
		}
	}
}

// countIn adds up the operations of a type and a status; an empty one means all.
func countIn(all []ktrdr.Count, kind ktrdr.Type, status ktrdr.Status) (n int64) {
	for _, c := range all {
		if (kind == "" || c.Type == kind) && (status == "" || c.Status == status) {
			n += c.N
		}
	}
	return n
}

// choices are the tabs and the types that the form offers.
func (v *operations) choices(q operationsQuery, counts []ktrdr.Count) {
	v.Search, v.Roots = q.search, q.roots
	if q.status != "" {
		v.Query = []field{{"status", q.status}}
	}
	for _, s := range append([]ktrdr.Status{""}, ktrdr.Statuses...) {
		n := countIn(counts, ktrdr.Type(q.kind), s)
		if n == 0 && s != "" && string(s) != q.status {
			continue
		}
		to := q
		to.status, to.cursor, to.breaker = string(s), "", ""
		name := "All"
		if s != "" {
			name = capital(statusWord(s))
		}
		if q.roots || q.search != "" { // the counts are of all
			n = 0
		}
		v.Tabs = append(v.Tabs, tab{Name: name, Link: to.at(), N: int(n), Here: string(s) == q.status})
	}
	var kinds []string
	for _, c := range counts {
		kinds = append(kinds, string(c.Type))
	}
	slices.Sort(kinds)
	v.Types = []option{{Name: "All", Chosen: q.kind == ""}}
	for _, k := range slices.Compact(kinds) {
		v.Types = append(v.Types, option{Value: k, Name: kindWord(ktrdr.Type(k)), Chosen: k == q.kind})
	}
	v.Empty = "No operation yet. Start a research, or run the demo."
	if q != (operationsQuery{}) {
		v.Empty = "No operation matches."
	}
}

// operationRow is a row of a list. Its forms come back to the page at back.
func (p *Pages) operationRow(op *api.OperationRow, workers map[ktrdr.WorkerID]string, mayChange bool, back string) operationRow {
	r := operationRow{
		ID: string(op.ID), Handle: op.ID.Tail(), Kind: kindWord(op.Type), Status: statusWord(op.Status), Mark: statusMarks[op.Status],
		Child: op.Parent != "", Live: !op.Status.Terminal(), Attempts: op.Attempts, Worker: missing,
		Created: op.CreatedAt.UTC().Format(time.RFC3339), Took: p.took(op.CreatedAt, op.CompletedAt), Detail: detail(op),
	}
	if op.Worker != "" {
		r.Worker = nameOf(op.Worker, workers)
	}
	if r.Live {
		r.Percent, r.Step = chart.Number(op.Progress.Percentage, 0), op.Progress.CurrentStep
		if op.Phase != "" {
			r.Step = strings.ToLower(op.Phase)
		}
	}
	if mayChange {
		r.Actions = operationActions(op, back, p.now())
	}
	return r
}

// took is how long an operation has existed, or did until it ended.
func (p *Pages) took(created, completed time.Time) string {
	if completed.IsZero() {
		completed = p.now()
	}
	return lasted(max(0, completed.Sub(created)))
}

// detail is what a reader of the list should know besides the status.
func detail(op *api.OperationRow) string {
	switch {
	case op.ErrorMessage != "":
		return op.ErrorMessage
	case op.Unschedulable != "":
		return op.Unschedulable
	case op.CancelRequested && !op.Status.Terminal():
		return "stops at the next heartbeat of its worker"
	case op.StalledSeconds > 0:
		return "no progress for " + lasted(time.Duration(op.StalledSeconds*float64(time.Second)))
	case op.Rung == ktrdr.RungRejected:
		return "stopped by a gate"
	case op.Rung == ktrdr.RungFinalist:
		return "finalist"
	}
	return ""
}

// operationActions are what a person can do to an operation now.
func operationActions(op *api.OperationRow, back string, now time.Time) []action {
	id := string(op.ID)
	do := func(verb, name, ask string) action {
		return action{
			Name: name, Path: "/operations/" + id + "/" + verb, Fields: []field{{"back", back}}, Command: "ktrdr " + verb + " " + id, Ask: ask,
		}
	}
	switch {
	case op.Status.Terminal() && op.Status != ktrdr.Completed:
		retry := do("retry", "Retry", "Run "+id+" again from the beginning, as a new operation?")
		retry.Fields = append(retry.Fields, retryKey(op.ID, now))
		if op.Resumable {
			return []action{do("resume", "Resume", ""), retry}
		}
		return []action{retry}
	case !op.Status.Terminal() && !op.CancelRequested:
		return []action{do("cancel", "Cancel", "Cancel "+id+" and everything below it?")}
	}
	return nil
}

// statusMarks are the shapes that stand before the words of a status.
var statusMarks = map[ktrdr.Status]string{
	ktrdr.Pending: "wait", ktrdr.Running: "run", ktrdr.Reconciling: "run", ktrdr.Completed: "done", ktrdr.Failed: "failed",
	ktrdr.Cancelled: "gate",
}

func statusWord(s ktrdr.Status) string {
	switch s {
	case ktrdr.Pending:
		return "waiting"
	case ktrdr.Reconciling:
		return "waiting for its worker"
	}
	return strings.ToLower(string(s))
}

func kindWord(t ktrdr.Type) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(t), "agent_"), "_", " ")
}

// nameOf is the name of a worker, or the start of the id of one that has left.
func nameOf(id ktrdr.WorkerID, names map[ktrdr.WorkerID]string) string {
	if name, ok := names[id]; ok {
		return name
	}
	return string(id[:min(len(id), 8)])
}

func workerNames(all []ktrdr.Worker) map[ktrdr.WorkerID]string {
	names := map[ktrdr.WorkerID]string{}
	for _, w := range all {
		names[w.ID] = workerName(&w)
	}
	return names
}

// operationNamed finds the operation that an id, or the start of one, means.
func (p *Pages) operationNamed(ctx context.Context, text string) (ktrdr.OperationID, error) {
	if _, err := p.lab.Operation(ctx, ktrdr.OperationID(text)); err == nil {
		return ktrdr.OperationID(text), nil
	} else if c := ktrdr.CodeOf(err); c != ktrdr.CodeNotFound && c != ktrdr.CodeInvalid {
		return "", err
	}
	found, _, err := p.lab.Rows(ctx, ktrdr.OperationQuery{Search: text, Limit: rowsOfAPage, Sort: ktrdr.Oldest})
	if err != nil {
		return "", err
	}
	if len(found) == 0 || slices.ContainsFunc(found, func(op api.OperationRow) bool { return op.Root != found[0].Root }) {
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "no single operation has %q in its id; the list of operations searches for it", text)
	}
	return found[0].ID, nil
}
