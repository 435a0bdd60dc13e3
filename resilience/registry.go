package resilience

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Store keeps breakers over restarts.
type Store = ktrdr.Breakers

// RegistryConfig is what a registry is made of.
type RegistryConfig struct {
	// Enabled is CIRCUIT_BREAKER_ENABLED. Disabled breakers let every call
	// through and still count.
	Enabled bool
	Default BreakerConfig
	Scopes  map[ktrdr.BreakerScope]BreakerConfig // what is zero in them comes from Default

	Store  Store             // nil means that nothing outlives the process
	Owner  ktrdr.Incarnation // names this process among all that probe on the store; empty means a unique name
	Reload time.Duration     // how often to look what other backends changed; 0 means 5 s
	Log    *slog.Logger      // nil discards

	// OnChange is told every change, one after the other, while no lock is
	// held: it may ask and use any breaker. A panic of its own is logged.
	OnChange func(ktrdr.BreakerChange)
	Rand     func() float64 // in [0, 1), for the jitter; nil means a random one
}

// Registry holds the breakers of a process, by scope and name, so that one who
// fails does not stop the others. Make it with NewRegistry, let it Restore what
// an earlier process left, and keep Run running.
//
// Calls never wait for the store, but for probes: changes are written by Run, in
// order.
type Registry struct {
	config RegistryConfig
	log    *slog.Logger
	dirty  chan struct{} // holds one when something is to be written
	news   notices[ktrdr.BreakerChange]

	mu       sync.RWMutex
	breakers map[string]*Breaker
}

// NewRegistry checks the configuration; CodeInvalid names what cannot be used.
func NewRegistry(c RegistryConfig) (*Registry, error) {
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	c.Log, c.Owner = cmp.Or(c.Log, slog.New(slog.DiscardHandler)), cmp.Or(c.Owner, ktrdr.Incarnation(crand.Text()))
	c.Reload = cmp.Or(c.Reload, 5*time.Second)
	c.Scopes = maps.Clone(c.Scopes)
	for scope, own := range c.Scopes {
		c.Scopes[scope] = own.or(c.Default).withDefaults()
		if err := c.Scopes[scope].validate("of scope " + string(scope)); err != nil {
			return nil, err
		}
	}
	c.Default = c.Default.withDefaults()
	if err := c.Default.validate("default"); err != nil {
		return nil, err
	}
	return &Registry{
		config: c, log: c.Log, dirty: make(chan struct{}, 1), breakers: map[string]*Breaker{},
		news: notices[ktrdr.BreakerChange]{listen: c.OnChange, log: c.Log},
	}, nil
}

// Breaker returns the breaker of that scope and name, a closed one if it is new.
func (r *Registry) Breaker(scope ktrdr.BreakerScope, name string) *Breaker {
	full := string(scope) + ":" + name
	if b := r.find(full); b != nil {
		return b
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.breakers[full]; b != nil {
		return b
	}
	config, ok := r.config.Scopes[scope]
	if !ok {
		config = r.config.Default
	}
	b := &Breaker{name: full, config: config, owner: r, saving: make(turn, 1)}
	b.window.init(config.Window)
	b.state.Store(&state{row: ktrdr.Breaker{Name: full, Scope: scope, State: ktrdr.BreakerClosed}, passes: true})
	r.breakers[full] = b
	return b
}

func (r *Registry) find(full string) *Breaker {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.breakers[full]
}

func (r *Registry) all() []*Breaker {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.breakers), func(a, b *Breaker) int { return cmp.Compare(a.name, b.name) })
}

// queue notes a change to be told and written. Its caller holds the breaker's
// lock, and delivers the news when it is released.
func (r *Registry) queue(c ktrdr.BreakerChange) {
	r.news.add(c)
	r.wake()
}

// wake has Run look for what is to be written.
func (r *Registry) wake() {
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// Restore takes up what an earlier process left: what was open stays open until
// its instant, what was forced or held stays so.
func (r *Registry) Restore(ctx context.Context) error {
	if r.config.Store == nil {
		return nil
	}
	if err := r.adoptAll(ctx); err != nil {
		return fmt.Errorf("restore circuit breakers: %w", err)
	}
	return nil
}

// adoptAll takes up what is newer in the store.
func (r *Registry) adoptAll(ctx context.Context) error {
	rows, err := r.config.Store.Breakers(ctx)
	for _, row := range rows {
		r.adopt(row, false)
	}
	r.news.deliver()
	return err
}
