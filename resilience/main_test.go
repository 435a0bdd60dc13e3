package resilience_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withPostgres{m}) }

// withPostgres takes the server down before it is looked for what was left.
type withPostgres struct{ m *testing.M }

func (w withPostgres) Run() int { return pgtest.Main(w.m) }

// timedOut is a failure that speaks against the one called.
var timedOut = &resilience.Error{Kind: resilience.KindTimeout, Err: errors.New("no answer")}

// registry makes an enabled one without jitter.
func registry(t testing.TB, c resilience.RegistryConfig) *resilience.Registry {
	t.Helper()
	c.Enabled = true
	c.Rand = func() float64 { return 0 }
	return newRegistry(t, c)
}

func newRegistry(t testing.TB, c resilience.RegistryConfig) *resilience.Registry {
	t.Helper()
	r, err := resilience.NewRegistry(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call makes one call that ends so, at once, and says whether it was let through.
func call(b *resilience.Breaker, err error) bool {
	p, refused := b.Allow(context.Background())
	if refused != nil {
		return false
	}
	p.Done(time.Millisecond, err)
	return true
}

// trip makes b open by failures in a row.
func trip(t testing.TB, b *resilience.Breaker) {
	t.Helper()
	for range 5 {
		call(b, timedOut)
	}
	if got := b.Status().State; got != ktrdr.BreakerOpen {
		t.Fatalf("state %s after 5 failures, want OPEN", got)
	}
}

// wantState fails unless b is in it.
func wantState(t testing.TB, b *resilience.Breaker, want ktrdr.BreakerState) {
	t.Helper()
	if got := b.Status().State; got != want {
		t.Errorf("state %s, want %s (%s)", got, want, b.Status().Reason)
	}
}

func wantCode(t testing.TB, err error, want ktrdr.Code) {
	t.Helper()
	if got := ktrdr.CodeOf(err); got != want {
		t.Errorf("code %q (%v), want %q", got, err, want)
	}
}

// memoryStore keeps breakers as the contract says, and can be broken.
type memoryStore struct {
	mu      sync.Mutex
	rows    map[string]ktrdr.Breaker
	history []ktrdr.BreakerChange
	probes  map[string]*held
	broken  error         // returned by everything
	full    error         // returned by saving
	gate    chan struct{} // if not nil, saving waits for it
}

// held is the right to probe a breaker.
type held struct {
	owner ktrdr.Incarnation
	token int64
	until time.Time
}

func newStore() *memoryStore {
	return &memoryStore{rows: map[string]ktrdr.Breaker{}, probes: map[string]*held{}}
}

func (m *memoryStore) TakeProbe(_ context.Context, name string, owner ktrdr.Incarnation, d time.Duration) (ktrdr.Probe, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return ktrdr.Probe{}, m.broken
	}
	h := m.probes[name]
	if h == nil {
		h = &held{}
		m.probes[name] = h
	}
	if h.owner != owner && time.Now().Before(h.until) {
		return ktrdr.Probe{}, ktrdr.Errorf(ktrdr.CodeConflict, "%s probes %s", h.owner, name)
	}
	h.owner, h.token, h.until = owner, h.token+1, time.Now().Add(d)
	row := m.rows[name]
	row.RetryAt = row.RetryAt.Round(0)
	return ktrdr.Probe{Token: h.token, Breaker: row}, nil
}

// row is what is stored of a breaker.
func (m *memoryStore) row(name string) ktrdr.Breaker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows[name]
}

func (m *memoryStore) EndProbe(_ context.Context, name string, token int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.probes[name]; m.broken == nil && h.token == token {
		h.until = time.Time{}
	}
	return m.broken
}

func (m *memoryStore) Breakers(context.Context) ([]ktrdr.Breaker, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []ktrdr.Breaker
	for _, row := range m.rows {
		row.RetryAt = row.RetryAt.Round(0) // what is stored has no monotonic clock
		rows = append(rows, row)
	}
	return rows, m.broken
}

func (m *memoryStore) SaveBreaker(ctx context.Context, b ktrdr.Breaker, c ktrdr.BreakerChange) (ktrdr.Breaker, error) {
	if m.gate != nil {
		select {
		case <-m.gate:
		case <-ctx.Done():
			return ktrdr.Breaker{}, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cmp.Or(m.broken, m.full); err != nil {
		return ktrdr.Breaker{}, err
	}
	if stored := m.rows[b.Name].Version; stored != b.Version {
		return ktrdr.Breaker{}, ktrdr.Errorf(ktrdr.CodeConflict, "breaker %s has version %d, not %d", b.Name, stored, b.Version)
	}
	b.Version++
	c.Version = b.Version
	m.rows[b.Name] = b
	m.history = append(m.history, c)
	return b, nil
}

func (m *memoryStore) BreakerHistory(_ context.Context, name string, _ int) ([]ktrdr.BreakerChange, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []ktrdr.BreakerChange
	for _, c := range slices.Backward(m.history) {
		if c.Name == name {
			lines = append(lines, c)
		}
	}
	return lines, m.broken
}

func (m *memoryStore) fillWith(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full = err
}

func (m *memoryStore) breakWith(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

// running keeps r.Run going until the test or stop ends it.
func running(t *testing.T, r *resilience.Registry) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
