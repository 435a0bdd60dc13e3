package chaos_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// parrot is a model that knows its key and says it wherever it can: in errors
// and their headers first, then in the strategy, what it means, and its opinion.
func parrot(key string) func(n int, r llmtest.Request) llmtest.Step {
	return func(n int, r llmtest.Request) llmtest.Step {
		said := llmtest.Step{}
		switch {
		case n == 0:
			return llmtest.Step{
				Status: 500, Body: `{"error":{"message":"` + key + ` is fine, we are not"}}`, Header: map[string]string{"Request-Id": key},
			}
		case bytes.Contains(r.Body, []byte("give_opinion")):
			said = toolCall("give_opinion", map[string]any{
				"strengths": []string{key}, "weaknesses": []string{key}, "suggestions": []string{key},
				"hypotheses": []map[string]string{{"text": key, "rationale": key}},
			})
		case bytes.Contains(r.Body, []byte(`"assistant"`)):
			said = toolCall("save_strategy", map[string]string{
				"yaml": strategytest.Small("name: small", "name: small\ndescription: \""+key+"\" # "+key), "hypothesis": "Because of " + key + ".",
			})
		default:
			said = toolCall("list_data", map[string]string{})
		}
		said.Text = "My key is " + key + "."
		return said
	}
}

func TestSecrets_AKeyThatAProviderRepeatsIsKeptNowhere(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		first := llmtest.New(t, parrot(canary+"-first"))
		second := llmtest.New(t, llmtest.Script(llmtest.Step{Status: 401, Body: `{"error":{"message":"no such key: ` + canary + `-second"}}`}))
		backend := lab.ServeWith(1, models(first, second)...)
		lab.Market("EURUSD", 1500, 3)

		const seen = "a-goal-that-is-no-secret"
		brief := func(text string) (research.Triggered, error) {
			return lab.Client().Trigger(t.Context(), research.Request{Brief: text, Model: "anthropic/m1", BypassGates: true, Seed: new(uint64(1))},
				"")
		}
		for _, key := range []string{canary + "-first", canary + "-second"} {
			if _, err := brief("trade well, with " + key); ktrdr.CodeOf(err) != ktrdr.CodeInvalid || strings.Contains(err.Error(), canary) {
				t.Errorf("a brief with a key: %v, want it refused", err)
			}
		}
		made, err := brief("trade EURUSD 1h well; " + seen)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lab.Client().Pin(t.Context(), made.Operation); err != nil { // so that its checkpoints are kept
			t.Fatal(err)
		}
		lab.Ends(made.Operation, ktrdr.Completed)
		if d := designOf(t, lab, made.Operation); d.Designer != "anthropic/m1" {
			t.Errorf("designed by %q, instead %q; want the model that says its key", d.Designer, d.Instead)
		}
		for _, r := range append(first.Requests(), second.Requests()...) {
			if bytes.Contains(r.Body, []byte(canary)) {
				t.Error("a key is in a prompt")
			}
		}
		if strings.Contains(backend.Log(), canary) {
			t.Error("the key is in the log")
		}
		for _, place := range lab.Leaks(canary) {
			t.Errorf("the key is in %s", place)
		}
		// Who finds no secret must be one who looks.
		found := lab.Leaks(seen)
		for _, place := range []string{"table operations", "/api/v1/runs", "/api/v1/operations/" + string(made.Operation)} {
			if !slices.Contains(found, place) {
				t.Errorf("what is no secret was found in %q, and not in %s", found, place)
			}
		}
		hidden, design := lab.Leaks("[redacted]"), string(lab.Children(made.Operation)[0].ID)
		for _, place := range []string{
			"table llm_calls", "table notes", "table checkpoints",
			"/api/v1/memory/" + string(made.Operation), "/api/v1/memory/" + string(made.Operation) + "/conversation",
			"/api/v1/operations/" + design + "/results", "/api/v1/checkpoints/" + design,
		} {
			if !slices.Contains(hidden, place) {
				t.Errorf("the place of the key was found in %q, and not in %s", hidden, place)
			}
		}
	})
}

func TestSecrets_AnAddressWithAKeyInItIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	for _, address := range []string{"http://user:" + canary + "@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?key=" + canary} {
		p := lab.Start("KTRDR_MODELS=local/m", "KTRDR_PROVIDERS=local="+address)
		if code := p.Exit(time.Minute); code == 0 || strings.Contains(p.Log(), canary) || !strings.Contains(p.Log(), "LOCAL_API_KEY") {
			t.Errorf("exit code %d, want it refused without the key, and where keys come from:\n%s", code, p.Log())
		}
	}
}
