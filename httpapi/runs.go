package httpapi

import (
	"bytes"
	"cmp"
	"context"
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
	run, err := s.run(c, api.ByKey{ID: name})
	return run.ID, err
}

func (s *Server) run(c *call, in api.ByKey) (ktrdr.Run, error) {
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
	run, err := s.run(c, in.ByKey)
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
func (s *Server) runEvents(c *call, in api.ByKey) error {
	run, err := s.run(c, in)
	if err != nil {
		return err
	}
	if c.Request.Header.Get("Accept") == api.ContentJSON {
		return c.send(http.StatusOK, api.Envelope{Success: true, Data: runRow(run)})
	}
	return s.stream(c, &runFeed{runs: s.engine, id: run.ID}, "", runPoll)
}

// runFeed is the feed of a run. Each change costs one read of its row.
type runFeed struct {
	runs Runs
	id   string
	last []byte // the row that was sent last
}

func (f *runFeed) next(ctx context.Context, buf *bytes.Buffer) (more, over bool, err error) {
	run, err := f.runs.FindRun(ctx, f.id)
	if err != nil {
		return false, false, err
	}
	row, err := json.Marshal(runRow(run))
	if err != nil {
		return false, false, fmt.Errorf("run %s: %w", run.ID, err)
	}
	if !bytes.Equal(row, f.last) {
		fmt.Fprintf(buf, "event: %s\ndata: %s\n\n", api.EventRun, row)
		f.last = row
	}
	if over = !run.EndedAt.IsZero(); over {
		fmt.Fprintf(buf, "event: %s\ndata: {\"run\":%q,\"state\":%q}\n\n", api.EventEnd, run.ID, run.State)
	}
	return false, over, nil
}
