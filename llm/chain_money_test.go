package llm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/resilience"
)

// mostOf is what the first model of a bench reserves for a question.
func mostOf(text string) ktrdr.MicroUSD {
	most, _ := llm.MostCost(&llm.Price{Input: 3, Output: 15}, question(text), 100)
	return most
}

func TestChain_ATryThatWasNotBilledLeavesItsReservationToTheNext(t *testing.T) {
	virtual(t, func(t *testing.T) {
		answers := []error{limited, down, unheard, nil}
		a := &fake{name: "a", answer: func(_ context.Context, n int) (llm.Answer, error) { return ok("a"), answers[n] }}
		b := setUp(t, []*fake{a}, func(c *llm.ChainConfig) { c.Retry = resilience.RetryPolicy{Jitter: -1} })
		start := time.Now()
		want(t, "answer", b.asks("q"), "a")
		want(t, "time", time.Since(start), (2+4+8)*time.Second)
		want(t, "calls", a.count(), 4)
		want(t, "journaled calls", len(b.journal.calls), 1)
		want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(450))
	})
}

func TestChain_ATryThatMayHaveBeenBilledIsChargedInFull(t *testing.T) {
	for name, err := range map[string]error{
		"cut off":      cut,
		"garbage":      garbled,
		"gateway":      &resilience.Error{Kind: resilience.KindTimeout, Status: 504},
		"unclassified": errors.New("what is this"),
		"policy":       refused,
	} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t, []*fake{{name: "a", answer: always(err)}})
			want(t, "answer", b.asks("q"), "")
			want(t, "status", b.journal.calls[0].Status, ktrdr.CallFailed)
			want(t, "charged", b.journal.charged(), mostOf("q"))
			want(t, "cost in the trace", b.steps[0].Cost, mostOf("q"))
		})
	}
}

func TestChain_ATryThatFailedForNothingCostsNothing(t *testing.T) {
	for name, err := range map[string]error{"429": limited, "500": down, "401": wrongKey, "400": tooLong, "no server": unheard} {
		t.Run(name, func(t *testing.T) {
			b := setUp(t, []*fake{{name: "a", answer: always(err)}})
			want(t, "answer", b.asks("q"), "")
			want(t, "status", b.journal.calls[0].Status, ktrdr.CallFailed)
			want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(0))
		})
	}
}

func TestChain_EveryTryThatMayBeBilledNeedsNewMoney(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a", answer: always(cut)}
		b := setUp(t, []*fake{a}, func(c *llm.ChainConfig) {
			c.Retry = resilience.RetryPolicy{Jitter: -1}
			c.Daily = 2*mostOf("q") + 1
		})
		want(t, "answer", b.asks("q"), "")
		want(t, "calls", a.count(), 2)
		want(t, "charged", b.journal.charged(), 2*mostOf("q"))
	})
}

func TestChain_UnknownUsageIsChargedAtItsReservation(t *testing.T) {
	for name, usage := range map[string]*llm.Usage{
		"not said":      nil,
		"nothing":       {},
		"nothing asked": {Output: 10},
		"nothing said":  {Input: 100, CacheRead: 5},
	} {
		t.Run(name, func(t *testing.T) {
			a := &fake{name: "a", answer: func(context.Context, int) (llm.Answer, error) {
				return llm.Answer{Text: "a", Stop: llm.StopEnd, Usage: usage}, nil
			}}
			b := setUp(t, []*fake{a})
			want(t, "answer", b.asks("q"), "a")
			want(t, "charged", b.journal.charged(), mostOf("q"))
			want(t, "tokens", b.journal.calls[0].Input+b.journal.calls[0].Output, int64(0))
		})
	}
}

func TestChain_AQuestionReadFromACacheIsCounted(t *testing.T) {
	a := &fake{name: "a", answer: func(context.Context, int) (llm.Answer, error) {
		return llm.Answer{Text: "a", Stop: llm.StopEnd, Usage: &llm.Usage{CacheRead: 100, Output: 10}}, nil
	}}
	b := setUp(t, []*fake{a})
	want(t, "answer", b.asks("q"), "a")
	want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(450))
}

