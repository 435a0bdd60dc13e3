package labtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// This file is what a lab asks of a backend that may be dying, and of all its rows.

// TryCancel is Cancel for a backend that may be dying; 0 when there was no
// answer.
func (l *Lab) TryCancel(id ktrdr.OperationID) int {
	status, _, err := call[json.RawMessage](l, http.MethodDelete, "/api/v1/operations/"+string(id), nil)
	if err != nil {
		return 0
	}
	return status
}

// Metric returns a counter's value from /metrics, 0 when it is not there.
func (l *Lab) Metric(name string) float64 {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "http://"+l.addr+"/metrics", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err != nil {
				l.t.Fatal(err)
			}
			return v
		}
	}
	return 0
}

// Adopt makes the other lab's acknowledged submits this one's to audit.
func (l *Lab) Adopt(other *Lab) { l.acked = append(l.acked, other.acked...) }

// TryResume resumes an operation and returns the status of the answer, 0 when
// there was none.
func (l *Lab) TryResume(id ktrdr.OperationID) int {
	status, _, err := call[json.RawMessage](l, http.MethodPost, "/api/v1/operations/"+string(id)+"/resume", nil)
	if err != nil {
		return 0
	}
	return status
}

// Completes waits for an operation to complete. One whose worker died
// is resumed from its checkpoint, or retried when it has none.
func (l *Lab) Completes(id ktrdr.OperationID) {
	l.t.Helper()
	op := l.Until(id, time.Minute, "ended", func(op ktrdr.Operation) bool { return op.Status.Terminal() })
	switch {
	case op.Status == ktrdr.Completed:
		return
	case op.Checkpoint == nil:
		id = l.Retry(id)
	default:
		l.Resume(id)
	}
	l.Ends(id, ktrdr.Completed)
}

// Retry starts an operation over and remembers the new one.
func (l *Lab) Retry(id ktrdr.OperationID) ktrdr.OperationID {
	l.t.Helper()
	status, out, err := call[struct {
		ID ktrdr.OperationID `json:"operation_id"`
	}](l, http.MethodPost, "/api/v1/operations/"+string(id)+"/retry", nil, "Idempotency-Key", "retry-"+string(id))
	if err != nil || status != http.StatusAccepted {
		l.t.Fatalf("retry %s: %d %+v %v", id, status, out.Error, err)
	}
	i := slices.IndexFunc(l.acked, func(s submitted) bool { return s.id == id })
	if i < 0 {
		l.t.Fatalf("%s exists but was never acknowledged to this lab", id)
	}
	l.acked = append(l.acked, submitted{out.Data.ID, l.acked[i].spec})
	return out.Data.ID
}

// Roots lists every operation without a parent.
func (l *Lab) Roots() []ktrdr.Operation {
	l.t.Helper()
	var all []ktrdr.Operation
	for cursor := ""; ; {
		status, out, err := call[[]ktrdr.Operation](l, http.MethodGet, "/api/v1/operations?limit=200&cursor="+cursor, nil)
		if err != nil || status != http.StatusOK {
			l.t.Fatalf("list: %d %+v %v", status, out.Error, err)
		}
		for _, op := range out.Data {
			if op.Parent != "" {
				continue
			}
			if op.Status == ktrdr.Failed { // a row does not have its checkpoint
				op = l.Op(op.ID)
			}
			all = append(all, op)
		}
		if cursor = out.Next; cursor == "" {
			return all
		}
	}
}
