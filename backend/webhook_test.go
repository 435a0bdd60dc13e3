package backend

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bundle"
)

// leases is what a store keeps of runs that ended: whether each was delivered, and
// until when it is leased.
type leases struct {
	mu    sync.Mutex
	runs  []*ktrdr.Run
	until map[string]time.Time
	dies  bool // the backend dies before it records that a run was told
}

func (l *leases) NextUndelivered(_ context.Context, lease time.Duration) (*ktrdr.Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.ToldAt.IsZero() && !time.Now().Before(l.until[r.ID]) {
			l.until[r.ID] = time.Now().Add(lease)
			one := *r
			return &one, nil
		}
	}
	return nil, nil
}

func (l *leases) MarkDelivered(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dies {
		return errors.New("the backend is dead")
	}
	for _, r := range l.runs {
		if r.ID == id {
			r.ToldAt = time.Now()
		}
	}
	return nil
}

// receiver answers with each status in turn, and then with the last.
type receiver struct {
	mu       sync.Mutex
	statuses []int
	heard    []RunEnded
	at       []time.Time
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e RunEnded
	if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
		return nil, err
	}
	r.heard, r.at = append(r.heard, e), append(r.at, time.Now())
	status := http.StatusOK
	if n := len(r.statuses); n > 0 {
		status = r.statuses[min(len(r.heard), n)-1]
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(""))}, nil
}

// endedRun is a run that ended some time ago.
func endedRun(id string, ago time.Duration) *ktrdr.Run {
	return &ktrdr.Run{
		ID: id, State: ktrdr.RunCancelled, CancelReason: "enough", CreatedAt: time.Now().Add(-ago - time.Hour), EndedAt: time.Now().Add(-ago),
		RunCounts: ktrdr.RunCounts{Created: 10, Completed: 4, Rejected: 3, Failed: 2, Cancelled: 1, Finalists: 2, Looks: 1, Claims: 1},
	}
}

// tellFor lets n backends post webhooks for a while.
func tellFor(t *testing.T, backends int, l *leases, r *receiver, span time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var all sync.WaitGroup
	for range backends {
		h := &webhook{
			url: "http://hook.example/secret", runs: l, changed: func() <-chan struct{} { return nil }, log: slog.New(slog.DiscardHandler), via: r,
		}
		all.Go(func() {
			if err := h.run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestWebhook_OneBackendReportsARunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{runs: []*ktrdr.Run{endedRun("run_a", time.Minute), endedRun("run_b", time.Minute)}, until: map[string]time.Time{}}
		r := &receiver{}
		tellFor(t, 5, l, r, time.Hour)
		if len(r.heard) != 2 || r.heard[0].ID == r.heard[1].ID {
			t.Fatalf("heard %+v, want one message for each run from five backends", r.heard)
		}
		for _, e := range r.heard {
			if e.Event != "run_ended" || e.ID != e.Run || e.State != ktrdr.RunCancelled || e.Reason != "enough" || e.Researches != 10 ||
				e.Finalists != 2 ||
				e.Looks != 1 || e.Claims != 1 || e.Outcomes["completed"] != 4 || e.Outcomes["gate_rejected"] != 3 || e.Outcomes["failed"] != 2 ||
				e.Outcomes["cancelled"] != 1 || e.EndedAt.IsZero() {
				t.Errorf("heard %+v", e)
			}
		}
	})
}

func TestWebhook_TriesAgainWhatMaySucceedLater(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		ago      time.Duration
		posts    int
		within   time.Duration
	}{
		"it was away for a moment":            {[]int{0, 503, 200}, 0, 3, 5 * time.Second},
		"it was away for longer than a lease": {[]int{503, 503, 429, 408, 0, 503, 200}, 0, 7, 2 * hookLease},
		"it refuses":                          {[]int{400}, 0, 1, time.Second},
		"it redirects":                        {[]int{302}, 0, 1, time.Second},
		"the run ended days ago":              {nil, 2 * hookPatience, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &leases{runs: []*ktrdr.Run{endedRun("run_a", c.ago)}, until: map[string]time.Time{}}
				r := &receiver{statuses: c.statuses}
				begun := time.Now()
				tellFor(t, 2, l, r, time.Hour)
				if len(r.heard) != c.posts || l.runs[0].ToldAt.IsZero() {
					t.Fatalf("%d posts, told at %v, want %d posts and that it counts as told", len(r.heard), l.runs[0].ToldAt, c.posts)
				}
				if took := l.runs[0].ToldAt.Sub(begun); took > c.within {
					t.Errorf("it took %v, want at most %v", took, c.within)
				}
			})
		})
	}
}

func TestWebhook_GivesUpAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{runs: []*ktrdr.Run{endedRun("run_a", 0)}, until: map[string]time.Time{}}
		r := &receiver{statuses: []int{503}}
		begun := time.Now()
		tellFor(t, 1, l, r, 3*hookPatience)
		last := r.at[len(r.at)-1].Sub(begun)
		if l.runs[0].ToldAt.IsZero() || last < hookPatience-hookLease || last > hookPatience+hookLease {
			t.Errorf("told at %v, the last post after %v, want it to be given up after %v", l.runs[0].ToldAt, last, hookPatience)
		}
	})
}

// A backend that dies between the post and its record leaves the run to another
// one, which sends the same id.
func TestWebhook_ARepeatHasTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leases{runs: []*ktrdr.Run{endedRun("run_a", 0)}, until: map[string]time.Time{}, dies: true}
		r := &receiver{}
		tellFor(t, 1, l, r, time.Second)
		l.dies = false
		tellFor(t, 1, l, r, time.Hour)
		if len(r.heard) != 2 || r.heard[0].ID != "run_a" || r.heard[1].ID != "run_a" {
			t.Errorf("heard %+v, want two messages with one id", r.heard)
		}
		if wait := r.at[1].Sub(r.at[0]); wait < hookLease {
			t.Errorf("the second came after %v, want the lease of %v to be over", wait, hookLease)
		}
	})
}

// A message that is kept tells later whether the ledger was made again: `ktrdr claim verify` reads its heads.
func TestWebhook_TheMessageShowsTheHeadsOfTheLedgers(t *testing.T) {
	head := ktrdr.ChainHead{Market: "mkt_1bdf185cccbc", Links: 10, Hash: ktrdr.Hash{1, 2, 3}}
	text, err := json.Marshal(runEndedOf(&ktrdr.Run{ID: "run_1", Heads: []ktrdr.ChainHead{head}}))
	if err != nil {
		t.Fatal(err)
	}
	if found := bundle.HeadsIn(text, "the message"); len(found) != 1 || found[0].ChainHead != head {
		t.Errorf("%s: heads %v, want %v", text, found, head)
	}
}