// A server that claims to have read and written millions of tokens was asked for
// no more than was reserved.
func TestChain_AClaimBeyondTheReservationIsChargedAtIt(t *testing.T) {
	server := llmtest.New(t, llmtest.Script(llmtest.Step{Text: "a", Usage: &llmtest.Usage{Input: 10_000_000, Output: 10_000_000}}))
	cfg := patient()
	cfg.BaseURL = server.Anthropic()
	provider, err := llm.NewAnthropic(cfg)
	if err != nil {
		t.Fatal(err)
	}
	budget := 3*mostOf("q0") + 1
	b := setUp(t, []*fake{{name: "a"}}, func(c *llm.ChainConfig) {
		c.Models[0].Provider, c.Daily = provider, budget
	})
	for i, answer := range []string{"a", "a", "a", "", ""} {
		want(t, fmt.Sprint("answer ", i), b.asks(fmt.Sprint("q", i)), answer)
	}
	want(t, "the most ever charged", b.journal.mostEver, 3*mostOf("q0"))
	c := b.journal.calls[0]
	want(t, "tokens of a claim that is no count", [2]int64{c.Input, c.Output}, [2]int64{})
	want(t, "cost in the trace", b.steps[0].Cost, mostOf("q0"))
	want(t, "the trace says so", strings.Contains(b.steps[0].Reason, "claims"), true)
}

func TestChain_ACheaperModelIsAskedWhenThereIsNoMoneyForTheFirst(t *testing.T) {
	a, dear, cheap := &fake{name: "a"}, &fake{name: "b"}, &fake{name: "c"}
	b := setUp(t, []*fake{a, dear, cheap}, func(c *llm.ChainConfig) {
		c.Models[1].Price = &llm.Price{Input: 30, Output: 150}
		c.Daily = mostOf("q") - 1
	})
	got, tr, err := b.Call(t.Context(), b.ask, question("q"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "answer", got.Text, "c")
	want(t, "decisions", decisions(tr), []string{"a skipped", "b skipped", "c answered"})
	want(t, "kind", tr.Steps[0].Kind, resilience.KindBudget)
	want(t, "the dearer one is left out unasked", strings.Contains(tr.Steps[1].Reason, "there was no money"), true)
	want(t, "calls of the others", a.count()+dear.count(), 0)
}

func TestChain_AFreeModelNeedsNoBudget(t *testing.T) {
	b := setUp(t, []*fake{{name: "a"}, {name: "local"}}, func(c *llm.ChainConfig) {
		c.Daily = 0
		c.Models[1].Price = &llm.Price{}
	})
	b.ask.Research = 0
	want(t, "answer", b.asks("q"), "local")
	want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(0))
}

func TestChain_NoMoneyIsNoFailureOfAnybody(t *testing.T) {
	b := setUp(t, []*fake{{name: "a"}}, func(c *llm.ChainConfig) { c.Daily = 1 })
	for i := range 10 {
		_, _, err := b.Call(t.Context(), b.ask, question(fmt.Sprint("q", i)))
		want(t, "code", ktrdr.CodeOf(err), ktrdr.CodeBudget)
	}
	want(t, "a is well", b.Health()[0].Well, true)
	for _, s := range b.registry.List() {
		want(t, s.Name, s.State, ktrdr.BreakerClosed)
	}
}

func TestChain_AnswerIsNotUsedBeforeItIsJournaled(t *testing.T) {
	b := setUp(t, []*fake{{name: "a"}})
	b.journal.beforeSettle = func() error { return ktrdr.Errorf(ktrdr.CodeInternal, "disk on fire") }
	got, _, err := b.Call(t.Context(), b.ask, question("q"))
	if got.Text != "" || ktrdr.CodeOf(err) != ktrdr.CodeInternal {
		t.Errorf("answer = %q, %v; want none, and the journal's error", got.Text, err)
	}
	want(t, "status", b.journal.calls[0].Status, ktrdr.CallReserved)
}

func TestChain_AnAnswerThatTheJournalRefusesIsAFailureOfItsModel(t *testing.T) {
	for _, code := range []ktrdr.Code{ktrdr.CodeInvalid, ktrdr.CodeTooLarge} {
		t.Run(string(code), func(t *testing.T) {
			b := setUp(t, []*fake{{name: "a"}, {name: "b"}})
			refusals := 1
			b.journal.beforeSettle = func() error {
				if refusals--; refusals >= 0 {
					return ktrdr.Errorf(code, "that is no answer")
				}
				return nil
			}
			got, tr, err := b.Call(t.Context(), b.ask, question("q"))
			if err != nil {
				t.Fatal(err)
			}
			want(t, "answer", got.Text, "b")
			want(t, "decisions", decisions(tr), []string{"a failed", "b answered"})
			want(t, "kind", tr.Steps[0].Kind, resilience.KindGarbage)
			want(t, "statuses", fmt.Sprint(b.journal.statuses()), fmt.Sprint([]ktrdr.CallStatus{ktrdr.CallFailed, ktrdr.CallAnswered}))
			want(t, "charged for the first", b.journal.calls[0].Charged, mostOf("q"))
			want(t, "a is well", b.Health()[0].Well, false)
		})
	}
}

