package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
)

// operation is the view of one operation.
type operation struct {
	operationRow
	Headline string
	Error    string
	Facts    []fact
	Parent   *link
	Research *link
	Children []operationRow
	Events   []happened

	Checkpoints      []checkpointRow
	Steps            template.HTML
	CheckpointsShown string
	Diff             *checkpointDiff
	Files            []fileRow
	Compacted        bool
	Spec             string
}

// fact is a line of a list of names and values; a value may be an instant.
type fact struct {
	Name, Value string
	At          string // RFC 3339
}

type fileRow struct {
	Name, Size, Hash, Link string
}

func (p *Pages) readOperation(ctx context.Context, r *http.Request) (any, error) {
	id, err := p.operationNamed(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	op, err := p.lab.Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	workers, err := p.lab.Workers(ctx)
	if err != nil {
		return nil, err
	}
	names := workerNames(workers)
	here := "/operations/" + string(id)
	row := rowOf(&op)
	v := operation{
		operationRow: p.operationRow(&row, names, may(ctx), here), Error: op.ErrorMessage, Compacted: op.Compacted, Spec: indented(op.Spec),
	}
	v.Headline = operationHeadline(&op)
	if stem, ok := strings.CutSuffix(v.Headline, "."); ok && v.Error != "" && len(v.Error) <= mostHeadline {
		v.Headline, v.Error = stem+": "+v.Error, ""
	}
	v.facts(&op, p.now())
	if err := p.readTree(ctx, &op, names, &v); err != nil {
		return nil, err
	}
	if v.Events, err = p.readTimeline(ctx, id, names); err != nil {
		return nil, err
	}
	q := r.URL.Query()
	if err := p.readCheckpoints(ctx, &op, q.Get("from"), q.Get("to"), &v); err != nil {
		return nil, err
	}
	return v, p.readFiles(ctx, id, &v)
}

// mostHeadline is how long an error may be that is the headline.
const mostHeadline = 120

// rowOf is an operation as a list has it.
func rowOf(op *ktrdr.Operation) api.OperationRow {
	return api.OperationRow{
		ID: op.ID, Type: op.Type, Status: op.Status, Phase: op.Phase, Attempts: op.Attempts, Parent: op.Parent, Root: op.Root,
		HasPlan: op.HasPlan, Worker: op.Worker, CancelRequested: op.CancelRequested, Rung: op.Rung, ErrorMessage: op.ErrorMessage,
		Progress:  api.RowProgress{Percentage: op.Progress.Percentage, CurrentStep: op.Progress.CurrentStep},
		Resumable: op.Status.Terminal() && op.Status != ktrdr.Completed && op.Checkpoint != nil,
		CreatedAt: op.CreatedAt, StartedAt: op.StartedAt, CompletedAt: op.CompletedAt, NotBefore: op.NotBefore,
		Unschedulable: op.Unschedulable, StalledSeconds: op.StalledSeconds,
	}
}

// operationHeadline says how the operation stands.
func operationHeadline(op *ktrdr.Operation) string {
	kind := capital(kindWord(op.Type))
	switch op.Status {
	case ktrdr.Failed:
		return kind + " failed."
	case ktrdr.Cancelled:
		return kind + " was cancelled."
	case ktrdr.Completed:
		return kind + " completed."
	case ktrdr.Reconciling:
		return kind + " waits for its worker to report."
	case ktrdr.Pending:
		return kind + " waits for a slot."
	}
	return fmt.Sprintf("%s is running, %s %%.", kind, chart.Number(op.Progress.Percentage, 0))
}

func (v *operation) facts(op *ktrdr.Operation, now time.Time) {
	say := func(name, value string) {
		if value != "" {
			v.Facts = append(v.Facts, fact{Name: name, Value: value})
		}
	}
	at := func(name string, t time.Time) {
		if !t.IsZero() {
			v.Facts = append(v.Facts, fact{Name: name, Value: stamp(t), At: t.UTC().Format(time.RFC3339)})
		}
	}
	say("Attempts", count(op.Attempts))
	if v.Worker != missing {
		say("Worker", v.Worker)
	}
	say("Run", op.Run)
	at("Created", op.CreatedAt)
	at("First claimed", op.StartedAt)
	if !op.Status.Terminal() {
		at("Last heartbeat", op.HeartbeatAt)
	}
	at("Ended", op.CompletedAt)
	say("Took", v.Took)
	if op.NotBefore.After(now) {
		at("Next attempt", op.NotBefore)
	}
	at("Its worker has until", op.Deadline)
	if op.Losses > 0 {
		say("Lost workers in a row", count(op.Losses))
	}
	if op.MaxStep > 0 {
		say("Furthest step", count(int(op.MaxStep)))
	}
	say("Cancelled because", op.CancelReason)
	if op.RetryOf != "" {
		say("Repeats", string(op.RetryOf))
	}
}

// readTree reads what is above and below the operation.
func (p *Pages) readTree(ctx context.Context, op *ktrdr.Operation, names map[ktrdr.WorkerID]string, v *operation) error {
	if op.Parent != "" {
		v.Parent = &link{op.Parent.Tail(), "/operations/" + string(op.Parent)}
	}
	if op.Type == ktrdr.AgentResearch {
		v.Research = &link{"Strategy page", "/strategies/" + string(op.ID)}
	}
	children, err := client.Call(ctx, p.lab, api.Children, api.ChildrenRequest{ByID: api.ByID{ID: op.ID}, Page: api.Page{Limit: rowsOfAPage}})
	if err != nil {
		return err
	}
	slices.Reverse(children) // in the order they were made
	for i := range children {
		v.Children = append(v.Children, p.operationRow(&children[i], names, may(ctx), "/operations/"+string(op.ID)))
	}
	return nil
}

func (p *Pages) readFiles(ctx context.Context, id ktrdr.OperationID, v *operation) error {
	got, _, err := p.lab.Results(ctx, id, nil, 0, "")
	if err != nil {
		return err
	}
	for _, a := range got.Artifacts {
		v.Files = append(v.Files, fileRow{
			Name: a.Name, Size: size(a.Size), Hash: a.SHA256.String()[:12], Link: "/operations/" + string(id) + "/files/" + a.Name,
		})
	}
	return nil
}

// sendFile sends a file that an operation made, as a download.
func (p *Pages) sendFile(w http.ResponseWriter, r *http.Request) {
	ctx, id := r.Context(), ktrdr.OperationID(r.PathValue("id"))
	if _, ok := api.Caller(ctx); !ok {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	got, _, err := p.lab.Results(ctx, id, nil, 0, "")
	if err != nil {
		p.fail(w, r, err)
		return
	}
	at := slices.IndexFunc(got.Artifacts, func(a api.Download) bool { return a.Name == r.PathValue("name") })
	if at < 0 {
		p.fail(w, r, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has no file with this name", id))
		return
	}
	a := got.Artifacts[at].Artifact
	from, err := p.lab.OpenFile(ctx, id, a)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer func() { _ = from.Close() }()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": id.Tail() + "-" + a.Name}))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", fmt.Sprint(a.Size))
	if _, err := io.Copy(w, from); err != nil {
		p.log.WarnContext(ctx, "download failed", "operation", id, "file", a.Name, "error", err)
		panic(http.ErrAbortHandler) // the browser must not take the part for the file
	}
}

// indented is a JSON text for people.
func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if len(text) == 0 || json.Indent(&out, text, "", "  ") != nil {
		return strings.TrimSpace(string(text))
	}
	return out.String()
}
