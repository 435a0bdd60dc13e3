package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// canary is a key that only the provider may see.
const canary = "sk-canary-5b1f0c6e"

// models points a backend at two providers, the first in Anthropic's words and
// the second in OpenAI's, with waits of seconds instead of hours.
func models(first, second *llmtest.Server) []string {
	return []string{
		"KTRDR_MODELS=anthropic/m1,openai/m2", "KTRDR_MODEL_PRICES=anthropic/m1=1/5,openai/m2=1/5",
		"KTRDR_PROVIDERS=anthropic=" + first.Anthropic() + ",openai=" + second.OpenAI(),
		"ANTHROPIC_API_KEY=" + canary + "-first", "OPENAI_API_KEY=" + canary + "-second",
		"KTRDR_BUDGET_DAILY_USD=0.5", "KTRDR_BUDGET_RESEARCH_USD=0.3", "KTRDR_MODEL_TIMEOUT_SECONDS=1.5",
		"KTRDR_RETRY_FIRST_DELAY_SECONDS=0.05", "KTRDR_RETRY_MAX_RETRIES=2", "CIRCUIT_BREAKER_RECOVERY_TIMEOUT_SECONDS=600",
	}
}

func toolCall(name string, input any) llmtest.Step {
	text, err := json.Marshal(input)
	if err != nil {
		panic(err) // maps of strings
	}
	return llmtest.Step{
		Tools: []llmtest.ToolCall{{ID: "c1", Name: name, Input: string(text)}}, Usage: &llmtest.Usage{Input: 1000, Output: 200},
	}
}

// answering is a model that looks at the data once and then saves a strategy.
func answering(r llmtest.Request) llmtest.Step {
	switch {
	case bytes.Contains(r.Body, []byte("give_opinion")):
		return toolCall("give_opinion", map[string][]string{"strengths": {"small"}, "weaknesses": {}, "suggestions": {}, "hypotheses": {}})
	case bytes.Contains(r.Body, []byte(`"assistant"`)):
		return toolCall("save_strategy", map[string]string{"yaml": strategytest.Small(), "hypothesis": "Small is enough."})
	}
	return toolCall("list_data", map[string]string{})
}

// asks triggers a research that a model shall design.
func asks(t *testing.T, lab *labtest.Lab) ktrdr.OperationID {
	t.Helper()
	return triggers(t, lab).Operation
}

