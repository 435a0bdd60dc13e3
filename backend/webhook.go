package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/research"
)

// A delivery is tried five times within half a minute, and again when the lease
// is over. After a day it is given up: a program that must know every run calls the
// API.
const (
	hookTries   = 5
	hookTimeout = 10 * time.Second

	// hookLease is for how long one backend alone delivers a run. It is longer than
	// all tries take.
	hookLease = 2 * time.Minute

	hookPatience = 24 * time.Hour

	// hookLook is how often runs are looked for that another backend leased and
	// did not deliver.
	hookLook = 5 * time.Second
)

var hookRetries = backoff.Policy{First: time.Second}

// endedRuns is what the webhook needs of the engine.
type endedRuns interface {
	NextUndelivered(ctx context.Context, lease time.Duration) (*ktrdr.Run, error)
	MarkDelivered(ctx context.Context, id string) error
}

// webhook posts a message for each run that has ended.
//
//	run ended ──lease──▶ one backend posts it ──told──▶ never again
//	              ▲             │
//	              └──lease over─┘   (the backend died)
//
// Delivered is a column of the run. So of N backends one posts, and a run is posted
// again only if a backend died between the post and its record.
type webhook struct {
	url     string
	runs    endedRuns
	changed func() <-chan struct{}
	log     *slog.Logger
	via     http.RoundTripper // nil: http.DefaultTransport
}

// RunEnded is what is sent.
type RunEnded struct {
	Event      string         `json:"event"` // "run_ended"
	ID         string         `json:"id"`    // of the message: the run's. A second message with it is a repeat
	Run        string         `json:"run"`
	State      ktrdr.RunState `json:"state"`
	Reason     string         `json:"reason,omitempty"` // why it was cancelled or given up
	Researches int            `json:"researches"`
	Outcomes   map[string]int `json:"outcomes"` // how many completed, gate_rejected, failed, cancelled
	Finalists  int            `json:"finalists"`
	Looks      int            `json:"looks"`  // at the holdout
	Claims     int            `json:"claims"` // looks that claim an edge

	// Heads are the heads of its markets' ledgers when it last added a link.
	Heads []ktrdr.ChainHead `json:"ledger_heads,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	EndedAt   time.Time `json:"ended_at"`
}

func runEndedOf(r *ktrdr.Run) RunEnded {
	m := RunEnded{
		Event: "run_ended", ID: r.ID, Run: r.ID, State: r.State, Reason: r.GivenUp, Researches: r.Created,
		Outcomes: research.OutcomeCounts(r.RunCounts), Finalists: r.Finalists, Looks: r.Looks, Claims: r.Claims, Heads: r.Heads,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
	}
	if r.State == ktrdr.RunCancelled {
		m.Reason = r.CancelReason
	}
	return m
}

func (h *webhook) run(ctx context.Context) error {
	if h.url == "" {
		return nil
	}
	return onChange(ctx, h.changed, hookLook, func() {
		if err := h.deliverAll(ctx); err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "runs that ended cannot be read for the webhook", "err", err)
		}
	})
}

func (h *webhook) deliverAll(ctx context.Context) error {
	for {
		run, err := h.runs.NextUndelivered(ctx, hookLease)
		if err != nil || run == nil {
			return err
		}
		if !h.deliver(ctx, run) {
			continue // its lease ends, and then a backend tries again
		}
		if err := h.runs.MarkDelivered(ctx, run.ID); err != nil {
			return err
		}
	}
}

// deliver posts the end of a run. done says that no further post may help: it was
// accepted, or refused, or is too old.
func (h *webhook) deliver(ctx context.Context, run *ktrdr.Run) (done bool) {
	if time.Since(run.EndedAt) > hookPatience {
		h.log.WarnContext(ctx, "webhook delivery given up after 24 h", "run", run.ID, "ended_at", run.EndedAt)
		return true
	}
	again, err := h.postRepeatedly(ctx, runEndedOf(run))
	if err != nil && ctx.Err() == nil {
		h.log.WarnContext(ctx, "the webhook did not accept the end of a run", "run", run.ID, "err", err, "tried_again", again)
	}
	return !again
}

// postRepeatedly posts a message, several times if it must. again says that a later
// post may succeed.
func (h *webhook) postRepeatedly(ctx context.Context, r RunEnded) (again bool, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	for try := 1; ; try++ {
		if again, err = h.post(ctx, body); !again || try == hookTries {
			return again, err
		}
		if !hookRetries.Wait(ctx, try-1) {
			return true, err
		}
	}
}

// post sends a body once. The address may hold a secret, so no error names it.
func (h *webhook) post(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the webhook's URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ktrdr")
	client := &http.Client{Transport: h.via, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return true, e.Err
	}
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	switch {
	case res.StatusCode < 300:
		return false, nil
	case res.StatusCode >= 500, res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusRequestTimeout:
		return true, fmt.Errorf("it answered %s", res.Status)
	}
	return false, fmt.Errorf("it answered %s", res.Status)
}
