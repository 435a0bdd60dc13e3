package httpapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// speaksProtocol looks at the version before anything else: a worker of
// another version may send fields that the strict decoder would complain about
// first.
func speaksProtocol(body []byte) error {
	var said struct {
		Protocol *int `json:"protocol"`
	}
	_ = json.Unmarshal(body, &said) // what it cannot read, the strict decoder has the better words for
	if said.Protocol == nil {
		return nil
	}
	return ktrdr.CheckProtocol(*said.Protocol)
}

func (s *Server) listWorkers(c *call, in api.WorkersRequest) ([]ktrdr.Worker, error) {
	all, err := s.engine.Workers(c.Context())
	if in.Live != nil {
		all = slices.DeleteFunc(all, func(w ktrdr.Worker) bool { return w.Live != *in.Live })
	}
	return all, err
}

func (s *Server) register(c *call, in ktrdr.Registration) (ktrdr.Registered, error) {
	if in.Worker.HeldBy != "" {
		return ktrdr.Registered{}, ktrdr.Errorf(ktrdr.CodeForbidden, "held_by is for workers inside a backend; leave it out")
	}
	return s.engine.Register(c.Context(), in)
}

// claim is held open: it ends when there is something to say, when the wait is
// over, when the worker goes away, and when the server stops.
func (s *Server) claim(c *call, in ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	in.Wait = min(in.Wait, api.MaxPoll.Seconds())
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	defer context.AfterFunc(stopping(ctx), cancel)()
	return s.engine.Claim(ctx, in)
}

func (s *Server) finish(c *call, in ktrdr.Finished) (api.None, error) {
	if len(in.Result) > api.BodyLimit {
		return api.None{}, ktrdr.Errorf(ktrdr.CodeTooLarge, "a result has at most %d bytes, not %d; put the rest into a checkpoint's artifacts",
			api.BodyLimit, len(in.Result))
	}
	return api.None{}, s.engine.Finish(c.Context(), in)
}

func (s *Server) unregister(c *call, in api.ByKey) (api.None, error) {
	if len(in.ID) > 128 || in.ID != ktrdr.CleanText(in.ID) {
		return api.None{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no such worker; `ktrdr workers` lists them")
	}
	return api.None{}, s.engine.Unregister(c.Context(), ktrdr.WorkerID(in.ID))
}