func triggers(t *testing.T, lab *labtest.Lab) research.Triggered {
	t.Helper()
	made, err := lab.Client().Trigger(t.Context(), research.Request{Model: "anthropic/m1", BypassGates: true, Seed: new(uint64(1))}, "")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// designOf is the last design of a research.
func designOf(t *testing.T, lab *labtest.Lab, id ktrdr.OperationID) (d research.Design) {
	t.Helper()
	for _, c := range lab.Children(id) {
		if c.Type == ktrdr.AgentDesign && c.Status == ktrdr.Completed {
			if err := json.Unmarshal(c.Result, &d); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

func TestModels_WithEveryProviderDownTheProgramDesignsAndBreakersOutliveIt(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		// What a provider says back must not carry the key anywhere.
		dead := func(key string) *llmtest.Server {
			return llmtest.New(t, llmtest.Script(llmtest.Step{
				Status: 500, Body: `{"error":{"message":"your key ` + key + ` is fine, we are not"}}`, Header: map[string]string{"Request-Id": key},
			}))
		}
		first, second := dead(canary+"-first"), dead(canary+"-second")
		backend := lab.ServeWith(1, models(first, second)...)
		lab.Market("EURUSD", 1500, 3)
		for range 2 {
			id := asks(t, lab)
			op := lab.Ends(id, ktrdr.Completed)
			d := designOf(t, lab, id)
			if d.Designer != research.Builtin || !strings.Contains(d.Instead, "no model can answer") ||
				!strings.Contains(d.Summary, "by the program itself") {
				t.Errorf("designed by %q, instead %q: %s", d.Designer, d.Instead, d.Summary)
			}
			var told research.Result
			if err := json.Unmarshal(op.Result, &told); err != nil || told.Designer != research.Builtin || len(told.Instead) == 0 ||
				!strings.Contains(told.Summary, "Designed by the program itself instead of") {
				t.Errorf("the result does not say who designed it: %v, %.300s", err, op.Result)
			}
			if bytes.Contains(op.Result, []byte(canary)) {
				t.Error("the key is in the result")
			}
		}
		for name, s := range map[string]*llmtest.Server{"first": first, "second": second} {
			if n := len(s.Requests()); n == 0 || n > 5+1 {
				t.Errorf("the %s was called %d times within one cool-down, want 1 to 6", name, n)
			}
		}
		for mine, s := range map[string]*llmtest.Server{"-first": first, "-second": second} {
			for _, r := range s.Requests() {
				if bytes.Contains(r.Body, []byte(canary)) {
					t.Error("a key is in a prompt")
				}
				if sent := fmt.Sprint(r.Header); strings.Count(sent, canary) != 1 || !strings.Contains(sent, canary+mine) {
					t.Errorf("the provider of key %s was sent %s", mine, sent)
				}
			}
		}
		backend.Kill()
		again := lab.ServeWith(1, models(first, second)...)
		client := lab.Client()
		before := len(first.Requests())
		open := map[string]bool{}
		all, err := client.Breakers(t.Context())
		for _, b := range all {
			open[b.Name] = b.State == ktrdr.BreakerOpen
		}
		if err != nil || !open["provider:anthropic"] || !open["provider:openai"] {
			t.Errorf("after the kill the breakers are %+v, %v, want both open", all, err)
		}
		lab.Ends(asks(t, lab), ktrdr.Completed)
		if n := len(first.Requests()); n != before {
			t.Errorf("the dead provider was called %d times by the next life, want none: its breaker is open", n-before)
		}
		if _, err := client.ResetBreaker(t.Context(), "provider:anthropic", resilience.HumanDecision{
			Why: "mended",
		}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("a reset without a name: %v, want it refused", err)
		}
		b, err := client.ResetBreaker(t.Context(), "provider:anthropic", resilience.HumanDecision{By: "ann", Why: "mended"})
		if err != nil || b.State != ktrdr.BreakerClosed || b.By != "ann" {
			t.Errorf("a reset by ann: %+v, %v", b, err)
		}
		for _, p := range []*labtest.Process{backend, again} {
			if strings.Contains(p.Log(), canary) {
				t.Error("the key is in the log")
			}
		}
		for _, place := range lab.Leaks(canary) {
			t.Errorf("the key is in %s", place)
		}
	})
}

func TestModels_AnAnswerThatWasPaidForOutlivesTheBackend(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		var hold atomic.Bool
		hold.Store(true)
		held := make(chan struct{}, 8)
		first := llmtest.New(t, func(_ int, r llmtest.Request) llmtest.Step {
			if hold.Load() && bytes.Contains(r.Body, []byte(`"assistant"`)) {
				held <- struct{}{}
				return llmtest.Step{Fault: llmtest.Silence}
			}
			return answering(r)
		})
		second := llmtest.New(t, llmtest.Script(llmtest.Step{Status: 503}))
		env := append(models(first, second), "KTRDR_MODEL_TIMEOUT_SECONDS=30")
		backend := lab.ServeWith(1, env...)
		lab.Market("EURUSD", 1500, 3)
		id := asks(t, lab)
		<-held // the first answer is paid for, the second call in flight
		backend.Kill()
		hold.Store(false)
		lab.ServeWith(1, env...)
		lab.Ends(id, ktrdr.Completed)
		if d := designOf(t, lab, id); d.Designer != "anthropic/m1" {
			t.Errorf("designed by %q, instead %q", d.Designer, d.Instead)
		}
		times := map[string]int{}
		for _, r := range first.Requests() {
			if !bytes.Contains(r.Body, []byte("give_opinion")) {
				times[fmt.Sprint(bytes.Count(r.Body, []byte(`"assistant"`)))]++
			}
		}
		if times["0"] != 1 || times["1"] != 2 {
			t.Errorf("calls by turn %v, want the answered one once and the one in flight once more", times)
		}
	})
}

func TestModels_BreakersThatAreSwitchedOffRefuseNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		down := llmtest.Script(llmtest.Step{Status: 503})
		first, second := llmtest.New(t, down), llmtest.New(t, down)
		lab.ServeWith(1, append(models(first, second), "CIRCUIT_BREAKER_ENABLED=false")...)
		lab.Market("EURUSD", 1500, 3)
		for range 3 {
			lab.Ends(asks(t, lab), ktrdr.Completed)
		}
		if n := len(first.Requests()); n <= 5+1 {
			t.Errorf("the dead provider was called %d times, as if its breaker were on", n)
		}
		all, err := lab.Client().Breakers(t.Context())
		if err != nil || len(all) == 0 {
			t.Fatalf("breakers %v, %v", all, err)
		}
		for _, b := range all {
			if b.Enabled {
				t.Errorf("%s says that it is enabled", b.Name)
			}
		}
	})
}
