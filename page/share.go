package page

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// sharing lets requests of the same token for the same address share the work, so
// that many tabs on one view cost as much as two. Of each view one rendering runs
// at a time. Requests that come meanwhile wait for the next, which begins when the
// first has ended and serves all of them:
//
//	request 1 ──▶ rendering 1 ─────────▶ answer 1
//	request 2 ────▶ (waits) ───────────▶ rendering 2 ──▶ answers 2 and 3
//	request 3 ──────────▶ (waits) ──────────▲
//
// An answer is never older than its request: no rendering takes a request that
// comes after it began. Nothing is kept.
type sharing struct {
	mu      sync.Mutex
	running map[sharedView]*rendering
	next    map[sharedView]*rendering
}

// sharedView is all that the content of a view depends on, besides the lab.
type sharedView struct {
	token    string
	scope    ktrdr.Scope
	uri      string
	fragment bool
}

// rendering is the work for one or more requests.
type rendering struct {
	done    chan struct{}
	content []byte
	err     error
}

// errLeft is the error of a rendering that did not end: the browser that asked for
// it has gone.
var errLeft = errors.New("the request that rendered the view has ended")

// content renders a view, or waits for another request that does. A view that is
// written into a file is not shared: it has more rows.
func (s *sharing) content(r *http.Request, render func() ([]byte, error)) ([]byte, error) {
	ctx := r.Context()
	if r.Method != http.MethodGet || inFile(ctx) {
		return render()
	}
	token, _ := api.Caller(ctx)
	view := sharedView{token.ID, token.Scope, r.URL.RequestURI(), r.Header.Get("Ktrdr-Fragment") != ""}
	for {
		content, waited, err := s.once(ctx, view, render)
		gone := errors.Is(err, errLeft) || errors.Is(err, context.Canceled)
		if !waited || !gone || ctx.Err() != nil {
			return content, err
		}
	}
}

// once renders the view, or waits for a request that does so.
func (s *sharing) once(ctx context.Context, view sharedView, render func() ([]byte, error)) (_ []byte, waited bool, _ error) {
	s.mu.Lock()
	before, mine := s.running[view], s.next[view]
	if mine != nil {
		s.mu.Unlock()
		select {
		case <-mine.done:
			return mine.content, true, mine.err
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
	mine = &rendering{done: make(chan struct{}), err: errLeft}
	s.set(&s.next, view, mine)
	s.mu.Unlock()
	defer close(mine.done)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.next, view)
			return nil, false, ctx.Err()
		}
	}
	s.mu.Lock()
	delete(s.next, view) // who comes from now on waits for the one after
	s.set(&s.running, view, mine)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, view)
	}()
	mine.content, mine.err = render()
	return mine.content, false, mine.err
}

func (s *sharing) set(views *map[sharedView]*rendering, view sharedView, r *rendering) {
	if *views == nil {
		*views = map[sharedView]*rendering{}
	}
	(*views)[view] = r
}
