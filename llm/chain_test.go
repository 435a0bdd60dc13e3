package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
)

// fake is a provider without a network, so that time in tests is virtual.
type fake struct {
	name   string
	answer func(ctx context.Context, n int) (llm.Answer, error) // nil means ok

	mu    sync.Mutex
	calls int
}

func (f *fake) Name() string { return f.name }

func (f *fake) Complete(ctx context.Context, _ string, _ llm.Request) (llm.Answer, error) {
	f.mu.Lock()
	n := f.calls
	f.calls++
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return ok(f.name), nil
	}
	return answer(ctx, n)
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fake) becomes(answer func(context.Context, int) (llm.Answer, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func ok(text string) llm.Answer {
	return llm.Answer{Text: text, Stop: llm.StopEnd, Usage: &llm.Usage{Input: 100, Output: 10}}
}

// always fails in the same way.
func always(err error) func(context.Context, int) (llm.Answer, error) {
	return func(context.Context, int) (llm.Answer, error) { return llm.Answer{}, err }
}

// hangs answers nothing until its caller is gone.
func hangs(ctx context.Context, _ int) (llm.Answer, error) {
	<-ctx.Done()
	return llm.Answer{}, &resilience.Error{Kind: resilience.KindOf(ctx.Err()), Err: context.Cause(ctx)}
}

var (
	down     = &resilience.Error{Kind: resilience.KindServer, Status: 500, Err: errors.New("down")}
	limited  = &resilience.Error{Kind: resilience.KindRateLimited, Status: 429, Err: errors.New("slow down")}
	cut      = &resilience.Error{Kind: resilience.KindUnreachable, Err: errors.New("cut off in the middle")}
	garbled  = &resilience.Error{Kind: resilience.KindGarbage, Err: errors.New("no JSON")}
	unheard  = &resilience.Error{Kind: resilience.KindUnreachable, Err: fmt.Errorf("%w: %w", llm.ErrNotSent, syscall.ECONNREFUSED)}
	refused  = &resilience.Error{Kind: resilience.KindRefused, Err: errors.New("not that")}
	tooLong  = &resilience.Error{Kind: resilience.KindInvalid, Status: 400, Err: errors.New("too long")}
	wrongKey = &resilience.Error{Kind: resilience.KindAuth, Status: 401, Err: errors.New("no such key")}
)

func later(wait time.Duration) error {
	return &resilience.Error{Kind: resilience.KindRateLimited, Status: 429, RetryAfter: wait, Err: errors.New("later")}
}

const dollar ktrdr.MicroUSD = 1_000_000

// bench is a chain with all that it stands on.
type bench struct {
	*llm.ModelFallbackChain
	t        *testing.T
	cfg      llm.ChainConfig
	journal  *memory
	registry *resilience.Registry
	steps    []llm.TraceStep
	ask      llm.CallContext
}

// setUp makes a chain of one model per provider, named as it is: the first
// costs 3 and 15 dollars per million tokens, each later one half.
func setUp(t *testing.T, providers []*fake, change ...func(*llm.ChainConfig)) *bench {
	t.Helper()
	registry, err := resilience.NewRegistry(resilience.RegistryConfig{Enabled: true, Rand: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, journal: newMemory(t), registry: registry}
	b.ask = llm.CallContext{Operation: operation, Epoch: 1, Agent: "designer", Research: 100 * dollar}
	b.cfg = llm.ChainConfig{
		Registry: registry, Journal: b.journal, Daily: 100 * dollar,
		Retry:      resilience.RetryPolicy{Retries: -1, Jitter: -1},
		OnDecision: func(_ llm.CallContext, s llm.TraceStep) { b.steps = append(b.steps, s) },
	}
	rate := 3.0
	for _, p := range providers {
		b.cfg.Models = append(b.cfg.Models, llm.ChainModel{
			Name: p.name, Provider: p, ID: p.name + "-1", Price: &llm.Price{Input: rate, Output: 5 * rate}, Tools: true,
		})
		rate /= 2
	}
	for _, c := range change {
		c(&b.cfg)
	}
	b.restart()
	return b
}

// restart makes a new chain, as another process would.
func (b *bench) restart() {
	b.t.Helper()
	chain, err := llm.NewModelFallbackChain(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ModelFallbackChain = chain
}

// question is a request of its own for every text.
func question(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: text}}}}, MaxTokens: 100}
}

// asks is the name of the fake that answers, or "" for none.
func (b *bench) asks(text string) string {
	b.t.Helper()
	a, _, err := b.Call(b.t.Context(), b.ask, question(text))
	if _, exhausted := errors.AsType[*llm.Exhausted](err); err != nil && !exhausted {
		b.t.Fatalf("%s: %v", text, err)
	}
	return a.Text
}

func decisions(tr llm.Trace) (all []string) {
	for _, s := range tr.Steps {
		all = append(all, s.Model+" "+string(s.Decision))
	}
	return all
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	g, ok1 := got.([]string)
	w, ok2 := want.([]string)
	if ok1 && ok2 && slices.Equal(g, w) || !ok1 && got == want {
		return
	}
	t.Errorf("%s = %v, want %v", what, got, want)
}

