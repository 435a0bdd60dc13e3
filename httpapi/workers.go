package httpapi

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// maxPoll is the longest a claim is held open.
const maxPoll = 30 * time.Second

func workerRoutes() []row {
	const base = "/api/v1/workers"
	worker := func(path, summary string) spec {
		return post(base+path, summary).allow(workers...)
	}
	register := worker("/register", "Introduce a worker, at its start and whenever it has been out of touch")
	register.precheck = speaksProtocol
	claim := worker("/claim", "Wait for an operation to run, or for orders")
	claim.wait = maxPoll + defaultWait
	return []row{
		on(get(base, "Workers by their ids",
			param{name: "live", kind: kindBoolean, doc: "only those that are alive, or only those that are not"}).allow(workers...),
			(*Server).listWorkers),
		on(register, (*Server).register),
		on(worker("/heartbeat", "Say what a worker runs; learn what is cancelled or lost"), (*Server).heartbeat),
		on(claim, (*Server).claim),
		on(worker("/progress", "Overwrite an operation's progress"), (*Server).progress),
		on(worker("/checkpoint", "Store a checkpoint; its blobs are uploaded before it").body(stateLimit), (*Server).saveCheckpoint),
		on(worker("/skip", "Say that a checkpoint cannot be used; learn which one to use instead"), (*Server).skipCheckpoint),
		on(worker("/finish", "End an operation").body(stateLimit), (*Server).finish),
		on(worker("/release", "Give an operation back, to be claimed again from its checkpoint"), (*Server).release),
		on(del(base+"/{id}", "Forget a worker that has stopped").allow(workers...), (*Server).unregister),
	}
}

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

// checkClaims keeps ids that cannot be ours out of the layers below.
func checkClaims(lists ...[]ktrdr.Claimed) error {
	for _, list := range lists {
		for _, claimed := range list {
			if err := checkOperation(claimed.Operation); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOperation(id ktrdr.OperationID) error {
	if !id.Valid() {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%.40q is not an operation's id", string(id))
	}
	return nil
}

func (s *Server) listWorkers(c *call, _ none) ([]ktrdr.Worker, error) {
	live, filtered := c.query.flag("live"), c.query.Has("live")
	if c.query.err != nil {
		return nil, c.query.err
	}
	all, err := s.engine.Workers(c.Context())
	if filtered {
		all = slices.DeleteFunc(all, func(w ktrdr.Worker) bool { return w.Live != live })
	}
	return listed(all), err
}

func (s *Server) register(c *call, in ktrdr.Registration) (ktrdr.Registered, error) {
	if err := checkClaims(in.Running, in.Finished); err != nil {
		return ktrdr.Registered{}, err
	}
	if in.Worker.HeldBy != "" {
		return ktrdr.Registered{}, ktrdr.Errorf(ktrdr.CodeForbidden, "held_by is for workers inside a backend; leave it out")
	}
	return s.engine.Register(c.Context(), in)
}

func (s *Server) heartbeat(c *call, in ktrdr.Heartbeat) (ktrdr.Orders, error) {
	if err := checkClaims(in.Running); err != nil {
		return ktrdr.Orders{}, err
	}
	return s.engine.Heartbeat(c.Context(), in)
}

// claim is held open: it ends when there is something to say, when the wait is
// over, when the worker goes away, and when the server stops.
func (s *Server) claim(c *call, in ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	if err := checkClaims(in.Running); err != nil {
		return ktrdr.ClaimReply{}, err
	}
	in.Wait = min(in.Wait, maxPoll.Seconds())
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	defer context.AfterFunc(stopping(ctx), cancel)()
	return s.engine.Claim(ctx, in)
}

func (s *Server) progress(c *call, in ktrdr.ProgressReport) (none, error) {
	if err := checkOperation(in.Operation); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Progress(c.Context(), in)
}

func (s *Server) saveCheckpoint(c *call, in ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	if err := checkOperation(in.Operation); err != nil {
		return ktrdr.CheckpointInfo{}, err
	}
	return s.engine.Checkpoint(c.Context(), in)
}

func (s *Server) skipCheckpoint(c *call, in ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	if err := checkOperation(in.Operation); err != nil {
		return nil, err
	}
	return s.engine.SkipCheckpoint(c.Context(), in)
}

func (s *Server) finish(c *call, in ktrdr.Finished) (none, error) {
	if err := checkOperation(in.Operation); err != nil {
		return none{}, err
	}
	if len(in.Result) > bodyLimit {
		return none{}, ktrdr.Errorf(ktrdr.CodeTooLarge, "a result has at most %d bytes, not %d; put the rest into a checkpoint's artifacts",
			bodyLimit, len(in.Result))
	}
	return none{}, s.engine.Finish(c.Context(), in)
}

func (s *Server) release(c *call, in ktrdr.Released) (none, error) {
	if err := checkOperation(in.Operation); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Release(c.Context(), in)
}

func (s *Server) unregister(c *call, _ none) (none, error) {
	id := c.PathValue("id")
	if len(id) > 128 || id != ktrdr.CleanText(id) {
		return none{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no such worker; `ktrdr workers` lists them")
	}
	return none{}, s.engine.Unregister(c.Context(), ktrdr.WorkerID(id))
}
