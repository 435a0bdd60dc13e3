package httpapi

import (
	"cmp"
	"context"
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

// writable refuses the threads of operations: only their workers write them,
// under their epoch.
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

// threadRows are the rows of threads: each checks a request and asks the saver.
func threadRows() []row {
	return []row{
		on(api.PutThread, saver(thread.Saver.Put, func(in thread.Put) error { return writable(in.Thread) })),
		on(api.PutWrites, saver(told(thread.Saver.PutWrites), func(in thread.Writes) error {
			return cmp.Or(writable(in.Thread), checkName("a checkpoint_id", in.Checkpoint), checkName("a task_id", in.Task))
		})),
		on(api.GetThread, saver(thread.Saver.GetTuple, func(in thread.Ref) error { return checkName("a thread_id", in.Thread) })),
		on(api.ListThreads, (*Server).listThreads),
		on(api.GetHistory, saver(func(s thread.Saver, ctx context.Context, in api.ThreadHistory) (map[string]thread.ChannelHistory, error) {
			return s.History(ctx, in.Ref, in.Channels)
		}, func(in api.ThreadHistory) error { return checkName("a thread_id", in.Thread) })),
		on(api.CopyThread, saver(told(func(s thread.Saver, ctx context.Context, in api.ThreadCopy) error {
			return s.CopyThread(ctx, in.Tenant, in.Source, in.Target)
		}), func(in api.ThreadCopy) error {
			return cmp.Or(checkName("a source_thread_id", in.Source), writable(in.Target))
		})),
		on(api.PruneThreads, saver(told(func(s thread.Saver, ctx context.Context, in api.ThreadPrune) error {
			return s.Prune(ctx, in.Tenant, in.Threads, in.Strategy == "keep_latest")
		}), func(in api.ThreadPrune) error {
			if in.Strategy != "keep_latest" && in.Strategy != "delete" {
				return ktrdr.Errorf(ktrdr.CodeInvalid, "a strategy is keep_latest or delete, not %.40q", in.Strategy)
			}
			return writable(in.Threads...)
		})),
		on(api.DeleteRuns, saver(told(func(s thread.Saver, ctx context.Context, in api.ThreadRuns) error {
			return s.DeleteRuns(ctx, in.Tenant, in.Runs)
		}), nil)),
		on(api.LeaseThread, saver(thread.Saver.Lease, func(in thread.LeaseRequest) error { return writable(in.Thread) })),
		on(api.ReleaseThread, saver(told(thread.Saver.Release), func(in thread.LeaseRelease) error { return writable(in.Thread) })),
		on(api.DeleteThread, saver(told(func(s thread.Saver, ctx context.Context, in api.ThreadRequest) error {
			return s.DeleteThread(ctx, in.Tenant, in.Thread)
		}), func(in api.ThreadRequest) error {
			if in.Thread != ktrdr.CleanText(in.Thread) {
				return malformed("a thread_id is text")
			}
			return writable(in.Thread)
		})),
	}
}

// saver makes a handler of a method of the saver, behind a check; nil checks
// nothing.
func saver[In, Out any](do func(thread.Saver, context.Context, In) (Out, error), check func(In) error,
) func(*Server, *call, In) (Out, error) {
	return func(s *Server, c *call, in In) (out Out, err error) {
		if check != nil {
			if err := check(in); err != nil {
				return out, err
			}
		}
		return do(s.engine.Saver(), c.Context(), in)
	}
}

// told is a method that answers nothing.
func told[In any](do func(thread.Saver, context.Context, In) error) func(thread.Saver, context.Context, In) (api.None, error) {
	return func(s thread.Saver, ctx context.Context, in In) (api.None, error) { return api.None{}, do(s, ctx, in) }
}

func (s *Server) listThreads(c *call, in thread.Query) ([]thread.Tuple, error) {
	if in.Limit != nil && *in.Limit < 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a limit is not negative; leave it out for all")
	}
	in.MaxBytes = listLimit
	return s.engine.Saver().List(c.Context(), in)
}
