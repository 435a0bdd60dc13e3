package agent_test

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
)

// TestTranscript_IsAllThatWasSaid reads the conversation of a design that used two
// tools: the last answer is in the journal alone. Without the checkpoint only the
// answers are left.
func TestTranscript_IsAllThatWasSaid(t *testing.T) {
	first := llmtest.New(t, scripted(uses("list_data", map[string]string{}), saves()))
	l := talkative(t, first, llmtest.New(t, scripted(saves())), nil)
	id := l.trigger(research.Request{Brief: "small", Model: "first", BypassGates: true, Seed: new(uint64(1))})[0]
	l.result(id)
	calls, err := l.store.Calls(t.Context(), id, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range l.children(id) {
		if child.Type != ktrdr.AgentDesign {
			continue
		}
		c, err := l.store.Checkpoint(t.Context(), child.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		got := agent.ReadTranscript(c.State, calls)
		var said []string
		for _, m := range got.Messages {
			for _, p := range m.Parts {
				switch {
				case p.Call != nil:
					said = append(said, string(m.Role)+" "+p.Call.Name)
				case p.Result != nil:
					said = append(said, "tool")
				default:
					said = append(said, string(m.Role))
				}
			}
		}
		if text, want := strings.Join(said, ", "), "user, assistant list_data, tool, assistant save_strategy"; text != want || !got.Complete ||
			got.System == "" || got.Prompt == "" {
			t.Errorf("%q was said under the prompt %q, want %q", text, got.Prompt, want)
		}
		left := agent.ReadTranscript(nil, calls)
		if left.Complete || len(left.Messages) != 3 || left.Messages[0].Role != llm.Assistant { // two of the design, one of the assessment
			t.Errorf("without the checkpoint %+v is left, want the three answers", left)
		}
		return
	}
	t.Fatal("there is no design")
}
