package backend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
)

// modelWiring is what stands between the agents and the world: who may be asked,
// who must not be asked now, and what is gone without meanwhile.
type modelWiring struct {
	registry *resilience.Registry
	chain    *llm.ModelFallbackChain
	models   []llm.ChainModel
	level    *resilience.Degradation
	store    ktrdr.Breakers

	decisions *prometheus.CounterVec
	spent     prometheus.Counter
}

// The services whose health makes the level.
const (
	serviceStore   = "store"
	serviceCompute = "compute"
	serviceModels  = "models"
)

// openModels makes them of the configuration and of what an earlier life has
// left: a breaker that was open is open.
func (b *Backend) openModels(ctx context.Context) (err error) {
	l := &modelWiring{
		store: b.store,
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ktrdr_model_decisions_total", Help: "Decisions about language models: answered, recalled, failed, skipped, postponed.",
		}, []string{"model", "decision"}),
		spent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ktrdr_model_cost_usd_total", Help: "US dollars paid for answers of language models.",
		}),
	}
	m := b.cfg.Models
	l.registry, err = resilience.NewRegistry(resilience.RegistryConfig{
		Enabled: !m.NoBreakers, Default: m.Breaker, Scopes: breakerScopes, Store: b.store, Owner: b.self.Incarnation, Log: b.Log,
	})
	if err != nil {
		return err
	}
	if err := l.registry.Restore(ctx); err != nil {
		return err
	}
	if l.models, err = m.open(b.Getenv); err != nil {
		return err
	}
	for _, said := range b.cfg.Models.gaps(l.models, b.Getenv) {
		b.Log.WarnContext(ctx, "model will not be asked", "why", said)
	}
	if l.chain, err = llm.NewModelFallbackChain(b.chainConfig(l)); err != nil {
		return err
	}
	l.level, err = resilience.NewDegradation(resilience.DegradationConfig{Services: l.services(), Log: b.Log})
	if err != nil {
		return err
	}
	b.models = l
	b.asks = agent.ModelAccess{Allows: l.level.Allows, Wait: m.Wait, Log: b.Log}
	if len(l.models) > 0 {
		b.asks.Models = agent.Within(m.patience(), l.chain)
	}
	return nil
}

// breakerScopes is what is different for some breakers. The breaker of an agent
// times complete calls, along all models and with the waits between their tries.
// A long call says nothing against the agent.
var breakerScopes = map[ktrdr.BreakerScope]resilience.BreakerConfig{ktrdr.ScopeAgent: {SlowRate: -1}}

// retriesAMinute is how many retries all agents may make together. A few calls get
// all of theirs, and many calls do not overload the provider.
const retriesAMinute = 20

func (b *Backend) chainConfig(l *modelWiring) llm.ChainConfig {
	m := b.cfg.Models
	retry := m.Retry
	retry.Total, retry.Budget = m.patience(), &resilience.RetryBudget{Least: retriesAMinute}
	return llm.ChainConfig{
		Models: l.models, Registry: l.registry, Retry: retry, Journal: b.store,
		Daily: m.Daily, CallTimeout: m.Timeout, Log: b.Log, OnDecision: l.decided,
	}
}

// open makes the models of the chain. A model without a known price is no reason
// not to start: it is passed over, and the warning says why.
func (m Models) open(getenv func(string) string) (all []llm.ChainModel, err error) {
	prices := llm.DefaultPrices().With(m.Prices)
	providers := map[string]llm.Provider{}
	for _, name := range m.Chain {
		at, id, _ := strings.Cut(name, "/")
		if providers[at] == nil {
			cfg := llm.ClientConfig{Name: at, BaseURL: m.Providers[at], Key: ktrdr.Secret(getenv(keyName(at))), Total: m.Timeout}
			format, _ := llm.FormatOf(at)
			if providers[at], err = format.New(cfg); err != nil {
				return nil, fmt.Errorf("provider %s, whose key is in %s: %w", at, keyName(at), err)
			}
		}
		all = append(all, llm.ChainModel{
			Name: name, Provider: providers[at], ID: id, Tools: true, Cluster: m.cluster(at), Price: prices.Of(at, id),
		})
	}
	return all, nil
}

// gaps says which models cannot be asked as things are set, and what to set. A
// server of one's own may want no key.
func (m Models) gaps(all []llm.ChainModel, getenv func(string) string) (said []string) {
	for _, one := range all {
		at, _, _ := strings.Cut(one.Name, "/")
		if one.Price == nil {
			said = append(said, fmt.Sprintf("%s has no price and will not be asked: set KTRDR_MODEL_PRICES", one.Name))
		}
		if m.Providers[at] == "" && strings.TrimSpace(getenv(keyName(at))) == "" {
			said = append(said, fmt.Sprintf("%s has no key and cannot answer: set %s", one.Name, keyName(at)))
		}
	}
	return said
}

func (l *modelWiring) decided(_ llm.CallContext, s llm.TraceStep) {
	l.decisions.WithLabelValues(s.Model, string(s.Decision)).Inc()
	l.spent.Add(s.Cost.USD())
}

