package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

type waitRequest struct {
	Handles []string `json:"handles"`
	Seconds int      `json:"seconds,omitempty" jsonschema:"1 to 300, default 50"`
}

const (
	usualWait   = 50
	longestWait = 300
	mostHandles = 50
)

// wait asks how handles stand until all have ended or its time is over. A server that
// does not answer is waited for like the work: it runs on when the server is back.
func (s *Server) wait(ctx context.Context, in waitRequest, a *answer) error {
	if len(in.Handles) == 0 || len(in.Handles) > mostHandles {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "wait takes 1 to %d handles", mostHandles)
	}
	if in.Seconds < 0 || in.Seconds > longestWait {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "seconds must be 1 to %d", longestWait)
	}
	if in.Seconds == 0 {
		in.Seconds = usualWait
	}
	until := time.Now().Add(time.Duration(in.Seconds) * time.Second)
	pause := backoff.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second}
	for try := 0; ; try++ {
		states, err := s.states(ctx, in.Handles)
		if err != nil && !away(err) {
			return err
		}
		designs := s.waitingDesigns(ctx, states)
		if (states.ended() || designs > 0) && err == nil || !time.Now().Before(until) || !pause.Wait(ctx, try) {
			states.tell(a, err)
			if designs > 0 {
				a.line("%d designs wait for a strategy of yours: call design.", designs)
			}
			return context.Cause(ctx)
		}
	}
}

// handleState is how a handle stands.
type handleState struct {
	handle, status, detail string
	ended                  bool
}

type handleStates []handleState

func (all handleStates) ended() bool {
	for _, h := range all {
		if !h.ended {
			return false
		}
	}
	return len(all) > 0
}

func (all handleStates) tell(a *answer, err error) {
	switch {
	case err != nil:
		a.line("The server does not answer. Work is not lost: call wait again.")
		return
	case all.ended():
		a.line("All have ended: call results.")
	default:
		a.line("Not all have ended: call wait again.")
	}
	for _, h := range all {
		a.line("%s | %s | %s", h.handle, h.status, h.detail)
	}
}

func (s *Server) states(ctx context.Context, handles []string) (handleStates, error) {
	all := make(handleStates, 0, len(handles))
	for _, handle := range handles {
		h, err := s.state(ctx, handle)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

func (s *Server) state(ctx context.Context, handle string) (handleState, error) {
	if isRun(handle) {
		r, err := s.Lab.Run(ctx, handle)
		return handleState{
			handle, string(r.State), fmt.Sprintf("%d of %d researches ended, %d finalists, %d claims", r.Ended(), max(r.Created, r.Planned),
				r.Finalists, r.Claims), !r.EndedAt.IsZero(),
		}, err
	}
	op, err := s.Lab.Operation(ctx, ktrdr.OperationID(handle))
	h := handleState{handle, string(op.Status), fmt.Sprintf("%.0f%%", op.Progress.Percentage), op.Status.Terminal()}
	if step := strings.TrimSpace(strings.ToLower(op.Phase) + " " + op.Progress.CurrentStep); step != "" && !h.ended {
		h.detail += " " + data(step)
	}
	if op.ErrorMessage != "" {
		h.detail += " " + data(op.ErrorMessage)
	}
	return h, err
}
