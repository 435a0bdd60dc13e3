package llm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
)

// The chains that this one learned from had faults, numbered in their review;
// each has a test here that bears its number.

func TestChain_Fault1_FailureOfAnotherModelDoesNotMoveThePrimary(t *testing.T) {
	b := setUp(t, []*fake{{name: "a"}, {name: "b", answer: always(down)}})
	b.ask.Preferred = "b"
	want(t, "answer while b fails", b.asks("q1"), "a")
	b.ask.Preferred = ""
	want(t, "answer after b failed", b.asks("q2"), "a")
	want(t, "a is well", b.Health()[0].Well, true)
	want(t, "b is well", b.Health()[1].Well, false)
}

func TestChain_Fault2_ManyFailuresOfOneModelMoveToTheNextOnly(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setUp(t, []*fake{{name: "a", answer: always(down)}, {name: "b"}, {name: "c"}, {name: "d"}}, func(c *llm.ChainConfig) {
			c.Cooldown = time.Second // so that it is tried, and fails, every time
			c.MaxCooldown = time.Second
		})
		for i := range 4 {
			want(t, "answer", b.asks(fmt.Sprint("q", i)), "b")
			time.Sleep(time.Minute)
		}
	})
}

func TestChain_Fault3_DoesNotGoBackAndForthWhileAModelCools(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(down)}
		b := setUp(t, []*fake{a, {name: "b"}})
		want(t, "first answer", b.asks("q"), "b")
		a.becomes(nil) // well again, and the chain does not know it
		for i := range 5 {
			want(t, "answer within the cool-down", b.asks(fmt.Sprint("q", i)), "b")
		}
		want(t, "calls of a", a.count(), 1)
	})
}

func TestChain_Fault4_AModelComesBackByItselfAfterItsCooldown(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(down)}
		b := setUp(t, []*fake{a, {name: "b"}})
		want(t, "first answer", b.asks("q"), "b")
		time.Sleep(31 * time.Second)
		want(t, "answer of a trial that fails", b.asks("q1"), "b")
		want(t, "calls of a", a.count(), 2)
		a.becomes(nil)
		time.Sleep(31 * time.Second)
		want(t, "answer within the doubled cool-down", b.asks("q2"), "b")
		time.Sleep(30 * time.Second)
		want(t, "answer after it", b.asks("q3"), "a")
		want(t, "a is well", b.Health()[0].Well, true)
	})
}

func TestChain_Fault4_OneCallAtATimeTriesAModelThatFailed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(down)}
		b := setUp(t, []*fake{a, {name: "b"}}, func(c *llm.ChainConfig) { c.OnDecision = nil })
		want(t, "first answer", b.asks("q"), "b")
		time.Sleep(time.Minute)
		pass := make(chan struct{})
		a.becomes(func(context.Context, int) (llm.Answer, error) {
			<-pass
			return ok("a"), nil
		})
		trial := make(chan string)
		go func() { trial <- b.asks("trial") }()
		synctest.Wait()
		for i := range 3 {
			want(t, "answer during the trial", b.asks(fmt.Sprint("q", i)), "b")
		}
		close(pass)
		want(t, "answer of the trial", <-trial, "a")
		want(t, "calls of a", a.count(), 2)
		want(t, "answer after the trial", b.asks("after"), "a")
	})
}

func TestChain_Fault4_ATrialThatPanicsStandsInNobodysWay(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(down)}
		b := setUp(t, []*fake{a, {name: "b"}})
		want(t, "first answer", b.asks("q"), "b")
		time.Sleep(time.Minute)
		a.becomes(func(context.Context, int) (llm.Answer, error) { panic("of the provider") })
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			b.asks("boom")
		}()
		a.becomes(nil)
		want(t, "answer", b.asks("after"), "a")
	})
}