func virtual(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func TestChain_PaysBeforeTheAnswerIsUsed(t *testing.T) {
	b := setUp(t, []*fake{{name: "a"}})
	a, tr, err := b.Call(t.Context(), b.ask, question("q"))
	if err != nil {
		t.Fatal(err)
	}
	c := b.journal.calls[0]
	want(t, "answer", a.Text, "a")
	want(t, "status", c.Status, ktrdr.CallAnswered)
	want(t, "cost", c.Charged, ktrdr.MicroUSD(100*3+10*15))
	want(t, "model", c.Model, "a/a-1")
	want(t, "tokens", [2]int64{c.Input, c.Output}, [2]int64{100, 10})
	want(t, "cost in the trace", tr.Steps[0].Cost, c.Charged)
	want(t, "decisions", decisions(tr), []string{"a answered"})
}

func TestChain_JournaledAnswerIsNeverBoughtAgain(t *testing.T) {
	a, other := &fake{name: "a"}, &fake{name: "b"}
	b := setUp(t, []*fake{a, other})
	want(t, "first answer", b.asks("q"), "a")
	b.restart()
	b.ask.Preferred = "b"
	got, tr, err := b.Call(t.Context(), b.ask, question("q"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "second answer", got.Text, "a")
	want(t, "usage", *got.Usage, llm.Usage{Input: 100, Output: 10})
	want(t, "decisions", decisions(tr), []string{"a/a-1 recalled"})
	want(t, "calls", a.count()+other.count(), 1)
	want(t, "journaled calls", len(b.journal.calls), 1)
	want(t, "calls that the agent's breaker saw", b.registry.Breaker(ktrdr.ScopeAgent, "designer").Status().Calls, int64(1))
}

func TestChain_RecallsWhileEveryBreakerIsOpen(t *testing.T) {
	for _, name := range []string{"provider:a", "agent:designer"} {
		t.Run(name, func(t *testing.T) {
			a := &fake{name: "a"}
			b := setUp(t, []*fake{a})
			want(t, "answer", b.asks("q"), "a")
			if _, err := b.registry.Force(t.Context(), name, ktrdr.BreakerOpen, "me", "test"); err != nil {
				t.Fatal(err)
			}
			want(t, "answer behind an open breaker", b.asks("q"), "a")
			want(t, "another question", b.asks("new"), "")
			want(t, "calls", a.count(), 1)
			want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(450))
			if slices.Contains(b.journal.statuses(), ktrdr.CallReserved) {
				t.Error("a call that was never made stays reserved")
			}
		})
	}
}

func TestChain_RefusalsTryTheNextWithoutACooldown(t *testing.T) {
	for name, err := range map[string]error{"policy": refused, "invalid": tooLong} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t, []*fake{{name: "a", answer: always(err)}, {name: "b"}})
			want(t, "answer", b.asks("q"), "b")
			if h := b.Health()[0]; !h.Well {
				t.Errorf("health = %+v, want well: what was asked was wrong, not the model", h)
			}
		})
	}
}

func TestChain_SaysOfEveryModelWhyThereIsNoAnswer(t *testing.T) {
	b := setUp(t, []*fake{{name: "a", answer: always(down)}, {name: "b", answer: always(wrongKey)}, {name: "c"}}, func(c *llm.ChainConfig) {
		c.Models[2].Price = nil
	})
	_, tr, err := b.Call(t.Context(), b.ask, question("q"))
	e, ok := errors.AsType[*llm.Exhausted](err)
	if !ok {
		t.Fatalf("err = %v, want *Exhausted", err)
	}
	for _, part := range []string{
		"a: server (status 500): down", "b: auth (status 401)",
		"c: its price is not known; state it in the config",
	} {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("error %q does not say %q", e, part)
		}
	}
	want(t, "decisions", decisions(tr), []string{"a failed", "b failed", "c skipped"})
	want(t, "is down", errors.Is(err, down), true)
	want(t, "steps told", len(b.steps), len(tr.Steps))
}

func TestChain_StaleClaimEndsTheCall(t *testing.T) {
	a := &fake{name: "a"}
	b := setUp(t, []*fake{a, {name: "b"}})
	b.journal.epoch = 2
	_, _, err := b.Call(t.Context(), b.ask, question("q"))
	want(t, "code", ktrdr.CodeOf(err), ktrdr.CodeStaleEpoch)
	want(t, "calls", a.count(), 0)
}

func TestChain_PoisonedQuestionIsAskedOfNoModel(t *testing.T) {
	a, other := &fake{name: "a"}, &fake{name: "b"}
	b := setUp(t, []*fake{a, other})
	for range 2 { // two processes died with the call in flight
		if _, err := b.journal.ReserveCall(t.Context(),
			ktrdr.NewCall{Operation: operation, Epoch: 1, Key: question("q").Key(), Model: "a/a-1"}); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "answer", b.asks("q"), "")
	want(t, "calls", a.count()+other.count(), 0)
	want(t, "another question", b.asks("new"), "a")
}

func TestChain_RefusesAConfigurationThatCannotWork(t *testing.T) {
	a := &fake{name: "a"}
	good := setUp(t, []*fake{a}).cfg
	for name, change := range map[string]func(*llm.ChainConfig){
		"no journal":      func(c *llm.ChainConfig) { c.Journal = nil },
		"no registry":     func(c *llm.ChainConfig) { c.Registry = nil },
		"two of one name": func(c *llm.ChainConfig) { c.Models = append(slices.Clone(c.Models), c.Models[0]) },
		"no provider":     func(c *llm.ChainConfig) { c.Models = []llm.ChainModel{{Name: "x", ID: "y"}} },
		"a negative price": func(c *llm.ChainConfig) {
			c.Models = []llm.ChainModel{{Name: "x", ID: "y", Provider: a, Price: &llm.Price{Input: -1}}}
		},
		"a negative time": func(c *llm.ChainConfig) { c.Cooldown = -1 },
	} {
		cfg := good
		change(&cfg)
		if _, err := llm.NewModelFallbackChain(cfg); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s: err = %v, want invalid", name, err)
		}
	}
}
