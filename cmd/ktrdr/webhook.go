package main

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
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/research"
)

// hookFile remembers, in the data folder, up to which event the webhook's owner
// knows. Without it a backend that was away would skip what ended meanwhile.
const hookFile = "webhook-cursor"

// How hard a delivery is tried: five times within half a minute, and then the
// run is given up. Who must know everything asks the API.
const (
	hookTries   = 5
	hookPause   = time.Second // before the second try; doubled each time
	hookTimeout = 10 * time.Second
)

// webhook tells somebody of runs that have ended. A run is told of when none of
// its researches is left; again when one of them was resumed and ended anew. One
// that ended at the moment of a crash may be told of twice.
type webhook struct {
	url    string
	dir    string // of hookFile
	engine *engine.Engine
	log    *slog.Logger
	told   map[string]runEnded // the last word on each run
}

// runEnded is what is sent.
type runEnded struct {
	Event      string         `json:"event"` // "run_ended"
	Run        string         `json:"run"`
	Researches int            `json:"researches"`
	Outcomes   map[string]int `json:"outcomes"` // how many completed, gate_rejected, failed, cancelled
	Claims     int            `json:"claims"`   // how many claim an edge
	EndedAt    time.Time      `json:"ended_at"`
}

func (r runEnded) same(other runEnded) bool {
	return r.EndedAt.Equal(other.EndedAt) && r.Researches == other.Researches
}

// run tells of runs until ctx ends.
func (h *webhook) run(ctx context.Context) error {
	if h.url == "" {
		return nil
	}
	h.told = map[string]runEnded{}
	after, known := h.load()
	return endings{engine: h.engine, log: h.log, tell: h.look, told: h.save}.follow(ctx, after, known)
}

// look tells of a research's run if it was the last of it.
func (h *webhook) look(ctx context.Context, op ktrdr.Operation) error {
	if op.Queue == nil {
		return nil
	}
	report, over, err := h.report(ctx, op.Queue.Run)
	if err != nil || !over || report.same(h.told[report.Run]) {
		return err
	}
	h.told[report.Run] = report
	if err := h.deliver(ctx, report); err != nil && ctx.Err() == nil {
		h.log.WarnContext(ctx, "the webhook did not take the end of a run", "run", report.Run, "err", err)
	}
	return ctx.Err()
}

// report counts how the researches of a run ended; over is false while one of
// them has not.
func (h *webhook) report(ctx context.Context, run string) (r runEnded, over bool, err error) {
	r = runEnded{Event: "run_ended", Run: run, Outcomes: map[string]int{}}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Roots: true, Limit: 1000}
	for {
		page, err := h.engine.List(ctx, q)
		if err != nil {
			return r, false, err
		}
		found := false
		for _, op := range page.Operations {
			if op.Queue == nil || op.Queue.Run != run {
				continue
			}
			if !op.Status.Terminal() {
				return r, false, nil
			}
			found = true
			r.add(op)
		}
		if page.Next == "" || r.Researches > 0 && !found { // a run is created in one go
			return r, true, nil
		}
		q.Cursor = page.Next
	}
}

func (r *runEnded) add(op ktrdr.Operation) {
	r.Researches++
	r.Outcomes[string(research.OutcomeOf(op))]++
	var result research.Result
	if json.Unmarshal(op.Result, &result) == nil && result.Claim {
		r.Claims++
	}
	if op.CompletedAt.After(r.EndedAt) {
		r.EndedAt = op.CompletedAt
	}
}

// deliver posts a report, and tries again what may be better the next time.
func (h *webhook) deliver(ctx context.Context, r runEnded) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	pause := hookPause
	for try := 1; ; try++ {
		again, err := h.post(ctx, body)
		if err == nil || !again || try == hookTries {
			return err
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return err
		case <-wait.C:
		}
		pause *= 2
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
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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

// load reads where the last backend on this folder was.
func (h *webhook) load() (ktrdr.Cursor, bool) {
	text, err := os.ReadFile(filepath.Join(h.dir, hookFile))
	if err != nil {
		return ktrdr.Cursor{}, false
	}
	c, err := ktrdr.ParseCursor(strings.TrimSpace(string(text)))
	return c, err == nil
}

func (h *webhook) save(ctx context.Context, c ktrdr.Cursor) {
	_, err := writeWhole(filepath.Join(h.dir, hookFile), func(w io.Writer) error {
		_, err := io.WriteString(w, c.String()+"\n")
		return err
	})
	if err != nil {
		h.log.WarnContext(ctx, "the webhook's place in the events cannot be kept", "err", err)
	}
}
