package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
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
// its researches is left and no more can come; again when one of them was resumed
// and ended anew. One that ended at the moment of a crash may be told of twice.
type webhook struct {
	url    string
	dir    string // of hookFile
	engine *engine.Engine
	log    *slog.Logger

	hopeless *hopeless

	told map[string]runEnded  // the last word on each run
	due  map[string]time.Time // runs of which nothing is left, whose time is not over: when it is
	at   ktrdr.Cursor         // up to where the events are known
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
	h.told, h.due = map[string]runEnded{}, map[string]time.Time{}
	known := h.load()
	return endings{
		engine: h.engine, log: h.log,
		tell: func(ctx context.Context, op ktrdr.Operation) error {
			if op.Queue == nil {
				return nil
			}
			return h.look(ctx, op.Queue.Run)
		},
		told: func(ctx context.Context, c ktrdr.Cursor) { h.at = c; h.save(ctx) },
		idle: h.lookAtDue,
	}.follow(ctx, h.at, known)
}

// lookAtDue tells of the runs whose time is over. What ended last of them did so
// before, so that no event says it.
func (h *webhook) lookAtDue(ctx context.Context) error {
	for run, at := range h.due {
		if time.Now().Before(at) && !h.hopeless.has(run) {
			continue
		}
		if err := h.look(ctx, run); err != nil {
			return err
		}
		h.save(ctx)
	}
	return nil
}

// look tells of a run if it is over.
func (h *webhook) look(ctx context.Context, run string) error {
	r := runSoFar{runEnded: runEnded{Event: "run_ended", Run: run, Outcomes: map[string]int{}}}
	err := eachOfRun(ctx, h.engine, run, func(op *ktrdr.Operation) bool { r.add(op); return r.open == 0 })
	if err != nil {
		return err
	}
	delete(h.due, run)
	r.stopped = r.stopped || h.hopeless.has(run)
	switch {
	case r.open == 0 && r.Researches > 0 && !r.over(time.Now()):
		h.due[run] = r.until.Add(afterUntil)
		return nil
	case r.open > 0 || r.Researches == 0 || r.same(h.told[run]):
		return nil
	}
	h.told[run] = r.runEnded
	if err := h.deliver(ctx, r.runEnded); err != nil && ctx.Err() == nil {
		h.log.WarnContext(ctx, "the webhook did not take the end of a run", "run", run, "err", err)
	}
	return ctx.Err()
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

// load reads where the last backend on this folder was: the place in the events,
// and in the lines after it the runs whose time was not over.
func (h *webhook) load() (known bool) {
	text, err := os.ReadFile(filepath.Join(h.dir, hookFile))
	if err != nil {
		return false
	}
	lines := strings.Fields(string(text))
	if len(lines) == 0 {
		return false
	}
	if h.at, err = ktrdr.ParseCursor(lines[0]); err != nil {
		return false
	}
	for _, run := range lines[1:] {
		h.due[run] = time.Time{} // to be looked at now
	}
	return true
}

func (h *webhook) save(ctx context.Context) {
	lines := append([]string{h.at.String()}, slices.Sorted(maps.Keys(h.due))...)
	_, err := writeWhole(filepath.Join(h.dir, hookFile), func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
		return err
	})
	if err != nil {
		h.log.WarnContext(ctx, "the webhook's place in the events cannot be kept", "err", err)
	}
}
