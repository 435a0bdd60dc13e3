package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// maxFailures is how many blobs a pass may fail on before it gives up: one bad file must not keep
// the rest from being collected, a dead disk must not be asked a million times.
const maxFailures = 10

// Collected is what a pass of Collect did.
type Collected struct {
	Trashed  int   // put aside: no row names them and they are older than the grace
	Restored int   // brought back: a row names them after all
	Deleted  int   // trashings deleted for good
	Bytes    int64 // of those deleted
}

// Collect removes blobs that no row names, in two steps a grace apart: a pass trashes those older
// than the grace, and a pass at least a grace later deletes those that are still in the trash.
// Between the two, a blob that is read or that a row names is brought back.
//
// It is safe beside writers and beside other collectors as long as a row follows its blob's Put or
// Stat within the grace: from the instant of trashing, a blob is readable for a whole grace, and
// then the rows are read once more before it goes. refs yields every row's reference at the time it
// is ranged over. now is the present; the grace must dwarf what the clocks of the collectors and of
// the store differ by.
//
// A failure on one blob does not stop the pass; an error of refs does, before anything has changed.
func Collect(ctx context.Context, s Store, refs iter.Seq2[ktrdr.BlobRef, error], grace time.Duration, now time.Time) (Collected, error) {
	c := collector{
		store: s, now: now, begun: time.Now(), before: now.Add(-grace),
		old:     make(map[ktrdr.Hash]bool),
		inTrash: make(map[ktrdr.Hash]trashState),
	}
	// Blobs first, then rows: a row written meanwhile is seen and saves its blob.
	if err := c.survey(ctx); err != nil {
		return c.done, fmt.Errorf("collect: %w", err)
	}
	for ref, err := range refs {
		if err != nil {
			return c.done, fmt.Errorf("collect: read references: %w", err)
		}
		delete(c.old, ref.SHA256)
		if t, ok := c.inTrash[ref.SHA256]; ok {
			t.named = true
			c.inTrash[ref.SHA256] = t
		}
	}
	c.emptyTrash(ctx)
	c.trashOld(ctx)
	if ctx.Err() != nil {
		c.failures = append(c.failures, fmt.Errorf("collect: %w", context.Cause(ctx)))
	}
	return c.done, errors.Join(c.failures...)
}

type collector struct {
	store    Store
	now      time.Time // as it was given when the pass began
	begun    time.Time // the same by this process's clock
	before   time.Time // what happened before is more than a grace ago
	old      map[ktrdr.Hash]bool
	trash    []Trashed
	inTrash  map[ktrdr.Hash]trashState
	done     Collected
	failures []error
}

// trashState is what is known of a blob that is in the trash.
type trashState struct {
	live  bool // it is also in its place
	named bool // a row names it
}

// survey lists what is in the trash and what is old.
func (c *collector) survey(ctx context.Context) error {
	for t, err := range c.store.Trashed(ctx) {
		if err != nil {
			return err
		}
		c.trash = append(c.trash, t)
		c.inTrash[t.Hash] = trashState{}
	}
	for b, err := range c.store.List(ctx) {
		if err != nil {
			return err
		}
		if b.ModTime.Before(c.before) {
			c.old[b.Hash] = true
		}
		if _, ok := c.inTrash[b.Hash]; ok {
			c.inTrash[b.Hash] = trashState{live: true}
		}
	}
	return nil
}

// emptyTrash brings back what a row names and deletes what lay there for a grace.
func (c *collector) emptyTrash(ctx context.Context) {
	for _, t := range c.trash {
		if c.stopped(ctx) {
			return
		}
		state := c.inTrash[t.Hash]
		switch {
		case state.named && !state.live:
			_, err := c.store.Stat(ctx, t.Hash)
			if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
				continue // gone since we looked; Check tells
			}
			if c.ok(ctx, err) {
				c.done.Restored++
				c.inTrash[t.Hash] = trashState{live: true, named: true}
			}
		case t.At.Before(c.before):
			if c.ok(ctx, c.store.Purge(ctx, t)) {
				c.done.Deleted++
				c.done.Bytes += t.Size
			}
		}
	}
}

// trashOld puts old blobs aside that no row names. Each is marked with the
// instant at which it really goes: a pass over a large store may take longer
// than a writer needs between its blob and its row.
func (c *collector) trashOld(ctx context.Context) {
	for _, h := range slices.SortedFunc(maps.Keys(c.old), compareHash) {
		if c.stopped(ctx) {
			return
		}
		if c.ok(ctx, c.store.Trash(ctx, h, c.now.Add(time.Since(c.begun)))) {
			c.done.Trashed++
		}
	}
}

func (c *collector) ok(ctx context.Context, err error) bool {
	if err != nil && ctx.Err() == nil {
		c.failures = append(c.failures, fmt.Errorf("collect: %w", err))
	}
	return err == nil
}

func (c *collector) stopped(ctx context.Context) bool {
	return ctx.Err() != nil || len(c.failures) >= maxFailures
}

func compareHash(a, b ktrdr.Hash) int { return bytes.Compare(a[:], b[:]) }