// services weigh so much that models that are down make it DEGRADED and never,
// by themselves, MINIMAL: that sheds the designs of models, and it is with those
// that one learns that a model is back.
func (l *modelWiring) services() []resilience.Service {
	all := []resilience.Service{
		{Name: serviceStore, Weight: 3, Critical: true, Start: resilience.HealthGood},
		{Name: serviceCompute, Weight: 3, Start: resilience.HealthGood},
	}
	if len(l.models) > 0 {
		all = append(all, resilience.Service{Name: serviceModels, Weight: 1, Start: resilience.HealthGood})
	}
	return all
}

// watchEvery is how often the health of services is looked at.
const watchEvery = 2 * time.Second

func (b *Backend) watch(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select { // the workers of a backend that has just started are on their way
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		b.models.look(b.engine.Health(ctx))
	}
}

// look reports what it sees. Services are those it was made with, so no report
// is refused.
func (l *modelWiring) look(h ktrdr.Health) {
	report := func(name string, health resilience.Health) { _ = l.level.Report(name, health) }
	store, compute := resilience.HealthGood, resilience.HealthGood
	if !h.Store.OK {
		store = resilience.HealthDown
	}
	if h.Workers.ByType[ktrdr.Training].Total == 0 {
		compute = resilience.HealthDown
	}
	report(serviceStore, store)
	report(serviceCompute, compute)
	if len(l.models) > 0 {
		report(serviceModels, l.reach())
	}
}

// reach is the health of the models as one service. It is that of the best model: a
// call that fails is made to the next.
func (l *modelWiring) reach() resilience.Health {
	healths := []resilience.Health{resilience.HealthGood, resilience.HealthDegraded, resilience.HealthDown}
	rank := func(scope ktrdr.BreakerScope, name string) int {
		return slices.Index(healths, l.registry.Breaker(scope, name).Health())
	}
	best := len(healths) - 1
	for _, m := range l.models {
		worst := rank(ktrdr.ScopeProvider, m.Provider.Name())
		if m.Cluster != "" {
			worst = max(worst, rank(ktrdr.ScopeCluster, m.Cluster))
		}
		best = min(best, worst)
	}
	return healths[best]
}

// Breakers implements httpapi.Resilience.
func (l *modelWiring) Breakers() []resilience.Status { return l.registry.List() }

// BreakerHistory implements httpapi.Resilience.
func (l *modelWiring) BreakerHistory(ctx context.Context, name string, limit int) ([]ktrdr.BreakerChange, error) {
	return l.store.BreakerHistory(ctx, name, limit)
}

// ResetBreaker implements httpapi.Resilience.
func (l *modelWiring) ResetBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error) {
	b, err := l.registry.Reset(ctx, name, d.By, d.Why)
	return resilience.Decided{Breaker: b, AlsoBlocking: l.alsoBlocking(name)}, err
}

// ForceBreaker implements httpapi.Resilience.
func (l *modelWiring) ForceBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error) {
	b, err := l.registry.Force(ctx, name, d.State, d.By, d.Why)
	return resilience.Decided{Breaker: b, AlsoBlocking: l.alsoBlocking(name)}, err
}

// alsoBlocking names the breakers besides this one that the calls of its provider,
// or of the providers of its cluster, pass and that are not closed. Nothing is,
// where breakers refuse nothing.
func (l *modelWiring) alsoBlocking(name string) (others []string) {
	for _, m := range l.models {
		if m.Cluster == "" {
			continue
		}
		provider, cluster := l.registry.Breaker(ktrdr.ScopeProvider, m.Provider.Name()), l.registry.Breaker(ktrdr.ScopeCluster, m.Cluster)
		other := cluster
		switch name {
		case provider.Name():
		case cluster.Name():
			other = provider
		default:
			continue
		}
		if other.Health() != resilience.HealthGood && !slices.Contains(others, other.Name()) {
			others = append(others, other.Name())
		}
	}
	return others
}

// Degradation implements httpapi.Resilience.
func (l *modelWiring) Degradation() resilience.DegradationStatus { return l.level.Status() }

// Models implements httpapi.Resilience.
func (l *modelWiring) Models() []llm.ModelHealth { return l.chain.Health() }

var (
	descBreaker = prometheus.NewDesc("ktrdr_breaker_state", "Circuit breakers: 0 closed, 1 half open, 2 open; a forced state counts.",
		[]string{"name"}, nil)
	descRefusal = prometheus.NewDesc("ktrdr_breaker_refused_total", "Calls that a circuit breaker refused.", []string{"name"}, nil)
	descLevel   = prometheus.NewDesc("ktrdr_service_level", "1 for the level of service given now.", []string{"level"}, nil)
)

// Describe sends nothing: breakers appear with their first call.
func (l *modelWiring) Describe(chan<- *prometheus.Desc) {}

// Collect sends how the breakers and the level stand.
func (l *modelWiring) Collect(ch chan<- prometheus.Metric) {
	states := map[ktrdr.BreakerState]float64{ktrdr.BreakerHalfOpen: 1, ktrdr.BreakerOpen: 2}
	for _, s := range l.registry.List() {
		ch <- prometheus.MustNewConstMetric(descBreaker, prometheus.GaugeValue, states[cmp.Or(s.Forced, s.State)], s.Name)
		ch <- prometheus.MustNewConstMetric(descRefusal, prometheus.CounterValue, float64(s.Refused), s.Name)
	}
	ch <- prometheus.MustNewConstMetric(descLevel, prometheus.GaugeValue, 1, string(l.level.Level()))
}
