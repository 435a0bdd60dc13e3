package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// claim is the key of everything a worker does: an operation and the epoch of the claim on it.
type claim struct {
	op    ktrdr.OperationID
	epoch ktrdr.Epoch
}

// at is the claim as it is sent.
func (c claim) at(step int64) ktrdr.Claimed {
	return ktrdr.Claimed{Operation: c.op, Epoch: c.epoch, Step: step}
}

// entry is one write of a claim, on its way to the backend. Exactly one of its
// exported fields is set; each is idempotent at the backend, so that a write
// whose answer was lost is simply made again.
type entry struct {
	Progress   *ktrdr.ProgressReport `json:"progress,omitempty"`
	Checkpoint *ktrdr.NewCheckpoint  `json:"checkpoint,omitempty"`
	Finished   *ktrdr.Finished       `json:"finished,omitempty"`
	Released   *ktrdr.Released       `json:"released,omitempty"`

	files  map[ktrdr.Hash][]byte // the bytes of its artifacts, or
	dir    string                // the folder where they lie, or
	stored bool                  // the backend has them already
}

// outcome is how the attempt that this ends is traced: in a word, and with the
// code of its failure.
func (e *entry) outcome() (word string, failure ktrdr.Code) {
	switch f := e.Finished; {
	case f == nil && e.Released.ChildDied:
		return "child_died", ktrdr.CodeInternal
	case f == nil:
		return "released", ""
	case f.Outcome == ktrdr.Failed && f.Error != nil:
		failure = f.Error.Code
	}
	return strings.ToLower(string(e.Finished.Outcome)), failure
}

// open reads an artifact's bytes from where they are.
func (e *entry) open(a ktrdr.Artifact) (io.ReadCloser, error) {
	if b, ok := e.files[a.SHA256]; ok || e.dir == "" {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	return os.Open(filepath.Join(e.dir, blobName(a.SHA256)))
}

// check reads an artifact's bytes to their end, where their hash is compared.
func (e *entry) check(a ktrdr.Artifact) error {
	r, err := e.open(a)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // read to its end, and checked there
	_, err = io.Copy(io.Discard, &checked{ReadCloser: r, want: a.SHA256, sum: sha256.New()})
	return err
}

// clone copies what the caller may change after its call has returned. What
// ends a claim is given for good.
func (e *entry) clone() *entry {
	if e.ends() {
		return e
	}
	c := *e
	c.files = maps.Clone(e.files)
	for h, b := range c.files {
		c.files[h] = bytes.Clone(b)
	}
	return &c
}

func (e *entry) claim() claim { c, _ := e.what(); return c }

func (e *entry) kind() string { _, kind := e.what(); return kind }

func (e *entry) what() (of claim, kind string) {
	switch {
	case e.Progress != nil:
		return claim{e.Progress.Operation, e.Progress.Epoch}, "progress"
	case e.Checkpoint != nil:
		return claim{e.Checkpoint.Operation, e.Checkpoint.Epoch}, "checkpoint"
	case e.Finished != nil:
		return claim{e.Finished.Operation, e.Finished.Epoch}, "finished"
	default:
		return claim{e.Released.Operation, e.Released.Epoch}, "released"
	}
}

// ends says whether the claim is over once the entry is delivered.
func (e *entry) ends() bool { return e.Finished != nil || e.Released != nil }

// periodic says whether a later checkpoint makes this entry dispensable.
func (e *entry) periodic() bool {
	return e.Checkpoint != nil && e.Checkpoint.Type == ktrdr.CheckpointPeriodic
}

// artifacts lists the blobs that must be stored before the entry.
func (e *entry) artifacts() []ktrdr.Artifact {
	switch {
	case e.stored:
		return nil
	case e.Checkpoint != nil:
		return e.Checkpoint.Artifacts
	case e.Finished != nil && e.Finished.Checkpoint != nil:
		return e.Finished.Checkpoint.Artifacts
	}
	return nil
}

// sealed is how an entry lies on disk: its JSON and the sha256 of exactly
// those bytes, so that a torn or flipped file is never mistaken for a write.
type sealed struct {
	SHA256 ktrdr.Hash      `json:"sha256"`
	Entry  json.RawMessage `json:"entry"`
}

func seal(e *entry) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	// Not json.Marshal: it may rewrite the body whose bytes are hashed.
	return fmt.Appendf(nil, "{\"sha256\":%q,\"entry\":%s}\n", ktrdr.Hash(sha256.Sum256(body)), body), nil
}

func unseal(data []byte) (*entry, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if sha256.Sum256(s.Entry) != s.SHA256 {
		return nil, errors.New("the entry does not match its sha256")
	}
	var e entry
	if err := json.Unmarshal(s.Entry, &e); err != nil {
		return nil, err
	}
	set := 0
	for _, is := range []bool{e.Progress != nil, e.Checkpoint != nil, e.Finished != nil, e.Released != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return nil, fmt.Errorf("the entry holds %d writes, not one", set)
	}
	return &e, nil
}

// maxMessage bounds what people are shown of an error.
const maxMessage = 4 << 10

// failed is the end of a claim by err, under err's own code.
func failed(c claim, err error) *ktrdr.Finished {
	return &ktrdr.Finished{
		Operation: c.op, Epoch: c.epoch, Outcome: ktrdr.Failed,
		ErrorMessage: shorten(err.Error()), Error: ktrdr.FailureOf(err),
	}
}

// insteadOf turns an end that the backend will never take into a failure that
// says so: a result that cannot be saved is itself a saved failure. It returns
// nil when there is nothing simpler left to say.
func insteadOf(e *entry, why error) *entry {
	f := e.Finished
	switch {
	case f == nil || f.Outcome == ktrdr.Failed && f.Checkpoint == nil:
		return nil
	case ktrdr.CodeOf(why) == ktrdr.CodeKeyReused:
		return nil // the claim has ended, and not like this
	}
	return &entry{Finished: failed(e.claim(),
		ktrdr.Errorf(ktrdr.CodeFailed, "the work ended %s, but the backend refused that: %w", f.Outcome, why))}
}

func shorten(s string) string { return text.Cut(ktrdr.CleanText(s), maxMessage) }