func TestChain_Fault5_EverySettingCounts(t *testing.T) {
	tool := question("q")
	tool.Tools = []llm.Tool{{Name: "save", Schema: []byte(`{}`)}}
	for name, c := range map[string]struct {
		change  func(*llm.ChainConfig)
		request llm.Request
		why     string
	}{
		"a model that has no tools": {func(c *llm.ChainConfig) { c.Models[0].Tools = false }, tool, "it cannot use tools"},
		"a price that is not known": {
			func(c *llm.ChainConfig) { c.Models[0].Price = nil }, question("q"),
			"its price is not known; state it in the config, 0 for a model of your own",
		},
		"a price that ends somewhere": {
			func(c *llm.ChainConfig) { c.Models[0].Price.UpTo = 1000 }, question("q"),
			"its price is not known for a request of this size",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &fake{name: "a"}
			b := setUp(t, []*fake{a, {name: "b"}}, c.change)
			got, tr, err := b.Call(t.Context(), b.ask, c.request)
			if err != nil {
				t.Fatal(err)
			}
			want(t, "answer", got.Text, "b")
			want(t, "calls of a", a.count(), 0)
			want(t, "reason", tr.Steps[0].Reason, c.why)
		})
	}
}

func TestChain_Fault5_CallTimeoutEndsAModelThatHangs(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setUp(t, []*fake{{name: "a", answer: hangs}, {name: "b"}}, func(c *llm.ChainConfig) { c.CallTimeout = 20 * time.Second })
		start := time.Now()
		want(t, "answer", b.asks("q"), "b")
		want(t, "time", time.Since(start), 20*time.Second)
		want(t, "kind", b.steps[0].Kind, resilience.KindTimeout)
	})
}

func TestChain_Fault5_ASlowModelIsAskedLastWhenTimeIsShort(t *testing.T) {
	virtual(t, func(t *testing.T) {
		slow := &fake{name: "a", answer: func(context.Context, int) (llm.Answer, error) {
			time.Sleep(40 * time.Second)
			return ok("a"), nil
		}}
		b := setUp(t, []*fake{slow, {name: "b"}})
		want(t, "answer without a deadline", b.asks("q1"), "a")
		b.ask.Deadline = time.Now().Add(30 * time.Second)
		want(t, "answer before a deadline", b.asks("q2"), "b")
		want(t, "calls of a", slow.count(), 1)
	})
}

func TestChain_Fault6_AnOnlyModelThatFailedIsStillAsked(t *testing.T) {
	a := &fake{name: "a", answer: always(down)}
	b := setUp(t, []*fake{a})
	want(t, "answer while it is down", b.asks("q"), "")
	a.becomes(nil)
	want(t, "answer when it is up", b.asks("q"), "a")
}

