package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

// This file is a user's side of the client.

// operationPath is the path of one operation, or of something below it.
func operationPath(id ktrdr.OperationID, below string) string {
	return "operations/" + url.PathEscape(string(id)) + below
}

// Operation returns one operation.
func (cl *Client) Operation(ctx context.Context, id ktrdr.OperationID) (op ktrdr.Operation, err error) {
	_, err = cl.get(ctx, operationPath(id, ""), nil, &op)
	return op, err
}

// List returns a page of operations: rows without spec, state, metadata and
// result, which Operation has.
func (cl *Client) List(ctx context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, err error) {
	query := url.Values{}
	for _, status := range q.Status {
		query.Add("status", string(status))
	}
	for _, t := range q.Type {
		query.Add("type", string(t))
	}
	for name, set := range map[string]bool{"active_only": q.ActiveOnly, "resumable": q.Resumable, "roots": q.Roots} {
		if set {
			query.Set(name, "true")
		}
	}
	if q.Parent != "" {
		query.Set("parent", string(q.Parent))
	}
	if q.Run != "" {
		query.Set("run", q.Run)
	}
	setSort(query, q.Sort)
	setPage(query, q.Limit, q.Cursor)
	page.Next, err = cl.get(ctx, "operations", query, &page.Operations)
	return page, err
}

func setSort(query url.Values, s ktrdr.Sort) {
	if s != "" {
		query.Set("sort", string(s))
	}
}

func setPage(query url.Values, limit int, cursor string) {
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
}

// Metrics returns how far an operation is, in numbers.
func (cl *Client) Metrics(ctx context.Context, id ktrdr.OperationID) (out OperationMetrics, err error) {
	_, err = cl.get(ctx, operationPath(id, "/metrics"), nil, &out)
	return out, err
}

// Cancel cancels an operation and everything below it. CodeConflict when it
// has ended.
func (cl *Client) Cancel(ctx context.Context, id ktrdr.OperationID, reason string) (out CancelReply, err error) {
	query := url.Values{}
	if reason != "" {
		query.Set("reason", reason)
	}
	err = cl.delete(ctx, operationPath(id, ""), query, &out)
	return out, err
}

// Resume continues an operation from its newest checkpoint. CodeNoCheckpoint,
// CodeConflict, CodeMismatch.
func (cl *Client) Resume(ctx context.Context, id ktrdr.OperationID) (out ResumeReply, err error) {
	err = cl.post(ctx, operationPath(id, "/resume"), nil, &out)
	return out, err
}

// Retry makes a new operation with the same spec. A key makes the call
// repeatable; it may be empty.
func (cl *Client) Retry(ctx context.Context, id ktrdr.OperationID, key string) (out Started, err error) {
	_, err = cl.call(ctx, creating(operationPath(id, "/retry"), key), nil, &out)
	return out, err
}

// StartDummy starts a dummy operation. A key makes the call repeatable; it may
// be empty.
func (cl *Client) StartDummy(ctx context.Context, spec dummy.Spec, key string) (out Started, err error) {
	_, err = cl.call(ctx, creating("dummy/start", key), spec, &out)
	return out, err
}

func creating(path, key string) request {
	q := request{method: http.MethodPost, path: path}
	if key != "" {
		q.header = map[string]string{headerKey: key}
	}
	return q
}

// Workers lists the workers.
func (cl *Client) Workers(ctx context.Context) (out []ktrdr.Worker, err error) {
	_, err = cl.get(ctx, "workers", nil, &out)
	return out, err
}

// SetPaused stops or allows new claims everywhere.
func (cl *Client) SetPaused(ctx context.Context, paused bool) error {
	return cl.post(ctx, "pause", pauseRequest{&paused}, nil)
}

// Paused says whether claims are stopped.
func (cl *Client) Paused(ctx context.Context) (bool, error) {
	var out Pause
	_, err := cl.get(ctx, "pause", nil, &out)
	return out.Paused, err
}

