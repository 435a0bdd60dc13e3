package sqlstore

import (
	"bytes"
	"sync"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

const (
	recentBytes   = 4 << 20 // of a generation
	recentLargest = 64 << 10
)

// recent remembers values that were put or read a short while ago: a program
// mostly asks for what it has just stored. A value is found by the hash of its
// content and so is never out of date; which values a checkpoint has, and
// whether it is still there, the database is asked.
//
// What is used moves to the younger of two generations. When that is full, it
// becomes the older, and the older is forgotten.
type recent struct {
	mu           sync.Mutex
	young, older map[ktrdr.Hash]thread.Value
	size         int // of the young
}

// keep remembers a copy of a value.
func (r *recent) keep(h ktrdr.Hash, v thread.Value) {
	if len(v.Bytes) > recentLargest {
		return
	}
	v.Bytes = bytes.Clone(v.Bytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store(h, v)
}

func (r *recent) store(h ktrdr.Hash, v thread.Value) {
	if _, there := r.young[h]; there {
		return
	}
	if size := len(h) + len(v.Type) + len(v.Bytes); r.young == nil || r.size+size > recentBytes {
		r.young, r.older, r.size = map[ktrdr.Hash]thread.Value{h: v}, r.young, size
	} else {
		r.young[h], r.size = v, r.size+size
	}
}

// find returns a copy of a value that is remembered.
func (r *recent) find(h ktrdr.Hash) (thread.Value, bool) {
	v, ok := r.look(h)
	v.Bytes = notNil(bytes.Clone(v.Bytes))
	return v, ok
}

func (r *recent) look(h ktrdr.Hash) (thread.Value, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.young[h]; ok {
		return v, true
	}
	v, ok := r.older[h]
	if ok {
		r.store(h, v)
	}
	return v, ok
}
