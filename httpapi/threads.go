package httpapi

import (
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/thread"
)

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

func (s *Server) putWrites(c *call, in thread.Writes) (api.None, error) {
	if err := writable(in.Thread); err != nil {
		return api.None{}, err
	}
	if err := checkName("a checkpoint_id", in.Checkpoint); err != nil {
		return api.None{}, err
	}
	if err := checkName("a task_id", in.Task); err != nil {
		return api.None{}, err
	}
	return api.None{}, s.engine.Saver().PutWrites(c.Context(), in)
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
	return tuples, err
}

func (s *Server) threadHistory(c *call, in api.ThreadHistory) (map[string]thread.ChannelHistory, error) {
	if err := checkName("a thread_id", in.Thread); err != nil {
		return nil, err
	}
	return s.engine.Saver().History(c.Context(), in.Ref, in.Channels)
}

func (s *Server) copyThread(c *call, in api.ThreadCopy) (api.None, error) {
	if err := checkName("a source_thread_id", in.Source); err != nil {
		return api.None{}, err
	}
	if err := writable(in.Target); err != nil {
		return api.None{}, err
	}
	return api.None{}, s.engine.Saver().CopyThread(c.Context(), in.Tenant, in.Source, in.Target)
}

func (s *Server) pruneThreads(c *call, in api.ThreadPrune) (api.None, error) {
	if in.Strategy != "keep_latest" && in.Strategy != "delete" {
		return api.None{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a strategy is keep_latest or delete, not %.40q", in.Strategy)
	}
	if err := writable(in.Threads...); err != nil {
		return api.None{}, err
	}
	return api.None{}, s.engine.Saver().Prune(c.Context(), in.Tenant, in.Threads, in.Strategy == "keep_latest")
}

func (s *Server) deleteRuns(c *call, in api.ThreadRuns) (api.None, error) {
	return api.None{}, s.engine.Saver().DeleteRuns(c.Context(), in.Tenant, in.Runs)
}

func (s *Server) leaseThread(c *call, in thread.LeaseRequest) (thread.Lease, error) {
	if err := writable(in.Thread); err != nil {
		return thread.Lease{}, err
	}
	return s.engine.Saver().Lease(c.Context(), in)
}

func (s *Server) releaseThread(c *call, in thread.LeaseRelease) (api.None, error) {
	if err := writable(in.Thread); err != nil {
		return api.None{}, err
	}
	return api.None{}, s.engine.Saver().Release(c.Context(), in)
}

func (s *Server) deleteThread(c *call, in api.ThreadRequest) (api.None, error) {
	if in.Thread != ktrdr.CleanText(in.Thread) {
		return api.None{}, malformed("a thread_id is text")
	}
	if err := writable(in.Thread); err != nil {
		return api.None{}, err
	}
	return api.None{}, s.engine.Saver().DeleteThread(c.Context(), in.Tenant, in.Thread)
}
