package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// runPoll is how often a stream reads its run when no hint says that something
// has changed.
const runPoll = 5 * time.Second

// eventRun is the name of the events of a run's stream.
const eventRun = "run"

// The routes of runs and of the looks at holdouts.
func runRoutes() []row {
	const base = "/api/v1/runs"
	events := get(base+"/{id}/events",
		"The run now and again whenever it has changed, until it has ended, as a stream or, with Accept: application/json, once")
	events.stream, events.produces = true, contentEvents
	return []row{
		on(get(base, "Runs, newest first, with the counts of their researches",
			param{name: "state", kind: kindString, doc: "states, in either case: " + text.Join(ktrdr.RunStates), many: true},
			paramSort, paramLimit, paramCursor), (*Server).runs),
		on(get(base+"/{id}", "One run with its request; the id may be shortened as long as it names one run"), (*Server).run),
		on(del(base+"/{id}", "Cancel a run: nothing of it starts afterwards, and its open operations are cancelled in batches",
			param{name: "reason", kind: kindString, doc: "why, for people"}), (*Server).cancelRun),
		&plain{events, (*Server).runEvents},
		on(get("/api/v1/looks", "Looks at holdouts, newest first: each with its number on every market, p, adjusted p and claim",
			param{name: "run", kind: kindString, doc: "only those of this run"},
			param{name: "market", kind: kindString, doc: "only those at the holdout of this market"},
			param{name: "research", kind: kindString, doc: "only those at the strategy of this research"},
			param{name: "claims", kind: kindBoolean, doc: "only those that claim an edge"},
			paramLimit, paramCursor), (*Server).looks),
	}
}

func (s *Server) runs(c *call, _ none) ([]ktrdr.Run, error) {
	q := ktrdr.RunQuery{Sort: c.query.sort(), Limit: c.query.count("limit", maxPage), Cursor: c.query.Get("cursor")}
	for _, given := range c.query.several("state") {
		state := ktrdr.RunState(strings.ToUpper(given))
		if !slices.Contains(ktrdr.RunStates, state) {
			unknown(&c.query, "state", given, ktrdr.RunStates)
		}
		q.State = append(q.State, state)
	}
	if c.query.err != nil {
		return nil, c.query.err
	}
	page, err := s.engine.Runs(c.Context(), q)
	c.next = page.Next
	for i, r := range page.Runs {
		page.Runs[i] = runRow(r)
	}
	return listed(page.Runs), err
}

// runNamed is the id of the run that the query names, whole or its beginning;
// empty if it names none.
func (s *Server) runNamed(c *call) (string, error) {
	text := c.query.Get("run")
	if text == "" {
		return "", nil
	}
	id, err := madeRunID(text)
	if err != nil {
		return "", err
	}
	run, err := s.engine.FindRun(c.Context(), id)
	return run.ID, err
}

func (s *Server) run(c *call, _ none) (ktrdr.Run, error) {
	id, err := c.runID()
	if err != nil {
		return ktrdr.Run{}, err
	}
	return s.engine.FindRun(c.Context(), id)
}

// runID returns the path's run.
func (c *call) runID() (string, error) { return madeRunID(c.PathValue("id")) }

// madeRunID refuses an id that the server could not have made: it names no run.
func madeRunID(id string) (string, error) {
	made := func(r rune) bool { return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' }
	if !strings.HasPrefix(id, "run_") || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool { return !made(r) }) {
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run %.80q; `ktrdr runs` lists them", id)
	}
	return id, nil
}

// cancelRun marks a run. Its operations follow when the backend's keeper of runs
// comes to them.
func (s *Server) cancelRun(c *call, _ none) (ktrdr.Run, error) {
	reason := c.query.Get("reason")
	if len(reason) > maxReason {
		return ktrdr.Run{}, malformed("a reason has at most %d bytes", maxReason)
	}
	run, err := s.run(c, none{})
	if err != nil {
		return ktrdr.Run{}, err
	}
	return s.engine.CancelRun(c.Context(), run.ID, cmp.Or(c.token.Name, "no token"), reason)
}

func (s *Server) looks(c *call, _ none) ([]ktrdr.Look, error) {
	q := ktrdr.LookQuery{
		Market: c.query.Get("market"), Research: c.query.operation("research"), Claims: c.query.flag("claims"),
		Limit: c.query.count("limit", maxPage), Cursor: c.query.Get("cursor"),
	}
	if c.query.err != nil {
		return nil, c.query.err
	}
	var err error
	if q.Run, err = s.runNamed(c); err != nil {
		return nil, err
	}
	page, err := s.engine.Looks(c.Context(), q)
	c.next = page.Next
	for i := range page.Looks {
		page.Looks[i].Result, page.Looks[i].Spans = nil, nil // the results of the operation have them
	}
	return listed(page.Looks), err
}

// runEvents streams a run: its row now, and again whenever it has changed.
func (s *Server) runEvents(c *call) error {
	hint := s.engine.Changed()
	run, err := s.run(c, none{})
	if err != nil {
		return err
	}
	if c.Request.Header.Get("Accept") == contentJSON {
		return c.send(http.StatusOK, envelope{Success: true, Data: runRow(run)})
	}
	closed, err := s.openStream()
	if err != nil {
		return err
	}
	defer closed()
	c.Header().Set("Content-Type", contentEvents)
	c.WriteHeader(http.StatusOK)
	if c.Method == http.MethodHead {
		return nil
	}
	st := &runStream{c: c, buf: bytes.NewBufferString("retry: 1000\n\n")}
	return s.streamRun(st, run, hint)
}

// runStream is one reader of a run.
type runStream struct {
	c    *call
	buf  *bytes.Buffer
	last []byte // the row that was sent last
}

// streamRun sends a run until it has ended. Each change costs one read of its
// row.
func (s *Server) streamRun(st *runStream, run ktrdr.Run, hint <-chan struct{}) error {
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for away := false; ; {
		if !away {
			if err := st.append(run); err != nil {
				return err
			}
		}
		over := !run.EndedAt.IsZero()
		if over {
			fmt.Fprintf(st.buf, "event: %s\ndata: {\"run\":%q,\"state\":%q}\n\n", streamEnding, run.ID, run.State)
		}
		if !st.c.flushStream(st.buf) || over || !st.c.awaitChange(hint, beat.C, runPoll, st.buf) {
			return nil
		}
		hint = s.engine.Changed() // taken before the read, so that no change between is missed
		next, err := s.engine.FindRun(st.c.Context(), run.ID)
		switch {
		case err == nil:
			run, away = next, false
		case !away && st.c.Context().Err() == nil:
			away = true
			s.log.WarnContext(st.c.Context(), "stream of a run waits for the store", "run", run.ID, "err", err)
		}
	}
}

// append writes the row unless it is the one that was sent last.
func (st *runStream) append(run ktrdr.Run) error {
	data, err := json.Marshal(runRow(run))
	if err != nil {
		return fmt.Errorf("run %s: %w", run.ID, err)
	}
	if bytes.Equal(data, st.last) {
		return nil
	}
	fmt.Fprintf(st.buf, "event: %s\ndata: %s\n\n", eventRun, data)
	st.last = data
	return nil
}
