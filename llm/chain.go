package llm

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// ChainModel is a link of a chain: one model at one provider, and what it can do.
type ChainModel struct {
	Name     string // as users say it
	Provider Provider
	ID       string // as the provider says it
	Price    *Price // nil when it is not known; such a model is not called
	Tools    bool   // whether it can ask for tools
	Cluster  string // of models that share their fate, as those behind one gateway; "" for none
}

func (m ChainModel) full() string { return m.Provider.Name() + "/" + m.ID }

// Journal is what the chain needs of a ktrdr.Journal: no call without money, and
// none that was paid before.
type Journal interface {
	ReserveCall(ctx context.Context, c ktrdr.NewCall) (ktrdr.Call, error)
	SettleCall(ctx context.Context, e ktrdr.CallEnd) error
}

// ChainConfig is what a chain is made of.
type ChainConfig struct {
	Models   []ChainModel // in the order of preference; none is a chain that is exhausted at once
	Registry *resilience.Registry
	Retry    resilience.RetryPolicy // of one model, before the next is asked
	Journal  Journal

	Daily       ktrdr.MicroUSD // what may be spent on a day; 0 means nothing, so that only free models are called
	CallTimeout time.Duration  // of one try; 0 means the provider's own

	Cooldown    time.Duration // before a model that failed is asked first again, doubled with every failure in a row; 0 means 30 s
	MaxCooldown time.Duration // 0 means 15 min

	Log *slog.Logger // nil discards

	// OnDecision is told every step of every trace as it is made, while no lock
	// is held: it may ask the chain. It is called by the goroutine of the call.
	OnDecision func(CallContext, TraceStep)
}

// CallContext says in whose name a call is made, and how far it may go.
type CallContext struct {
	Operation ktrdr.OperationID
	Epoch     ktrdr.Epoch
	Agent     string         // which agent asks; it has a breaker of its own
	Research  ktrdr.MicroUSD // what may be spent on the operation's root
	Preferred string         // the model to ask first, by name; "" or one that is gone means the first of the chain
	Deadline  time.Time      // zero means none but the context's
	Wait      bool           // rather wait for long, durably, than go without a model
}

// ModelFallbackChain asks models, one after the other, until one has answered.
//
//	Call ─▶ for each model, the preferred one first:
//	          fits? healthy? ─no─▶ skipped, or asked after the others
//	            │yes
//	          breakers ─open─▶ skipped
//	            │
//	          reserve ─answered before─▶ recalled: nothing is bought
//	            │      └no money─▶ skipped; only cheaper ones are asked now
//	          ask ─error─▶ again, as the retry policy says; then the next model
//	            │
//	          settle ─▶ answered
//	        none is left ─▶ *Exhausted: the caller's own last resort
//
// A failure is that of the model that failed, and of no other: models have no
// common position that a failure could move. A model that failed cools down;
// after that one call at a time tries it in its old place, and its first
// success gives it the place back. While it cools down it is asked after all
// others, unless its server has set a rate limit that is not over.
//
// The breaker of an agent sees the outcome of whole calls, those of clusters
// and providers see every try: an agent whose first model is down can still
// work, and is not stopped.
type ModelFallbackChain struct {
	cfg ChainConfig

	mu     sync.Mutex
	health map[string]*health // by the model's name
}

// NewModelFallbackChain checks the configuration; CodeInvalid names what cannot
// be used.
func NewModelFallbackChain(cfg ChainConfig) (*ModelFallbackChain, error) {
	if cfg.Registry == nil || cfg.Journal == nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a chain of models needs a registry of breakers and a journal")
	}
	if err := cfg.Retry.Validate(); err != nil {
		return nil, err
	}
	if cfg.Daily < 0 || cfg.CallTimeout < 0 || cfg.Cooldown < 0 || cfg.MaxCooldown < 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "budgets and times of a chain of models must not be negative")
	}
	c := &ModelFallbackChain{cfg: cfg, health: make(map[string]*health)}
	c.cfg.Models = slices.Clone(cfg.Models)
	for _, m := range c.cfg.Models {
		switch {
		case m.Name == "" || m.ID == "" || m.Provider == nil:
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "model %q needs a name, an id and a provider", m.Name)
		case c.health[m.Name] != nil:
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "there are two models called %q; give one another name", m.Name)
		case m.Price != nil && m.Price.Check() != nil:
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "price of %s: %w", m.Name, m.Price.Check())
		}
		c.health[m.Name] = &health{}
	}
	c.cfg.Cooldown = cmp.Or(cfg.Cooldown, 30*time.Second)
	c.cfg.MaxCooldown = max(cmp.Or(cfg.MaxCooldown, 15*time.Minute), c.cfg.Cooldown)
	c.cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return c, nil
}

// Call answers r from the journal or by the first model that can, and has paid
// for it when it returns. The trace tells every decision, whatever the end.
//
// The error is *Exhausted when no model is left, *resilience.WaitError when
// ask.Wait is set and a model wants to be asked later; CodeInvalid when the
// request is wrong; the journal's when it cannot be used, CodeStaleEpoch among
// them; the cause of ctx when that ended.
func (c *ModelFallbackChain) Call(ctx context.Context, ask CallContext, r Request) (Answer, Trace, error) {
	if err := r.check(); err != nil {
		return Answer{}, Trace{}, err
	}
	q := &call{chain: c, ask: ask, request: r, trace: Trace{Key: r.Key()}}
	models, known := c.line(ask.Preferred)
	if !known {
		q.skip(ChainModel{Name: ask.Preferred}, &resilience.Error{Kind: resilience.KindInvalid, Err: errGone})
	}
	answer, err := q.run(ctx, models)
	return answer, q.trace, err
}

// errGone is the reason when the preferred model is no longer configured.
var errGone = errors.New("this backend has no model of that name any more")

// line is the models in the order in which they would be asked were all well,
// and whether the preferred one is among them.
func (c *ModelFallbackChain) line(preferred string) (models []ChainModel, known bool) {
	models = slices.Clone(c.cfg.Models)
	if preferred == "" {
		return models, true
	}
	i := slices.IndexFunc(models, func(m ChainModel) bool { return m.Name == preferred })
	if i < 0 {
		return models, false
	}
	first := models[i]
	return slices.Insert(slices.Delete(models, i, i+1), 0, first), true
}
