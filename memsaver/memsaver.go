// Package memsaver is a ktrdr.Saver in memory: for tests, and for threads that
// need not outlive the process. What goes in and what comes out is copied, so
// that no caller can change a stored checkpoint.
package memsaver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// Saver keeps checkpoints in memory. It is safe for concurrent use.
type Saver struct {
	mu      sync.RWMutex
	threads map[threadKey]*thread
}

var _ ktrdr.Saver = (*Saver)(nil)

type threadKey struct{ tenant, thread string }

type thread struct {
	spaces  map[string]*space // by namespace
	expires time.Time         // zero: never
	lease   saver.Holding     // the newest, be it over
}

// space is one namespace of a thread.
type space struct {
	ids    []string // sorted as bytes
	rows   map[string]*row
	values map[versioned][]*ktrdr.Value // in the order first seen
	writes map[string][]write           // by checkpoint, which need not exist yet; sorted by (task, idx)
}

type versioned struct{ channel, version string }

// row is one checkpoint. It is never changed after it was stored; the values
// its slots point to are shared and never changed either.
type row struct {
	parent     string
	format     int
	run        string
	hasRun     bool
	checkpoint json.RawMessage
	metadata   json.RawMessage
	slots      saver.Slots[*ktrdr.Value]
}

type write struct {
	task, path string
	idx        int
	channel    string
	value      ktrdr.Value
}

// New returns an empty saver.
func New() *Saver { return &Saver{threads: make(map[threadKey]*thread)} }

// Put implements ktrdr.Saver.
func (s *Saver) Put(ctx context.Context, p ktrdr.ThreadPut) (ktrdr.ThreadRef, error) {
	d, err := saver.ReadPut(p)
	if err != nil {
		return ktrdr.ThreadRef{}, err
	}
	if err := ctx.Err(); err != nil {
		return ktrdr.ThreadRef{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	t, err := s.enter(d.Ref.Tenant, d.Ref.Thread, p.Lease)
	if err != nil {
		return ktrdr.ThreadRef{}, err
	}
	sp := t.space(d.Ref.NS)
	if err := d.Expected(sp.latest()); err != nil {
		return ktrdr.ThreadRef{}, err
	}
	t.expires = time.Time{}
	if d.TTL > 0 {
		t.expires = time.Now().Add(d.TTL)
	}
	sp.put(d, p)
	return d.Ref, nil
}

// PutWrites implements ktrdr.Saver.
func (s *Saver) PutWrites(ctx context.Context, w ktrdr.ThreadWrites) error {
	if err := saver.CheckWrites(w); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	t, err := s.enter(w.Tenant, w.Thread, w.Lease)
	if err != nil {
		return err
	}
	sp := t.space(w.NS)
	for _, one := range w.Writes {
		sp.write(w.Checkpoint, write{task: w.Task, path: w.TaskPath, idx: one.Idx, channel: one.Channel, value: clone(one.Value)})
	}
	return nil
}

// thread returns a thread, making it when there is none.
func (s *Saver) thread(tenant, id string) *thread {
	key := threadKey{tenant, id}
	t := s.threads[key]
	if t == nil {
		t = &thread{spaces: make(map[string]*space)}
		s.threads[key] = t
	}
	return t
}

// space returns a namespace, making it when there is none.
func (t *thread) space(ns string) *space {
	sp := t.spaces[ns]
	if sp == nil {
		sp = &space{
			rows:   make(map[string]*row),
			values: make(map[versioned][]*ktrdr.Value),
			writes: make(map[string][]write),
		}
		t.spaces[ns] = sp
	}
	return sp
}

// latest is the greatest checkpoint id; empty when there is none.
func (sp *space) latest() string {
	if len(sp.ids) == 0 {
		return ""
	}
	return sp.ids[len(sp.ids)-1]
}

func (sp *space) put(d saver.Draft, p ktrdr.ThreadPut) {
	own := make(map[string]*ktrdr.Value)
	for channel, c := range d.Channels {
		if c.Value != nil {
			own[channel] = sp.keep(versioned{channel, c.Version}, *c.Value)
		}
	}
	slots, left := saver.Inherit(d, own, sp.slots(d.Parent))
	for _, channel := range left {
		slots.Adopt(channel, sp.slots(d.Ref.Checkpoint), func(channel, version string) (*ktrdr.Value, bool) {
			seen := sp.values[versioned{channel, version}]
			if len(seen) == 0 {
				return nil, false
			}
			return seen[0], true
		})
	}
	id := d.Ref.Checkpoint
	if i, found := slices.BinarySearch(sp.ids, id); !found {
		sp.ids = slices.Insert(sp.ids, i, id)
	}
	sp.rows[id] = &row{
		parent: d.Parent, format: d.Format, run: d.Run, hasRun: d.HasRun,
		checkpoint: slices.Clone(p.Checkpoint), metadata: slices.Clone(p.Metadata), slots: slots,
	}
}

// slots returns the slots of a checkpoint; none when it does not exist.
func (sp *space) slots(id string) saver.Slots[*ktrdr.Value] {
	if r := sp.rows[id]; r != nil {
		return r.slots
	}
	return nil
}

// keep stores a value under its channel and version, once.
func (sp *space) keep(key versioned, v ktrdr.Value) *ktrdr.Value {
	for _, have := range sp.values[key] {
		if equal(*have, v) {
			return have
		}
	}
	kept := clone(v)
	sp.values[key] = append(sp.values[key], &kept)
	return &kept
}

// write stores one pending write: for idx >= 0 the first wins, else the last.
func (sp *space) write(checkpoint string, w write) {
	all := sp.writes[checkpoint]
	i, found := slices.BinarySearchFunc(all, w, func(a, b write) int {
		if c := strings.Compare(a.task, b.task); c != 0 {
			return c
		}
		return a.idx - b.idx
	})
	switch {
	case !found:
		sp.writes[checkpoint] = slices.Insert(all, i, w)
	case w.idx < 0:
		all[i] = w
	}
}

func equal(a, b ktrdr.Value) bool { return a.Type == b.Type && string(a.Bytes) == string(b.Bytes) }

func clone(v ktrdr.Value) ktrdr.Value {
	return ktrdr.Value{Type: v.Type, Bytes: append([]byte{}, v.Bytes...)}
}
