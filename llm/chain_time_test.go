package llm_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestChain_ALongWaitOfOneModelIsNoWaitOfTheChain(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(later(2 * time.Hour))}
		b := setUp(t, []*fake{a, {name: "b"}}, func(c *llm.ChainConfig) { c.Retry = resilience.RetryPolicy{} })
		start := time.Now()
		want(t, "answer", b.asks("q1"), "b")
		want(t, "time", time.Since(start), time.Duration(0))
		time.Sleep(119 * time.Minute)
		want(t, "answer before the instant", b.asks("q2"), "b")
		want(t, "calls of a", a.count(), 1)
		a.becomes(nil)
		time.Sleep(2 * time.Minute)
		want(t, "answer after it", b.asks("q3"), "a")
	})
}

func TestChain_WithNoOtherModelALongWaitIsTheCallers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a, other := &fake{name: "a", answer: always(later(2 * time.Hour))}, &fake{name: "b", answer: always(later(time.Hour))}
		b := setUp(t, []*fake{a, other}, func(c *llm.ChainConfig) { c.Retry = resilience.RetryPolicy{} })
		b.ask.Wait = true
		for range 2 { // failing, and then rate-limited
			_, _, err := b.Call(t.Context(), b.ask, question("q"))
			w, ok := errors.AsType[*resilience.WaitError](err)
			if !ok || w.After != time.Hour {
				t.Fatalf("err = %v, want a wait of an hour", err)
			}
		}
		want(t, "calls", a.count()+other.count(), 2)
		want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(0))
		b.ask.Wait = false
		_, _, err := b.Call(t.Context(), b.ask, question("q"))
		if _, ok := errors.AsType[*llm.Exhausted](err); !ok {
			t.Errorf("err = %v, want *Exhausted for one who does not wait", err)
		}
	})
}

func TestChain_AShortWaitIsWaitedFor(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(later(50 * time.Second))}
		b := setUp(t, []*fake{a}, func(c *llm.ChainConfig) { c.Retry = resilience.RetryPolicy{} })
		time.AfterFunc(10*time.Second, func() { a.becomes(nil) })
		start := time.Now()
		want(t, "answer", b.asks("q"), "a")
		want(t, "time", time.Since(start), 50*time.Second)
	})
}

func TestChain_ADeadlineLeavesTimeForTheOthers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setUp(t, []*fake{{name: "a", answer: hangs}, {name: "b", answer: hangs}, {name: "c"}}, func(c *llm.ChainConfig) {
			c.Retry = resilience.RetryPolicy{}
		})
		start := time.Now()
		b.ask.Deadline = start.Add(time.Minute)
		want(t, "answer", b.asks("q"), "c")
		if took := time.Since(start); took > time.Minute {
			t.Errorf("took %v, want less than the deadline", took)
		}
	})
}

func TestChain_APassedDeadlineLeavesTheCallersLastResort(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setUp(t, []*fake{{name: "a", answer: hangs}, {name: "b", answer: hangs}}, func(c *llm.ChainConfig) {
			c.Retry = resilience.RetryPolicy{}
		})
		start := time.Now()
		b.ask.Deadline = start.Add(time.Minute)
		_, _, err := b.Call(t.Context(), b.ask, question("q"))
		if _, ok := errors.AsType[*llm.Exhausted](err); !ok {
			t.Fatalf("err = %v, want *Exhausted", err)
		}
		want(t, "time", time.Since(start), time.Minute)
		for _, c := range b.journal.calls {
			want(t, "status", c.Status, ktrdr.CallFailed)
		}
	})
}

// A provider that hangs, then limits, then talks nonsense, then dies; a second
// that is well. Every question is answered.
func TestChain_ManyFailuresInARowAreSurvived(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a"}
		b := setUp(t, []*fake{a, {name: "b"}}, func(c *llm.ChainConfig) {
			c.Retry = resilience.RetryPolicy{}
			c.CallTimeout = time.Minute
		})
		n := 0
		events := []func(){
			func() { a.becomes(hangs) }, func() { a.becomes(always(later(time.Second))) },
			func() { a.becomes(always(garbled)) }, func() { a.becomes(always(unheard)) },
		}
		for _, next := range events {
			next()
			for range 5 {
				n++
				b.ask.Deadline = time.Now().Add(10 * time.Minute)
				if got := b.asks(string(rune('a' + n))); got == "" {
					t.Errorf("question %d was not answered", n)
				}
				time.Sleep(time.Minute)
			}
		}
		a.becomes(nil)
		time.Sleep(time.Hour)
		b.ask.Deadline = time.Time{}
		want(t, "answer in the morning", b.asks("good morning"), "a")
	})
}
