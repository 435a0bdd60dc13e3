package engine

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Trash is where blobs go that rows have just stopped naming. Those that a row
// names after all are brought back when it is emptied.
type Trash interface {
	Put(ctx context.Context, blobs []ktrdr.Hash, at time.Time) error
	Empty(ctx context.Context, blobs []ktrdr.Hash, at time.Time, named func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error)) error
}

// supersedeEvery is between two looks for superseded checkpoints.
const supersedeEvery = time.Second

// leaving is which operations have saved checkpoints since they were last looked at.
type leaving struct {
	mu    sync.Mutex
	saves map[ktrdr.OperationID]bool
}

func (l *leaving) saved(op ktrdr.OperationID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.saves == nil {
		l.saves = make(map[ktrdr.OperationID]bool)
	}
	l.saves[op] = true
}

func (l *leaving) take() map[ktrdr.OperationID]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	saves := l.saves
	l.saves = nil
	return saves
}

// stillThere looks at the blobs of a checkpoint once more after its row is committed. Another
// operation may have let go of the same bytes in that moment. The state is put again; an artifact
// is CodeUnavailable, so that the worker uploads it again and repeats its write.
func (e *Engine) stillThere(ctx context.Context, artifacts []ktrdr.Artifact, state *ktrdr.Artifact, text []byte) error {
	if state != nil && e.gone(ctx, state.SHA256) {
		if _, err := e.blobs.Put(ctx, state.SHA256, bytes.NewReader(text)); err != nil {
			return ktrdr.Errorf(ktrdr.CodeUnavailable, "the state was deleted while its checkpoint was stored; store the checkpoint again: %w", err)
		}
	}
	for _, a := range artifacts {
		if e.gone(ctx, a.SHA256) {
			return ktrdr.Errorf(ktrdr.CodeUnavailable,
				"artifact %q was deleted while its checkpoint was stored; upload it and store the checkpoint again", a.Name)
		}
	}
	return nil
}

func (e *Engine) gone(ctx context.Context, h ktrdr.Hash) bool {
	_, err := e.blobs.Stat(ctx, h)
	return ktrdr.CodeOf(err) == ktrdr.CodeNotFound
}

// supersededStay is short: a training of 64 MB checkpoints would fill the disk with
// what it has superseded. A writer of the same bytes that takes longer between the
// look at a blob and its row finds out with stillThere, and uploads again.
const supersededStay = time.Second

// supersede deletes checkpoints of running operations behind the newest two, and
// their blobs, as long as it runs.
func (e *Engine) supersede(ctx context.Context) {
	out := outgoing{stay: min(supersededStay, e.settings.TrashTime)}
	e.every(ctx, supersedeEvery, func() {
		for op := range e.leaving.take() {
			gone, err := e.store.Supersede(ctx, op)
			if err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "superseded checkpoints stay until they expire", "op", op, "err", err)
			}
			out.blobs = append(out.blobs, gone...)
		}
		e.letGo(ctx, &out)
	})
}

// compact compacts researches that claim nothing, as long as it runs.
func (e *Engine) compact(ctx context.Context) {
	if e.settings.NoCompaction {
		return
	}
	out := outgoing{stay: e.settings.TrashTime}
	e.every(ctx, e.settings.CompactInterval, func() {
		found, n, err := len(out.blobs), 0, error(nil)
		for some := 1; some > 0; n += some { // an error may be about some others
			var blobs []ktrdr.Hash
			some, blobs, err = e.store.Compact(ctx)
			out.blobs = append(out.blobs, blobs...)
		}
		if err != nil && ctx.Err() == nil {
			e.log.WarnContext(ctx, "compact researches", "err", err)
		}
		if n > 0 {
			e.log.InfoContext(ctx, "researches compacted", "count", n, "blobs", len(out.blobs)-found)
		}
		e.letGo(ctx, &out)
	})
}

// outgoing is blobs that rows have stopped naming:
//
//	blobs ──▶ trash, for a while ──▶ the rows are asked ──▶ purged, or brought back
//
// While a backup runs they stay where they are.
type outgoing struct {
	stay  time.Duration // in the trash
	blobs []ktrdr.Hash  // not in the trash yet
	bags  []bag         // in the trash, oldest first
	asked time.Time     // all rows were last asked then
	took  time.Duration // how long that took
}

// bag is blobs that were put into the trash together.
type bag struct {
	at    time.Time // names it
	since time.Time // all of them are in the trash since then
	blobs []ktrdr.Hash
}

// letGo moves blobs one step on. It holds nothing that a writer waits for: one that
// names a blob meanwhile has that long from looking at the blob until its row is
// committed, and looks again then.
func (e *Engine) letGo(ctx context.Context, out *outgoing) {
	if e.config.Trash == nil {
		out.blobs = nil
		return
	}
	if len(out.blobs) == 0 && !e.hasOld(out) {
		return
	}
	if busy, err := e.store.BackupRunning(ctx); err != nil || busy {
		e.trashed(ctx, err)
		return // the next call continues
	}
	if len(out.blobs) > 0 {
		named, err := e.store.BlobsNamed(ctx, out.blobs, true)
		if err != nil {
			e.trashed(ctx, err)
			return
		}
		// The one that deletes the last row that names a blob finds it unnamed.
		out.blobs = slices.DeleteFunc(out.blobs, func(h ktrdr.Hash) bool { return named[h] })
		if b := (bag{at: time.Now(), blobs: out.blobs}); len(b.blobs) > 0 {
			e.trashed(ctx, e.config.Trash.Put(ctx, b.blobs, b.at))
			b.since = time.Now()
			out.bags = append(out.bags, b)
		}
		out.blobs = nil
	}
	if e.hasOld(out) {
		e.empty(ctx, out)
	}
}

// askShare is how much longer than a question to all rows the time is until the
// next: a large lab is asked less often.
const askShare = 20

// hasOld says whether there is a bag to be emptied.
func (e *Engine) hasOld(out *outgoing) bool {
	return len(out.bags) > 0 && time.Since(out.bags[0].since) >= out.stay && time.Since(out.asked) >= askShare*out.took
}

// empty empties the bags that are old enough, with one look at the rows. What it
// fails on is left to Collect.
func (e *Engine) empty(ctx context.Context, out *outgoing) {
	var old []bag
	var blobs []ktrdr.Hash
	for len(out.bags) > 0 && time.Since(out.bags[0].since) >= out.stay {
		old, blobs, out.bags = append(old, out.bags[0]), append(blobs, out.bags[0].blobs...), out.bags[1:]
	}
	out.asked = time.Now()
	named, err := e.store.BlobsNamed(ctx, blobs, false)
	out.took = time.Since(out.asked)
	for _, b := range old {
		e.trashed(ctx,
			e.config.Trash.Empty(ctx, b.blobs, b.at, func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error) { return named, err }))
	}
}

func (e *Engine) trashed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		e.log.WarnContext(ctx, "blobs that nothing needs are deleted later", "err", err)
	}
}

// every calls f again and again until ctx ends.
func (e *Engine) every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f()
	}
}
