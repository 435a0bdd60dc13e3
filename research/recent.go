package research

import "sync"

// How many texts are remembered, about as many as researches run, and how long ones.
const (
	recentTexts = 32
	recentBytes = 32 << 10 // of one text
)

// recent remembers what the last texts say that were read. A research is asked
// about after each of its phases, in the store's one writing transaction, and is
// then a function of texts that have not changed since the phase before: its
// spec, its strategy, what its children ended with. Reading each of them once
// keeps others from waiting for it.
//
// The text is the key, so that nothing remembered can be out of date. What is
// returned is shared: a caller changes only a copy. The zero value is empty. It is safe for concurrent use.
type recent[T any] struct {
	mu    sync.Mutex
	says  map[string]T
	texts [recentTexts]string // the keys of says, in a ring
	next  int                 // where the oldest is
}

// read returns what a text says, by parse unless it is remembered. What cannot
// be read is not remembered.
func (r *recent[T]) read(text []byte, parse func() (T, error)) (T, error) {
	r.mu.Lock()
	v, known := r.says[string(text)]
	r.mu.Unlock()
	if known {
		return v, nil
	}
	v, err := parse()
	if err == nil && len(text) <= recentBytes {
		r.keep(string(text), v)
	}
	return v, err
}

// keep remembers a text in the place of the oldest.
func (r *recent[T]) keep(text string, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.says[text]; known {
		return // another goroutine has read it at the same time
	}
	if r.says == nil {
		r.says = make(map[string]T, recentTexts)
	}
	delete(r.says, r.texts[r.next])
	r.says[text], r.texts[r.next] = v, text
	r.next = (r.next + 1) % recentTexts
}
