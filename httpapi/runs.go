package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
)

// runPoll is how often a stream reads its run when no hint says that something
// has changed.
const runPoll = 5 * time.Second

func (s *Server) runs(c *call, q ktrdr.RunQuery) ([]ktrdr.Run, error) {
	page, err := s.engine.Runs(c.Context(), q)
	c.next = page.Next
	for i, r := range page.Runs {
		page.Runs[i] = runRow(r)
	}
	return page.Runs, err
}

// mostRowGoal is how many bytes of its goal the row of a run has.
const mostRowGoal = 200

// runRow is a run in a list or a stream: without the request, which may hold a
// strategy.
func runRow(r ktrdr.Run) ktrdr.Run {
	r.Request, r.Goal = nil, text.Cut(r.Goal, mostRowGoal)
	return r
}

// runNamed is the id of the run that a query names by its id or the beginning of
// it; empty if it names none.
func (s *Server) runNamed(c *call, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	run, err := s.run(c, api.ByRun{ID: name})
	return run.ID, err
}

func (s *Server) run(c *call, in api.ByRun) (ktrdr.Run, error) {
	if err := madeRunID(in.ID); err != nil {
		return ktrdr.Run{}, err
	}
	return s.engine.FindRun(c.Context(), in.ID)
}

// madeRunID refuses an id that the server could not have made: it names no run.
func madeRunID(id string) error {
	made := func(r rune) bool { return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' }
	if !strings.HasPrefix(id, "run_") || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool { return !made(r) }) {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run %.80q; `ktrdr runs` lists them", id)
	}
	return nil
}

// cancelRun marks a run. Its operations follow when the backend's keeper of runs
// comes to them.
func (s *Server) cancelRun(c *call, in api.CancelRunRequest) (ktrdr.Run, error) {
	run, err := s.run(c, in.ByRun)
	if err != nil {
		return ktrdr.Run{}, err
	}
	return s.engine.CancelRun(c.Context(), run.ID, cmp.Or(c.token.Name, "no token"), in.Reason)
}

func (s *Server) looks(c *call, q ktrdr.LookQuery) (_ []ktrdr.Look, err error) {
	if q.Run, err = s.runNamed(c, q.Run); err != nil {
		return nil, err
	}
	page, err := s.engine.Looks(c.Context(), q)
	c.next = page.Next
	for i := range page.Looks {
		page.Looks[i].Result, page.Looks[i].Spans = nil, nil // the results of the operation have them
	}
	return page.Looks, err
}

// runEvents streams a run: its row now, and again whenever it has changed.
func (s *Server) runEvents(c *call, in api.ByRun) error {
	hint := s.engine.Changed()
	run, err := s.run(c, in)
	if err != nil {
		return err
	}
	if c.Request.Header.Get("Accept") == api.ContentJSON {
		return c.send(http.StatusOK, api.Envelope{Success: true, Data: runRow(run)})
	}
	closed, err := s.openStream()
	if err != nil {
		return err
	}
	defer closed()
	c.Header().Set("Content-Type", api.ContentEvents)
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
	beat := time.NewTicker(api.StreamBeat)
	defer beat.Stop()
	for away := false; ; {
		if !away {
			if err := st.append(run); err != nil {
				return err
			}
		}
		over := !run.EndedAt.IsZero()
		if over {
			fmt.Fprintf(st.buf, "event: %s\ndata: {\"run\":%q,\"state\":%q}\n\n", api.EventEnd, run.ID, run.State)
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
	fmt.Fprintf(st.buf, "event: %s\ndata: %s\n\n", api.EventRun, data)
	st.last = data
	return nil
}
