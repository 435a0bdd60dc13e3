package httpapi

import (
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

func threadRoutes() []row {
	const base = "/api/v1/threads"
	request := func(path, summary string) spec { return post(base+path, summary).body(threadLimit) }
	return []row{
		on(request("/put", "Store a checkpoint of a thread"), (*Server).putThread),
		on(request("/writes", "Store a task's pending writes"), (*Server).putWrites),
		on(request("/get", "A checkpoint of a thread, or its newest").asks(), (*Server).getThread),
		on(request("/list", "Checkpoints, newest first").asks(), (*Server).listThreads),
		on(request("/history", "Channels' writes along the parent chain").asks(), (*Server).threadHistory),
		on(request("/copy", "Copy a thread"), (*Server).copyThread),
		on(request("/prune", "Delete threads, or all but their newest checkpoints"), (*Server).pruneThreads),
		on(request("/runs/delete", "Delete the checkpoints of runs"), (*Server).deleteRuns),
		on(post(base+"/lease", "Become the only writer of a thread for a while, or stay it"), (*Server).leaseThread),
		on(post(base+"/lease/release", "Give a lease back; one that is over is no error"), (*Server).releaseThread),
		on(del(base+"/{thread_id}", "Delete a thread; a missing one is no error",
			param{name: "tenant", kind: kindString, doc: "whose thread it is"}), (*Server).deleteThread),
	}
}

// ThreadHistoryRequest asks for channels' histories up to a checkpoint.
type ThreadHistoryRequest struct {
	thread.Ref
	Channels []string `json:"channels"`
}

// ThreadCopy asks to copy a thread.
type ThreadCopy struct {
	Tenant string `json:"tenant,omitempty"`
	Source string `json:"source_thread_id"`
	Target string `json:"target_thread_id"`
}

// ThreadPrune asks to delete threads, whole or all but their newest
// checkpoints.
type ThreadPrune struct {
	Tenant   string   `json:"tenant,omitempty"`
	Threads  []string `json:"thread_ids"`
	Strategy string   `json:"strategy"` // keep_latest or delete
}

// ThreadRuns names runs whose checkpoints shall go.
type ThreadRuns struct {
	Tenant string   `json:"tenant,omitempty"`
	Runs   []string `json:"run_ids"`
}

const (
	maxThreadName = 256      // as savers have it
	listLimit     = 32 << 20 // of what one list answers with, as it is in memory
	opThreads     = "op_"    // operations' own threads, which only their workers write
)

// checkName refuses names that are missing or longer than any index wants.
func checkName(what, name string) error {
	if name == "" || len(name) > maxThreadName {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s has 1 to %d bytes", what, maxThreadName)
	}
	return nil
}

// writable refuses the threads of operations: their history is written by
// their workers, under their epoch, and by nobody else.
func writable(threads ...string) error {
	for _, threadID := range threads {
		if err := checkName("a thread_id", threadID); err != nil {
			return err
		}
		if strings.HasPrefix(threadID, opThreads) {
			return ktrdr.Errorf(ktrdr.CodeForbidden,
				"the thread %.100q belongs to an operation and can only be read here; choose a name that does not begin with %s", threadID, opThreads)
		}
	}
	return nil
}

func (s *Server) putThread(c *call, in thread.Put) (thread.Ref, error) {
	if err := writable(in.Thread); err != nil {
		return thread.Ref{}, err
	}
	return s.engine.Saver().Put(c.Context(), in)
}

func (s *Server) putWrites(c *call, in thread.Writes) (none, error) {
	if err := writable(in.Thread); err != nil {
		return none{}, err
	}
	if err := checkName("a checkpoint_id", in.Checkpoint); err != nil {
		return none{}, err
	}
	if err := checkName("a task_id", in.Task); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Saver().PutWrites(c.Context(), in)
}

func (s *Server) getThread(c *call, in thread.Ref) (thread.Tuple, error) {
	if err := checkName("a thread_id", in.Thread); err != nil {
		return thread.Tuple{}, err
	}
	return s.engine.Saver().GetTuple(c.Context(), in)
}

func (s *Server) listThreads(c *call, in thread.Query) ([]thread.Tuple, error) {
	if in.Limit != nil && *in.Limit < 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a limit is not negative; leave it out for all")
	}
	in.MaxBytes = listLimit
	tuples, err := s.engine.Saver().List(c.Context(), in)
	return listed(tuples), err
}

func (s *Server) threadHistory(c *call, in ThreadHistoryRequest) (map[string]thread.ChannelHistory, error) {
	if err := checkName("a thread_id", in.Thread); err != nil {
		return nil, err
	}
	return s.engine.Saver().History(c.Context(), in.Ref, in.Channels)
}

func (s *Server) copyThread(c *call, in ThreadCopy) (none, error) {
	if err := checkName("a source_thread_id", in.Source); err != nil {
		return none{}, err
	}
	if err := writable(in.Target); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Saver().CopyThread(c.Context(), in.Tenant, in.Source, in.Target)
}

func (s *Server) pruneThreads(c *call, in ThreadPrune) (none, error) {
	if in.Strategy != "keep_latest" && in.Strategy != "delete" {
		return none{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a strategy is keep_latest or delete, not %.40q", in.Strategy)
	}
	if err := writable(in.Threads...); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Saver().Prune(c.Context(), in.Tenant, in.Threads, in.Strategy == "keep_latest")
}

func (s *Server) deleteRuns(c *call, in ThreadRuns) (none, error) {
	return none{}, s.engine.Saver().DeleteRuns(c.Context(), in.Tenant, in.Runs)
}

func (s *Server) leaseThread(c *call, in thread.LeaseRequest) (thread.Lease, error) {
	if err := writable(in.Thread); err != nil {
		return thread.Lease{}, err
	}
	return s.engine.Saver().Lease(c.Context(), in)
}

func (s *Server) releaseThread(c *call, in thread.LeaseRelease) (none, error) {
	if err := writable(in.Thread); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Saver().Release(c.Context(), in)
}

func (s *Server) deleteThread(c *call, _ none) (none, error) {
	threadID := c.PathValue("thread_id")
	if threadID != ktrdr.CleanText(threadID) {
		return none{}, malformed("a thread_id is text")
	}
	if err := writable(threadID); err != nil {
		return none{}, err
	}
	return none{}, s.engine.Saver().DeleteThread(c.Context(), c.query.Get("tenant"), threadID)
}
