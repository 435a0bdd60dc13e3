package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// asked is a request of a token for a path.
func asked(ctx context.Context, token string, scope ktrdr.Scope, path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	return r.WithContext(api.As(ctx, ktrdr.Token{ID: token, Scope: scope}))
}

func TestSharing_SixtyTabsCostTwoRenderingsAndNoneIsOlderThanItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		var begun, atOnce atomic.Int32
		var tabs sync.WaitGroup
		for i := range 60 {
			tabs.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // the first rendering takes a second
				before := begun.Load()
				content, err := s.content(asked(t.Context(), "a", ktrdr.ScopeRead, "/night"), func() ([]byte, error) {
					if atOnce.Add(1) > 1 {
						t.Error("two renderings of one view run at once")
					}
					defer atOnce.Add(-1)
					n := begun.Add(1)
					time.Sleep(time.Second)
					return []byte{byte(n)}, nil
				})
				if err != nil || int32(content[0]) <= before {
					t.Errorf("tab %d got rendering %d, which began before it asked; %v", i, content, err)
				}
			})
		}
		tabs.Wait()
		if n := begun.Load(); n != 2 {
			t.Errorf("60 tabs cost %d renderings, want 2", n)
		}
		if len(s.running)+len(s.next) > 0 {
			t.Error("something is kept after the last answer")
		}
	})
}

func TestSharing_NoRequestGetsWhatAnotherTokenOrAddressIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		fragment := asked(t.Context(), "a", ktrdr.ScopeRead, "/night")
		fragment.Header.Set("Ktrdr-Fragment", "1")
		inFile := asked(context.WithValue(t.Context(), fileKey{}, &filed{}), "a", ktrdr.ScopeRead, "/night")
		var tabs sync.WaitGroup
		for i, r := range []*http.Request{
			asked(t.Context(), "a", ktrdr.ScopeRead, "/night"), asked(t.Context(), "b", ktrdr.ScopeRead, "/night"),
			asked(t.Context(), "a", ktrdr.ScopeAdmin, "/night"), asked(t.Context(), "a", ktrdr.ScopeRead, "/night?run=r"), fragment, inFile,
		} {
			for range 3 {
				tabs.Go(func() {
					content, err := s.content(r, func() ([]byte, error) {
						time.Sleep(time.Second)
						return fmt.Append(nil, i), nil
					})
					if err != nil || string(content) != fmt.Sprint(i) {
						t.Errorf("request %d got the answer of %s, %v", i, content, err)
					}
				})
			}
		}
		tabs.Wait()
	})
}

func TestSharing_ARequestThatEndsLeavesItsWorkToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharing
		leaving, leave := context.WithCancel(t.Context())
		renderFor := func(ctx context.Context) func() ([]byte, error) {
			return func() ([]byte, error) {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(time.Minute):
					return []byte("whole"), nil
				}
			}
		}
		var tabs sync.WaitGroup
		for i := range 4 { // the first two leave: one renders, the other is to render next
			ctx := t.Context()
			if i < 2 {
				ctx = leaving
			}
			tabs.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				content, err := s.content(asked(ctx, "a", ktrdr.ScopeRead, "/night"), renderFor(ctx))
				if i < 2 && !errors.Is(err, context.Canceled) {
					t.Errorf("request %d that left got %q, %v", i, content, err)
				}
				if i >= 2 && string(content) != "whole" {
					t.Errorf("request %d got %q, %v", i, content, err)
				}
			})
		}
		time.Sleep(10 * time.Second)
		leave()
		tabs.Wait()
	})
}