// Work outlives the configuration that it was given out under.
func TestChain_Fault6_AModelThatIsGoneIsPassedOver(t *testing.T) {
	b := setUp(t, []*fake{{name: "a", answer: always(down)}, {name: "b"}})
	b.ask.Preferred = "opus"
	got, tr, err := b.Call(t.Context(), b.ask, question("q"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "answer", got.Text, "b")
	want(t, "decisions", decisions(tr), []string{"opus skipped", "a failed", "b answered"})
	want(t, "reason", tr.Steps[0].Reason, "this backend has no model of that name any more")
}

func TestChain_Fault6_WhereTheOnlyModelIsGoneNoneIsLeft(t *testing.T) {
	b := setUp(t, nil)
	b.ask.Preferred = "opus"
	_, _, err := b.Call(t.Context(), b.ask, question("q"))
	if e, ok := errors.AsType[*llm.Exhausted](err); !ok ||
		e.Error() != "no model can answer: opus: this backend has no model of that name any more" {
		t.Errorf("err = %v, want *Exhausted that says so", err)
	}
}

func TestChain_Fault7_ACallbackMayUseTheChain(t *testing.T) {
	b := setUp(t, []*fake{{name: "a", answer: always(down)}, {name: "b"}})
	told := 0
	b.cfg.OnDecision = func(ask llm.CallContext, _ llm.TraceStep) {
		told++
		b.Health()
		if ask.Agent != "callback" { // a call within a call
			ask.Agent = "callback"
			if _, _, err := b.Call(t.Context(), ask, question("from the callback")); err != nil {
				t.Errorf("call from a callback: %v", err)
			}
		}
	}
	b.restart()
	want(t, "answer", b.asks("q"), "b")
	if told < 4 {
		t.Errorf("the callback was told %d steps, want those of every call", told)
	}
}

func TestChain_Fault7_ResetForgetsEverything(t *testing.T) {
	b := setUp(t, []*fake{{name: "a", answer: always(down)}, {name: "b"}})
	want(t, "answer", b.asks("q"), "b")
	if h := b.Health()[0]; h.SuccessRate == nil || *h.SuccessRate >= 1 || h.Well || h.LastError == "" {
		t.Errorf("health = %+v, want what is known of a failure", h)
	}
	b.Reset()
	h := b.Health()[0]
	if h.SuccessRate != nil || !h.Well || h.LastError != "" || h.Calls != 0 || !h.CoolUntil.IsZero() {
		t.Errorf("health = %+v, want nothing known", h)
	}
}

func TestChain_Fault7_AnEmptyChainStaysEmpty(t *testing.T) {
	b := setUp(t, nil)
	_, _, err := b.Call(t.Context(), b.ask, question("q"))
	if e, ok := errors.AsType[*llm.Exhausted](err); !ok || e.Error() != "no model can answer: none is configured" {
		t.Errorf("err = %v, want *Exhausted that says so", err)
	}
}

func TestChain_Fault8_WhatABreakerForbidsIsNotCalled(t *testing.T) {
	for _, name := range []string{"provider:a", "cluster:hosted"} {
		t.Run(name, func(t *testing.T) {
			a := &fake{name: "a"}
			b := setUp(t, []*fake{a, {name: "b"}}, func(c *llm.ChainConfig) { c.Models[0].Cluster = "hosted" })
			b.registry.Breaker(ktrdr.ScopeProvider, "a")
			b.registry.Breaker(ktrdr.ScopeCluster, "hosted")
			if _, err := b.registry.Force(t.Context(), name, ktrdr.BreakerOpen, "me", "test"); err != nil {
				t.Fatal(err)
			}
			want(t, "answer", b.asks("q"), "b")
			want(t, "calls of a", a.count(), 0)
			want(t, "journaled calls", len(b.journal.calls), 1)
			want(t, "kind", b.steps[0].Kind, resilience.KindOpen)
		})
	}
}

func TestChain_ADeadProviderIsCalledAsOftenAsItsBreakerAllows(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(down)}
		b := setUp(t, []*fake{a, {name: "b"}}, func(c *llm.ChainConfig) {
			c.Retry = resilience.RetryPolicy{Jitter: -1} // four retries
			c.Cooldown = time.Millisecond
			c.MaxCooldown = time.Millisecond
		})
		start := time.Now()
		for i := 0; time.Since(start) < 10*time.Minute; i++ {
			want(t, "answer", b.asks(fmt.Sprint("q", i)), "b")
			time.Sleep(time.Second)
		}
		// Five to open it; then one probe after 1, 2, 4 and 8 minutes at most.
		if got := a.count(); got > 5+4 {
			t.Errorf("a dead provider was called %d times in ten minutes", got)
		}
	})
}

func TestChain_AnAgentIsStoppedOnlyWhenNoModelAnswersIt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a, other := &fake{name: "a", answer: always(down)}, &fake{name: "b"}
		b := setUp(t, []*fake{a, other}, func(c *llm.ChainConfig) {
			c.Cooldown = time.Millisecond
			c.MaxCooldown = time.Millisecond
		})
		for i := range 20 {
			want(t, "answer with one provider down", b.asks(fmt.Sprint("q", i)), "b")
		}
		want(t, "agent", b.registry.Breaker(ktrdr.ScopeAgent, "designer").Status().State, ktrdr.BreakerClosed)
		time.Sleep(time.Hour) // the breaker of a lets a probe through
		other.becomes(always(down))
		for i := range 5 {
			want(t, "answer with both down", b.asks(fmt.Sprint("p", i)), "")
		}
		want(t, "agent", b.registry.Breaker(ktrdr.ScopeAgent, "designer").Status().State, ktrdr.BreakerOpen)
		b.ask.Agent = "assessor"
		other.becomes(nil)
		time.Sleep(2 * time.Minute)
		want(t, "answer to another agent", b.asks("other"), "b")
	})
}
