package backend

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// gateway is the way to two providers; a third is alone.
var gateway = env{
	"KTRDR_MODELS":       "one/m,two/m,local/m",
	"KTRDR_PROVIDERS":    "one=http://gateway.example:81/one,two=http://gateway.example:81/two,local=http://gateway.example:82",
	"KTRDR_MODEL_PRICES": "one/m=1/5,two/m=1/5,local/m=0/0",
	"KTRDR_MODEL_WAIT":   "true",
}

func modelsOf(t *testing.T, e env) Config {
	t.Helper()
	cfg, err := configOf(t, nil, e, "")
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// openedModels is a backend that has opened its store and its models.
func openedModels(t *testing.T, e env) *Backend {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{
		URL: filepath.Join(t.TempDir(), "ktrdr.db"), Types: Types(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	b := &Backend{cfg: modelsOf(t, e), store: store, Process: testProcess(e)}
	if err := b.openModels(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// A field that is built and not set protects nothing. Those named here are right
// as they are.
func TestModels_EverythingThatProtectsIsWired(t *testing.T) {
	b := openedModels(t, gateway)
	cfg := b.chainConfig(b.models)
	wired(t, cfg, "Cooldown", "MaxCooldown")
	wired(t, cfg.Retry, "Jitter", "DurableOver", "On", "Rand")
	wired(t, cfg.Models[0])
	wired(t, cfg.Models[2], "Cluster")
	wired(t, b.asks)
	if cfg.Models[0].Cluster != cfg.Models[1].Cluster {
		t.Errorf("clusters %q and %q, want one for one gateway", cfg.Models[0].Cluster, cfg.Models[1].Cluster)
	}
	slow := func(scope ktrdr.BreakerScope) ktrdr.BreakerState {
		breaker := b.models.registry.Breaker(scope, "x")
		for range 20 {
			if p, err := breaker.Allow(t.Context()); err == nil {
				p.Done(10*time.Minute, nil)
			}
		}
		return breaker.Status().State
	}
	if agents, providers := slow(ktrdr.ScopeAgent), slow(ktrdr.ScopeProvider); agents != ktrdr.BreakerClosed ||
		providers != ktrdr.BreakerOpen {
		t.Errorf("after slow calls the breaker of an agent is %s, of a provider %s; want only the second open", agents, providers)
	}
}

// A question may take as long as three calls, along all models and tries.
func TestModels_EveryQuestionHasADeadline(t *testing.T) {
	for seconds, call := range map[string]time.Duration{"": 2 * time.Minute, "7": 7 * time.Second} {
		e := maps.Clone(gateway)
		e["KTRDR_MODEL_TIMEOUT_SECONDS"] = seconds
		b := openedModels(t, e)
		cfg := b.chainConfig(b.models)
		if cfg.CallTimeout != call || cfg.Retry.Total != 3*call {
			t.Errorf("timeout %q: a call may take %v and its tries %v, want %v and %v", seconds, cfg.CallTimeout, cfg.Retry.Total, call, 3*call)
		}
		if want := agent.Within(3*call, b.models.chain); b.asks.Models != want {
			t.Errorf("timeout %q: agents ask %+v, want the chain within %v", seconds, b.asks.Models, 3*call)
		}
	}
}

// wired fails for every field of v that is zero and not among those that may be.
func wired(t *testing.T, v any, mayBeZero ...string) {
	t.Helper()
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		if value.Field(i).IsZero() && !slices.Contains(mayBeZero, name) {
			t.Errorf("%s.%s is not set", value.Type(), name)
		}
	}
}

// outlook is the modelWiring of two models whose breakers a test moves.
type outlook struct {
	*modelWiring
	t     *testing.T
	state ktrdr.Health
}

func newOutlook(t *testing.T) *outlook {
	t.Helper()
	cfg := modelsOf(t, gateway)
	l := &modelWiring{}
	var err error
	if l.registry, err = resilience.NewRegistry(resilience.RegistryConfig{Enabled: true, Rand: func() float64 { return 0 }}); err != nil {
		t.Fatal(err)
	}
	if l.models, err = cfg.Models.open(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	l.models = slices.DeleteFunc(l.models, func(m llm.ChainModel) bool { return m.Name == "two/m" })
	if l.level, err = resilience.NewDegradation(resilience.DegradationConfig{Services: l.services()}); err != nil {
		t.Fatal(err)
	}
	o := &outlook{modelWiring: l, t: t}
	o.state.Store.OK = true
	o.compute(1)
	return o
}

func (o *outlook) compute(workers int) {
	o.state.Workers.ByType = map[ktrdr.Type]ktrdr.WorkerSlots{ktrdr.Training: {Total: workers}}
}

// call makes calls to a provider that end so, as far as its breaker lets them.
func (o *outlook) call(provider string, times int, err error) {
	b := o.registry.Breaker(ktrdr.ScopeProvider, provider)
	for range times {
		if p, refused := b.Allow(o.t.Context()); refused == nil {
			p.Done(time.Second, err)
		}
	}
}

func (o *outlook) want(when string, models resilience.Health, level resilience.Level, shed ...resilience.Feature) {
	o.t.Helper()
	o.look(o.state)
	s := o.level.Status()
	i := slices.IndexFunc(s.Services, func(v resilience.ServiceStatus) bool { return v.Name == serviceModels })
	if s.Services[i].Health != models || s.Level != level || !slices.Equal(s.Shed, shed) {
		o.t.Errorf("%s: models %s, level %s, without %v; want %s, %s, without %v", when, s.Services[i].Health, s.Level, s.Shed,
			models, level, shed)
	}
}

var outage = &resilience.Error{Kind: resilience.KindServer, Status: 500, Err: errors.New("down")}

// What is shed while models are down is not what finds out that they are back.
func TestModels_AnOutageOfModelsEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutlook(t)
		o.want("all is well", resilience.HealthGood, resilience.Full)
		o.call("one", 5, outage)
		o.want("one is down", resilience.HealthGood, resilience.Full)
		o.call("local", 5, outage)
		o.want("all are down", resilience.HealthDown, resilience.Degraded, resilience.LLMAssessment)
		time.Sleep(time.Minute)
		o.want("they may be probed", resilience.HealthDegraded, resilience.Degraded, resilience.LLMAssessment)
		o.call("local", 1, nil)
		o.want("a probe has succeeded", resilience.HealthDegraded, resilience.Degraded, resilience.LLMAssessment)
		o.call("local", 2, nil)
		o.want("one is back", resilience.HealthGood, resilience.Degraded, resilience.LLMAssessment)
		time.Sleep(time.Minute)
		o.want("for a while", resilience.HealthGood, resilience.Full)
	})
}

func TestModels_NoWorkersAndNoModelsEndsWithTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutlook(t)
		o.call("one", 5, outage)
		o.call("local", 5, outage)
		o.compute(0)
		o.want("both", resilience.HealthDown, resilience.Minimal, resilience.LLMAssessment, resilience.LLMDesign)
		o.compute(1)
		time.Sleep(2 * time.Minute)
		o.look(o.state)
		time.Sleep(time.Minute)
		o.want("there are workers again", resilience.HealthDegraded, resilience.Degraded, resilience.LLMAssessment)
	})
}

func TestModels_AClusterThatIsOpenIsNoWayToItsModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutlook(t)
		o.call("local", 5, outage)
		b := o.registry.Breaker(ktrdr.ScopeCluster, o.models[0].Cluster)
		for range 5 {
			if p, err := b.Allow(t.Context()); err == nil {
				p.Done(0, outage)
			}
		}
		o.want("the gateway is down", resilience.HealthDown, resilience.Degraded, resilience.LLMAssessment)
	})
}

// testProcess is a process with an environment.
func testProcess(e env) Process {
	return Process{Version: "test", Log: slog.New(slog.DiscardHandler), Stderr: io.Discard, Getenv: e.get}
}
