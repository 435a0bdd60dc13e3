package thread

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
)

// Bounds of the names a client may choose. Together they keep every key below
// what a PostgreSQL index entry may hold.
const (
	maxTenant     = 128
	maxThread     = 256
	maxNS         = 1024
	maxCheckpoint = 256
	maxTask       = 256
	maxTaskPath   = 1024
	maxChannel    = 512
	maxVersion    = 256
	MaxType       = 256 // of a value
)

// name refuses text that a database cannot store or index.
func name(what, s string, longest int) error {
	switch {
	case len(s) > longest:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s is %d bytes long; at most %d are allowed", what, len(s), longest)
	case !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s must be valid UTF-8 without NUL", what)
	}
	return nil
}

// required is name for text that must not be empty.
func required(what, s string, longest int) error {
	if s == "" {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s is missing", what)
	}
	return name(what, s, longest)
}

// CheckThread refuses a tenant or thread id that could not be stored.
func CheckThread(tenant, thread string) error {
	return cmp.Or(name("tenant", tenant, maxTenant), required("thread_id", thread, maxThread))
}

// CheckRef refuses a reference that could not be stored; the checkpoint id may be empty.
func CheckRef(ref Ref) error {
	return cmp.Or(
		CheckThread(ref.Tenant, ref.Thread),
		name("checkpoint_ns", ref.NS, maxNS),
		name("checkpoint_id", ref.Checkpoint, maxCheckpoint),
	)
}

// CheckWritable is CheckThread, and refuses the threads of operations: their
// checkpoints change only with the operation, under its epoch.
func CheckWritable(tenant, thread string) error {
	if err := CheckThread(tenant, thread); err != nil {
		return err
	}
	if IsOperation(tenant, thread) {
		return ktrdr.Errorf(ktrdr.CodeForbidden, "thread %s belongs to an operation and is read-only here; use another thread_id or a tenant",
			thread)
	}
	return nil
}

// IsOperation says whether the thread belongs to an operation.
func IsOperation(tenant, thread string) bool {
	return tenant == "" && strings.HasPrefix(thread, "op_")
}

// CheckRuns refuses run ids that no stored checkpoint could have.
func CheckRuns(tenant string, runs []string) error {
	if err := name("tenant", tenant, maxTenant); err != nil {
		return err
	}
	for _, run := range runs {
		if err := name("run_id", run, maxThread); err != nil {
			return err
		}
	}
	return nil
}

// CheckHistory is CheckRef, and refuses channels that could not be stored.
func CheckHistory(ref Ref, channels []string) error {
	for _, channel := range channels {
		if err := name("a channel's name", channel, maxChannel); err != nil {
			return err
		}
	}
	return CheckRef(ref)
}

// CheckWrites refuses pending writes that could not be stored.
func CheckWrites(w Writes) error {
	err := cmp.Or(
		CheckWritable(w.Tenant, w.Thread),
		name("checkpoint_ns", w.NS, maxNS),
		required("checkpoint_id", w.Checkpoint, maxCheckpoint),
		required("task_id", w.Task, maxTask),
		name("task_path", w.TaskPath, maxTaskPath),
	)
	if err != nil {
		return err
	}
	for _, one := range w.Writes {
		err := cmp.Or(
			required("the channel of a write", one.Channel, maxChannel),
			name("the type of a written value", one.Value.Type, MaxType),
		)
		if err != nil {
			return err
		}
		if int64(one.Idx) != int64(int32(one.Idx)) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "idx %d of a write is out of range", one.Idx)
		}
	}
	return nil
}

// NotFound says that there is no such checkpoint.
func NotFound(ref Ref) error {
	if ref.Checkpoint != "" {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "thread %q has no checkpoint %q in namespace %q", ref.Thread, ref.Checkpoint, ref.NS)
	}
	return ktrdr.Errorf(ktrdr.CodeNotFound, "thread %q has no checkpoint in namespace %q", ref.Thread, ref.NS)
}