// Health tells how things stand. It works without a token, and also when the
// server says that its store is away.
func (cl *Client) Health(ctx context.Context) (h ktrdr.Health, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cl.timeout, errTimeout)
	defer cancel()
	u := cl.base.JoinPath("api", "v1", "health")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return h, err
	}
	req.Header.Set("User-Agent", cl.agent)
	res, err := cl.http.Do(req)
	if err != nil {
		return h, cl.away(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return h, cl.away(ctx, err)
	}
	if json.Unmarshal(body, &h) != nil || h.Status == "" {
		return h, ktrdr.Errorf(ktrdr.CodeUnavailable, "%s answered %s, but not with a ktrdr server's health; is the address right?",
			cl.URL(), res.Status)
	}
	return h, nil
}

// ListCheckpoints returns a page of operations' newest checkpoints.
func (cl *Client) ListCheckpoints(ctx context.Context, q ktrdr.CheckpointQuery) (page ktrdr.CheckpointPage, err error) {
	query := url.Values{}
	if q.OlderThan != 0 {
		query.Set("older_than_days", days(q.OlderThan))
	}
	setPage(query, q.Limit, q.Cursor)
	page.Next, err = cl.get(ctx, "checkpoints", query, &page.Checkpoints)
	return page, err
}

func days(d time.Duration) string {
	return strconv.FormatFloat(d.Hours()/24, 'g', -1, 64)
}

func checkpointPath(op ktrdr.OperationID, below string) string {
	return "checkpoints/" + url.PathEscape(string(op)) + below
}

// CheckpointAt returns an operation's checkpoint with its state, or its newest
// when id is "".
func (cl *Client) CheckpointAt(ctx context.Context, op ktrdr.OperationID, id string) (out ktrdr.Checkpoint, err error) {
	query := url.Values{}
	if id != "" {
		query.Set("id", id)
	}
	_, err = cl.get(ctx, checkpointPath(op, ""), query, &out)
	return out, err
}

// History lists an operation's checkpoints, newest first.
func (cl *Client) History(ctx context.Context, op ktrdr.OperationID) (out []ktrdr.CheckpointInfo, err error) {
	_, err = cl.get(ctx, checkpointPath(op, "/history"), nil, &out)
	return out, err
}

// DeleteCheckpoints deletes the checkpoints of an operation that has ended and
// says how many there were.
func (cl *Client) DeleteCheckpoints(ctx context.Context, op ktrdr.OperationID) (int, error) {
	var out DeletedCheckpoints
	err := cl.delete(ctx, checkpointPath(op, ""), nil, &out)
	return out.Deleted, err
}

// CheckpointStats sums checkpoints up.
func (cl *Client) CheckpointStats(ctx context.Context) (out ktrdr.CheckpointStats, err error) {
	_, err = cl.get(ctx, "checkpoints/stats", nil, &out)
	return out, err
}

// Cleanup deletes checkpoints older than age and blobs that nothing names. It
// may take minutes.
func (cl *Client) Cleanup(ctx context.Context, age time.Duration) (out CleanupReply, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cleanupWait, errTimeout)
	defer cancel()
	q := request{method: http.MethodPost, path: "checkpoints/cleanup", query: url.Values{"max_age_days": {days(age)}}}
	_, err = cl.roundTrip(ctx, q, nil, &out)
	return out, err
}

// CreateToken makes a token. The answer holds its secret; no other ever will.
func (cl *Client) CreateToken(ctx context.Context, name string, scope ktrdr.Scope) (ktrdr.Secret, ktrdr.Token, error) {
	var out NewTokenReply
	err := cl.post(ctx, "tokens", NewTokenRequest{name, scope}, &out)
	return ktrdr.Secret(out.Secret), out.Token, err
}

// Tokens lists the tokens without their secrets.
func (cl *Client) Tokens(ctx context.Context) (out []ktrdr.Token, err error) {
	_, err = cl.get(ctx, "tokens", nil, &out)
	return out, err
}

// RevokeToken ends a token; the servers notice within seconds.
func (cl *Client) RevokeToken(ctx context.Context, id string) error {
	return cl.delete(ctx, "tokens/"+url.PathEscape(id), nil, nil)
}
