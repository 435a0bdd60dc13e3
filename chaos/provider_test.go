package chaos_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/resilience"
)

// The breaker of the provider that dies, and money that is enough.
const (
	threshold = 5
	coolDown  = time.Second

	daily, each = 3.0, 0.3 // US dollars, the second for one research
	answer      = 0.002    // what one of answering costs
)

// impatient lets a breaker go through its states within seconds. There are so
// many retries that the breaker alone keeps them from a dead provider, and so
// much time that they and not the clock decide.
func impatient() []string {
	return []string{
		fmt.Sprintf("CIRCUIT_BREAKER_FAILURE_THRESHOLD=%d", threshold),
		fmt.Sprintf("CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECONDS=%g", coolDown.Seconds()),
		fmt.Sprintf("KTRDR_BUDGET_DAILY_USD=%g", daily), fmt.Sprintf("KTRDR_BUDGET_RESEARCH_USD=%g", each),
		"KTRDR_MODEL_TIMEOUT_SECONDS=6", "KTRDR_RETRY_MAX_RETRIES=12", "KTRDR_RETRY_MAX_DELAY_SECONDS=0.05",
	}
}

// dying is a provider that fails in one way after the other and then is dead.
// Once its breaker has to be open, it reports every call and does not answer it
// until it is released.
type dying struct {
	*llmtest.Server
	probed chan chan<- struct{} // closing what it holds lets the call go
}

var faults = []llmtest.Step{
	{Fault: llmtest.Hang},
	{Status: 429, Header: map[string]string{"Retry-After": "0"}},
	{Fault: llmtest.Garbage},
}

func newDying(t *testing.T) *dying {
	t.Helper()
	d := &dying{probed: make(chan chan<- struct{}, 100)}
	d.Server = llmtest.New(t, func(n int, _ llmtest.Request) llmtest.Step {
		switch {
		case n < len(faults):
			return faults[n]
		case n < threshold:
			return llmtest.Step{Fault: llmtest.Refuse}
		}
		held := make(chan struct{})
		d.probed <- held
		return llmtest.Step{Fault: llmtest.Refuse, Wait: held}
	})
	return d
}

// designedBySecond waits for a research, which the other provider designed.
func designedBySecond(t *testing.T, lab *labtest.Lab, id ktrdr.OperationID) {
	t.Helper()
	lab.Ends(id, ktrdr.Completed)
	if d := designOf(t, lab, id); d.Designer != "openai/m2" || d.Instead != "" || len(d.Decisions) == 0 {
		t.Errorf("designed by %q, instead %q, after %d decisions; want the second model", d.Designer, d.Instead, len(d.Decisions))
	}
}

// breakerOf is a provider's.
func breakerOf(t *testing.T, lab *labtest.Lab, provider string) resilience.Status {
	t.Helper()
	all, err := lab.Client().Breakers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Name == "provider:"+provider {
			return b
		}
	}
	t.Fatalf("there is no breaker of %s among %+v", provider, all)
	return resilience.Status{}
}

func TestModels_AProviderThatFailsInEveryWayCostsNoResearch(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		first := newDying(t)
		second := llmtest.New(t, func(_ int, r llmtest.Request) llmtest.Step { return answering(r) })
		lab.ServeWith(1, append(models(first.Server, second), impatient()...)...)
		lab.Market("EURUSD", 1500, 3)

		hit := triggers(t, lab)
		designedBySecond(t, lab, hit.Operation)
		if b := breakerOf(t, lab, "anthropic"); b.State != ktrdr.BreakerOpen || len(first.Requests()) < threshold {
			t.Fatalf("after %d calls the breaker is %+v, want it open", len(first.Requests()), b)
		}
		for range 2 {
			contested(t, lab, first)
		}
		auditCalls(t, first.Requests())
		auditHistory(t, lab)
		// Failures that may have been billed are charged, beside the answers.
		auditMoney(t, lab, hit.Run, 3*answer, each)
		auditMoney(t, lab, "", answer*float64(len(second.Requests())), daily)
	})
}

// probe has researches run until one of them probes the dead provider.
func probe(t *testing.T, lab *labtest.Lab, first *dying) (prober ktrdr.OperationID, held chan<- struct{}) {
	t.Helper()
	for over := false; !over; {
		select {
		case ended := <-first.probed: // of a research that has ended: its model timed out
			close(ended)
		default:
			over = true
		}
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		prober = asks(t, lab)
		lab.Until(prober, time.Minute, "probing or ended", func(op ktrdr.Operation) bool {
			select {
			case held = <-first.probed:
				return true
			default:
				return op.Status.Terminal()
			}
		})
		if held != nil {
			return prober, held
		}
		designedBySecond(t, lab, prober)
	}
	t.Fatal("no probe of the dead provider within a minute")
	return "", nil
}

// contested has another research run while a probe is in flight.
func contested(t *testing.T, lab *labtest.Lab, first *dying) {
	t.Helper()
	prober, held := probe(t, lab, first)
	before := breakerOf(t, lab, "anthropic")
	designedBySecond(t, lab, asks(t, lab))
	if after := breakerOf(t, lab, "anthropic"); before.State != ktrdr.BreakerHalfOpen || after.Refused <= before.Refused {
		t.Errorf("beside a probe the breaker was %+v, then %+v; want it half open and others refused", before, after)
	}
	close(held)
	designedBySecond(t, lab, prober)
}

// auditCalls looks at the calls as the provider saw them.
func auditCalls(t *testing.T, calls []llmtest.Request) {
	t.Helper()
	if len(calls) < threshold+2 {
		t.Fatalf("the provider was called %d times, want %d and two probes", len(calls), threshold)
	}
	dead := calls[len(faults):]
	for i, c := range dead {
		within := 0
		for _, later := range dead[i:] {
			if later.Began.Sub(c.Began) < coolDown {
				within++
			}
		}
		if within > threshold+1 {
			t.Errorf("the dead provider was called %d times within one cool-down, want at most %d", within, threshold+1)
		}
	}
	for i, c := range calls[threshold:] {
		if before := calls[threshold+i-1]; before.Ended.IsZero() || c.Began.Before(before.Ended) {
			t.Errorf("probe %d began at %v, while the call before it was there until %v", i+1, c.Began, before.Ended)
		}
	}
}

// auditHistory wants the breaker to have opened once for the calls and once for
// every probe, and never to have closed.
func auditHistory(t *testing.T, lab *labtest.Lab) {
	t.Helper()
	history, err := lab.Client().BreakerHistory(t.Context(), "provider:anthropic", 100)
	if err != nil {
		t.Fatal(err)
	}
	to := map[ktrdr.BreakerState]int{}
	for _, c := range history {
		to[c.To]++
	}
	if to[ktrdr.BreakerOpen] < 3 || to[ktrdr.BreakerHalfOpen] < 2 || to[ktrdr.BreakerClosed] > 0 {
		t.Errorf("the breaker changed %v, want it open three times, half open twice and never closed: %+v", to, history)
	}
}

// auditMoney wants a run, or all, to have been charged for more than over US
// dollars, and for no more than most.
func auditMoney(t *testing.T, lab *labtest.Lab, run string, over, most float64) {
	t.Helper()
	r, err := lab.Client().Report(t.Context(), "", run)
	if err != nil || r.Models == nil {
		t.Fatalf("the report of run %q has no calls: %+v, %v", run, r, err)
	}
	if m := r.Models; m.USD <= over || m.USD > most || m.InFlight != 0 {
		t.Errorf("run %q was charged %+v, want more than $%.3f, at most $%.3f, and all settled", run, *m, over, most)
	}
}