func TestChain_WaitsForAStoreThatIsAwayForAMoment(t *testing.T) {
	away := func() func() error {
		codes := []ktrdr.Code{ktrdr.CodeUnavailable, ktrdr.CodeUnknownResult, ktrdr.CodeUnavailable}
		return func() error {
			if len(codes) == 0 {
				return nil
			}
			code := codes[0]
			codes = codes[1:]
			return ktrdr.Errorf(code, "the store is away")
		}
	}
	for name, when := range map[string]func(*memory){
		"before the call": func(m *memory) { m.beforeReserve = away() },
		"after the call":  func(m *memory) { m.beforeSettle = away() },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				a := &fake{name: "a"}
				b := setUp(t, []*fake{a})
				when(b.journal)
				want(t, "answer", b.asks("q"), "a")
				want(t, "calls", a.count(), 1)
				want(t, "status", b.journal.calls[0].Status, ktrdr.CallAnswered)
			})
		})
	}
}

func TestChain_AStoreThatStaysAwayIsTheCallersToWaitFor(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &fake{name: "a"}
		b := setUp(t, []*fake{a, {name: "b"}})
		b.journal.beforeReserve = func() error { return ktrdr.Errorf(ktrdr.CodeUnavailable, "the store is away") }
		start := time.Now()
		_, _, err := b.Call(t.Context(), b.ask, question("q"))
		want(t, "code", ktrdr.CodeOf(err), ktrdr.CodeUnavailable)
		if took := time.Since(start); took < 5*time.Second || took > 15*time.Second {
			t.Errorf("it was waited for %v, want about ten seconds", took)
		}
		want(t, "calls", a.count(), 0)
		for _, s := range b.registry.List() {
			want(t, s.Name, s.Failures, int64(0))
		}
	})
}

func TestChain_ACancelledCallIsSettled(t *testing.T) {
	virtual(t, func(t *testing.T) {
		b := setUp(t, []*fake{{name: "a", answer: hangs}, {name: "b"}})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ktrdr.ErrShutdown) })
		_, _, err := b.Call(ctx, b.ask, question("q"))
		want(t, "is the cause", errors.Is(err, ktrdr.ErrShutdown), true)
		want(t, "journaled calls", len(b.journal.calls), 1)
		want(t, "status", b.journal.calls[0].Status, ktrdr.CallFailed)
		want(t, "charged", b.journal.charged(), mostOf("q"))
		want(t, "a is well", b.Health()[0].Well, true)
	})
}

func TestChain_AnAnswerThatComesWithTheEndOfItsCallerIsKept(t *testing.T) {
	virtual(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := &fake{name: "a", answer: func(context.Context, int) (llm.Answer, error) {
			cancel()
			return ok("a"), nil
		}}
		b := setUp(t, []*fake{a})
		if _, _, err := b.Call(ctx, b.ask, question("q")); err != nil {
			t.Fatal(err)
		}
		want(t, "status", b.journal.calls[0].Status, ktrdr.CallAnswered)
	})
}

// Forty agents at once, providers that fail in every way: what is charged is
// never more than there is, and nothing stays reserved.
func TestChain_BudgetIsNeverExceeded(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(5, 7))
		outcomes := []error{nil, nil, nil, down, limited, cut, garbled, unheard, later(3 * time.Second)}
		flaky := func(context.Context, int) (llm.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			return ok("x"), outcomes[rng.IntN(len(outcomes))]
		}
		budget := 8 * mostOf("q00")
		b := setUp(t, []*fake{{name: "a", answer: flaky}, {name: "b", answer: flaky}, {name: "c", answer: flaky}}, func(c *llm.ChainConfig) {
			c.OnDecision = nil
			c.Retry = resilience.RetryPolicy{}
			c.Daily = budget
		})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				for j := range 5 {
					b.asks(fmt.Sprint("q", i, j))
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if b.journal.mostEver > budget || b.journal.mostEver < budget/2 {
			t.Errorf("at most %d of %d were charged, want close to all and never more", b.journal.mostEver, budget)
		}
		for _, c := range b.journal.calls {
			if c.Status == ktrdr.CallReserved {
				t.Errorf("call %d stays reserved", c.ID)
			}
		}
	})
}
