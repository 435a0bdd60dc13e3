package llm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
)

func TestRequest_KeyIsThatOfWhatIsSaid(t *testing.T) {
	base := withTools()
	same := withTools()
	same.Tools[0].Schema = json.RawMessage("{\n\t\"type\": \"object\" }")
	same.Messages[1].Parts[1].Call.Input = json.RawMessage(` {"a" : 1} `)
	if base.Key() != same.Key() {
		t.Error("spaces in JSON change the key")
	}
	two, swapped := withTools(), withTools()
	two.Messages[1].Parts[1].Call.Input = json.RawMessage(`{"a":1,"b":2}`)
	swapped.Messages[1].Parts[1].Call.Input = json.RawMessage(`{"b":2,"a":1}`)
	if two.Key() != swapped.Key() {
		t.Error("the order of keys in JSON changes the key")
	}
	for name, change := range map[string]func(*llm.Request){
		"system":      func(r *llm.Request) { r.System = "be verbose" },
		"text":        func(r *llm.Request) { r.Messages[0].Parts[0].Text = "hallo" },
		"a message":   func(r *llm.Request) { r.Messages = r.Messages[:2] },
		"input":       func(r *llm.Request) { r.Messages[1].Parts[1].Call.Input = json.RawMessage(`{"a":2}`) },
		"a result":    func(r *llm.Request) { r.Messages[2].Parts[0].Result.Error = false },
		"tools":       func(r *llm.Request) { r.Tools = nil },
		"choice":      func(r *llm.Request) { r.ToolChoice = "" },
		"length":      func(r *llm.Request) { r.MaxTokens = 78 },
		"temperature": func(r *llm.Request) { r.Temperature = new(float64) },
	} {
		r := withTools()
		change(&r)
		if r.Key() == base.Key() {
			t.Errorf("another %s has the same key", name)
		}
	}
	broken := withTools()
	broken.Tools[0].Schema = json.RawMessage(`{`)
	if broken.Key() != (ktrdr.Hash{}) {
		t.Error("broken JSON has a key")
	}
}

// An answer goes through the journal and becomes the next turn: what is asked
// next has the same key as if it had never been stored.
func TestAnswer_ContinuesAConversationFromTheJournalWithTheSameKey(t *testing.T) {
	a := llm.Answer{
		Text: "Grüße <b>", ToolCalls: []llm.ToolCall{{ID: "t", Name: "save", Input: json.RawMessage(`{"x":[1,2.50]}`)}},
		Stop: llm.StopTools,
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back llm.Answer
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	live, stored := hello(), hello()
	live.Messages = append(live.Messages, a.Message())
	stored.Messages = append(stored.Messages, back.Message())
	if len(live.Messages[1].Parts) != 2 || live.Key() != stored.Key() {
		t.Errorf("the stored answer gives another conversation: %+v", stored.Messages[1])
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestProviders_KnowTheirMakersServers(t *testing.T) {
	var url, body string
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		text, err := io.ReadAll(r.Body)
		url, body = r.URL.String(), string(text)
		return &http.Response{StatusCode: http.StatusInternalServerError, Body: io.NopCloser(strings.NewReader("")), Request: r}, err
	})}
	o, err := llm.NewOpenAI(llm.ClientConfig{HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = o.Complete(t.Context(), "m", hello())
	if url != "https://api.openai.com/v1/chat/completions" || !strings.Contains(body, `"max_completion_tokens":4096`) ||
		strings.Contains(body, `"max_tokens"`) {
		t.Errorf("%s was sent %s, want the new name of the bound", url, body)
	}
	a, err := llm.NewAnthropic(llm.ClientConfig{HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = a.Complete(t.Context(), "m", hello())
	if url != "https://api.anthropic.com/v1/messages" || !strings.Contains(body, `"max_tokens":4096`) {
		t.Errorf("%s was sent %s", url, body)
	}
	if client.CheckRedirect != nil {
		t.Error("the client that was given is changed")
	}
}
