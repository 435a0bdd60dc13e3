package worker

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ktrdr/ktrdr"
)

// keptCheckpoints is how many periodic checkpoints of one claim wait in the
// spool. The newest is what a resume needs; a few more guard against a bad
// blob; all of a long outage would fill the disk.
const keptCheckpoints = 4

// spool holds the writes that the backend has not acknowledged: one folder per
// life of a worker, one file per write, the blobs it names beside it.
//
//	DIR/spool/<worker id>/lock          held while that worker lives
//	                      <20 digits>.json
//	                      <sha256>.blob
//	DIR/spool/unreadable/               what could not be read back
//
// When the disk refuses an entry it is held in memory instead, and said so.
type spool struct {
	root string // DIR/spool
	dir  string
	lock *os.File
	log  *slog.Logger
	slow func() // a test's way to make a write take its time

	adding sync.WaitGroup // entries on their way to the disk

	mu      sync.Mutex // never held while bytes are written: heartbeats need it
	next    uint64
	waiting []*spooled // in the order of their numbers
	closed  bool
}

// spooled is what is remembered of an entry. The entry itself stays on disk.
type spooled struct {
	seq      uint64
	claim    claim
	kind     string
	ends     bool
	periodic bool
	blobs    []ktrdr.Hash
	writing  bool // not yet durable
	sending  bool
	held     *entry // the entry, when the disk did not take it
}

func remember(seq uint64, e *entry) *spooled {
	x := &spooled{seq: seq, claim: e.claim(), kind: e.kind(), ends: e.ends(), periodic: e.periodic()}
	for _, a := range e.artifacts() {
		x.blobs = append(x.blobs, a.SHA256)
	}
	return x
}

func (s *spool) path(name string) string { return filepath.Join(s.dir, name) }

func entryName(seq uint64) string { return fmt.Sprintf("%020d.json", seq) }

func blobName(h ktrdr.Hash) string { return h.String() + ".blob" }

// add makes e durable, or holds it in memory when the disk is full. A progress
// report replaces the one before it.
func (s *spool) add(e *entry) error {
	x, err := s.reserve(e)
	if err != nil {
		return err
	}
	defer s.adding.Done()
	refused := s.store(x.seq, e)
	if refused != nil {
		s.log.Error("spool cannot be written; keeping the entry in memory", "op", x.claim.op, "epoch", x.claim.epoch, "kind", x.kind,
			"err", refused)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.writing = false
	if !slices.Contains(s.waiting, x) { // dropped meanwhile
		s.removeFiles(x)
		return nil
	}
	if refused != nil {
		x.held = e.clone()
	}
	s.coalesce(x)
	return nil
}

// reserve gives e its place: what comes later, comes behind it.
func (s *spool) reserve(e *entry) (*spooled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%s of %s: the worker has stopped", e.kind(), e.claim().op)
	}
	s.adding.Add(1)
	s.next++
	x := remember(s.next, e)
	x.writing = true
	s.waiting = append(s.waiting, x)
	return x, nil
}

// store writes the blobs of e, then e.
func (s *spool) store(seq uint64, e *entry) error {
	if s.slow != nil {
		s.slow()
	}
	data, err := seal(e)
	if err != nil {
		return err
	}
	for h, b := range e.files {
		if err := writeFile(s.dir, blobName(h), b); err != nil {
			return err
		}
	}
	return writeFile(s.dir, entryName(seq), data)
}

// coalesce removes what the newest entry makes dispensable.
func (s *spool) coalesce(newest *spooled) {
	kept := 0
	for _, x := range slices.Backward(slices.Clone(s.waiting)) {
		if x.claim != newest.claim || x.sending || x.writing {
			continue
		}
		switch {
		case x.kind == "progress" && newest.kind == "progress" && x != newest:
			s.forget(x)
		case x.periodic:
			if kept++; kept > keptCheckpoints {
				s.forget(x)
			}
		}
	}
}

// holds says whether something of c waits, so that what follows must wait too.
func (s *spool) holds(c claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.waiting, func(x *spooled) bool { return x.claim == c })
}

func (s *spool) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) == 0
}

// ended lists the claims whose end waits to be delivered. One that is being
// written is still reported by its job.
func (s *spool) ended() []ktrdr.Claimed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var cs []ktrdr.Claimed
	for _, x := range s.waiting {
		if x.ends && !x.writing {
			cs = append(cs, x.claim.at(0))
		}
	}
	return cs
}

// head returns the first entry that is not of a postponed claim, marked as
// being sent, or nil. unmark takes the mark back.
func (s *spool) head(postponed map[claim]bool) *spooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	var behind []claim // something that is being written
	for _, x := range s.waiting {
		switch {
		case x.writing:
			behind = append(behind, x.claim)
		case !postponed[x.claim] && !slices.Contains(behind, x.claim):
			x.sending = true
			return x
		}
	}
	return nil
}

func (s *spool) unmark(x *spooled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.sending = false
}

// remove forgets one entry.
func (s *spool) remove(x *spooled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(x)
}

// drop forgets every entry of a claim that is no longer live.
func (s *spool) drop(c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range slices.Clone(s.waiting) {
		if x.claim == c {
			s.forget(x)
		}
	}
}

// forget removes x and the blobs that nothing else names. A file that comes
// back after a power cut is delivered once more, which changes nothing.
func (s *spool) forget(x *spooled) {
	i := slices.Index(s.waiting, x)
	if i < 0 {
		return
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	if !x.writing { // else add does it
		s.removeFiles(x)
	}
}

func (s *spool) removeFiles(x *spooled) {
	_ = os.Remove(s.path(entryName(x.seq)))
	for _, h := range x.blobs {
		if !slices.ContainsFunc(s.waiting, func(o *spooled) bool { return slices.Contains(o.blobs, h) }) {
			_ = os.Remove(s.path(blobName(h)))
		}
	}
}

// close gives the folder up: removed when it is empty, else left for the next
// worker. What memory still holds gets a last chance to reach the disk.
func (s *spool) close() {
	if !s.shut() {
		return
	}
	s.adding.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.waiting {
		if x.held == nil {
			continue
		}
		if err := s.store(x.seq, x.held); err != nil {
			s.log.Error("spool cannot be written; this is lost with the process", "op", x.claim.op, "epoch", x.claim.epoch, "kind", x.kind,
				"err", err)
		}
	}
	if len(s.waiting) == 0 {
		_ = os.RemoveAll(s.dir)
	}
	_ = s.lock.Close()
}

// shut lets nothing more in, and is false when that was so already.
func (s *spool) shut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.closed
	s.closed = true
	return !was
}
