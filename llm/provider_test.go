package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/resilience"
)

const canary = "sk-canary-0123456789"

// patient is a client that waits longer than a test does.
func patient() llm.ClientConfig { return llm.ClientConfig{Key: canary, Total: time.Minute} }

// both runs a test with each provider.
func both(t *testing.T, cfg llm.ClientConfig, answer func(int, llmtest.Request) llmtest.Step,
	test func(*testing.T, llm.Provider, *llmtest.Server),
) {
	t.Helper()
	t.Run("anthropic", func(t *testing.T) {
		s, cfg := llmtest.New(t, answer), cfg
		cfg.BaseURL = s.Anthropic()
		p, err := llm.NewAnthropic(cfg)
		if err != nil {
			t.Fatal(err)
		}
		test(t, p, s)
	})
	t.Run("openai", func(t *testing.T) {
		s, cfg := llmtest.New(t, answer), cfg
		cfg.BaseURL = s.OpenAI()
		p, err := llm.NewOpenAI(cfg)
		if err != nil {
			t.Fatal(err)
		}
		test(t, p, s)
	})
}

func hello() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: "hello"}}}}}
}

// withTools is a conversation in the middle of its use of tools.
func withTools() llm.Request {
	r := hello()
	r.System = "be brief"
	r.Tools = []llm.Tool{{Name: "save", Description: "saves", Schema: json.RawMessage(`{"type":"object"}`)}}
	r.ToolChoice = "save"
	r.MaxTokens = 77
	r.Messages = append(r.Messages,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Text: "so be it"}, {Call: &llm.ToolCall{ID: "call_1", Name: "save", Input: json.RawMessage(`{"a":1}`)}},
		}},
		llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "call_1", Text: "no such name", Error: true}}}},
	)
	return r
}

func TestProvider_AnswersTextToolsAndUsage(t *testing.T) {
	step := llmtest.Step{
		Text: "Grüße, 世界 🙂",
		Tools: []llmtest.ToolCall{
			{ID: "t1", Name: "save", Input: `{ "name": "x", "deep": {"b": [1, 2.50]} }`},
			{ID: "t2", Name: "list", Input: ""},
		},
		Usage: &llmtest.Usage{Input: 120, Output: 34, CacheRead: 56},
	}
	want := llm.Answer{
		Text: "Grüße, 世界 🙂", Stop: llm.StopTools, Model: "m-1", Usage: &llm.Usage{Input: 120, Output: 34, CacheRead: 56},
		ToolCalls: []llm.ToolCall{
			{ID: "t1", Name: "save", Input: json.RawMessage(`{"deep":{"b":[1,2.50]},"name":"x"}`)},
			{ID: "t2", Name: "list", Input: json.RawMessage(`{}`)},
		},
	}
	both(t, patient(), llmtest.Script(step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		got, err := p.Complete(t.Context(), "m-1", withTools())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	})
}

func TestProvider_SendsTheConversationInItsServersWords(t *testing.T) {
	want := map[string]string{
		"anthropic": `{"model":"m-1","max_tokens":77,"system":"be brief","stream":true,
			"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]},
				{"role":"assistant","content":[{"type":"text","text":"so be it"},{"type":"tool_use","id":"call_1","name":"save","input":{"a":1}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"no such name","is_error":true}]}],
			"tools":[{"name":"save","description":"saves","input_schema":{"type":"object"}}],
			"tool_choice":{"type":"tool","name":"save"}}`,
		"openai": `{"model":"m-1","max_tokens":77,"stream":true,"stream_options":{"include_usage":true},
			"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello"},
				{"role":"assistant","content":"so be it","tool_calls":[
					{"id":"call_1","type":"function","function":{"name":"save","arguments":"{\"a\":1}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"error: no such name"}],
			"tools":[{"type":"function","function":{"name":"save","description":"saves","parameters":{"type":"object"}}}],
			"tool_choice":{"type":"function","function":{"name":"save"}}}`,
	}
	both(t, patient(), llmtest.Script(llmtest.Step{}), func(t *testing.T, p llm.Provider, s *llmtest.Server) {
		if _, err := p.Complete(t.Context(), "m-1", withTools()); err != nil {
			t.Fatal(err)
		}
		sent := s.Requests()[0]
		var got, expected any
		if err := errors.Join(json.Unmarshal(sent.Body, &got), json.Unmarshal([]byte(want[p.Name()]), &expected)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		key, version := sent.Header.Get("X-Api-Key"), sent.Header.Get("Anthropic-Version")
		if p.Name() == "openai" {
			key, version = strings.TrimPrefix(sent.Header.Get("Authorization"), "Bearer "), "2023-06-01"
		}
		if key != canary || version != "2023-06-01" {
			t.Errorf("headers = %v, want the key and the version", sent.Header)
		}
	})
}

func TestProvider_SaysWhatWentWrong(t *testing.T) {
	kind := func(k resilience.ErrorKind) resilience.Error { return resilience.Error{Kind: k} }
	status := func(k resilience.ErrorKind, n int) resilience.Error { return resilience.Error{Kind: k, Status: n} }
	for name, c := range map[string]struct {
		step llmtest.Step
		want resilience.Error
	}{
		"a key that is not accepted": {llmtest.Step{Status: 401, Code: "authentication_error"}, status(resilience.KindAuth, 401)},
		"a request that is wrong":    {llmtest.Step{Status: 400, Code: "invalid_request_error"}, status(resilience.KindInvalid, 400)},
		"too many calls":             {llmtest.Step{Status: 429, Code: "rate_limit_error"}, status(resilience.KindRateLimited, 429)},
		"a broken server":            {llmtest.Step{Status: 500}, status(resilience.KindServer, 500)},
		"a broken gateway":           {llmtest.Step{Status: 502, Body: "<html>bad gateway</html>"}, status(resilience.KindServer, 502)},
		"an overloaded server":       {llmtest.Step{Status: 529, Code: "overloaded_error"}, status(resilience.KindOverloaded, 529)},
		"a server that is away":      {llmtest.Step{Status: 503}, status(resilience.KindOverloaded, 503)},
		"a redirect": {
			llmtest.Step{Status: 307, Header: map[string]string{"Location": "http://other.example/v1"}},
			status(resilience.KindInvalid, 307),
		},
		"a reset before the answer":       {llmtest.Step{Fault: llmtest.Refuse}, kind(resilience.KindUnreachable)},
		"a reset in the middle":           {llmtest.Step{Fault: llmtest.Reset}, kind(resilience.KindUnreachable)},
		"a stream that ends in an event":  {llmtest.Step{Fault: llmtest.Truncate}, kind(resilience.KindUnreachable)},
		"an event that is no JSON":        {llmtest.Step{Fault: llmtest.Garbage}, kind(resilience.KindGarbage)},
		"an overload in the middle":       {llmtest.Step{Fault: llmtest.Complaint, Code: "overloaded_error"}, kind(resilience.KindOverloaded)},
		"text without end":                {llmtest.Step{Fault: llmtest.Flood}, kind(resilience.KindGarbage)},
		"a line without end":              {llmtest.Step{Fault: llmtest.OneLine}, kind(resilience.KindGarbage)},
		"a page that is no answer":        {llmtest.Step{Body: "<html>log in here</html>"}, kind(resilience.KindGarbage)},
		"a refusal by policy":             {llmtest.Step{Stop: "refusal"}, kind(resilience.KindRefused)},
		"a tool whose input is cut off":   {tool(`{"a": [1, 2`), kind(resilience.KindGarbage)},
		"a tool whose input is no object": {tool(`[1]`), kind(resilience.KindGarbage)},
		"a tool with two inputs":          {tool(`{} {}`), kind(resilience.KindGarbage)},
		"a tool without a name":           {llmtest.Step{Tools: []llmtest.ToolCall{{ID: "t", Input: "{}"}}}, kind(resilience.KindGarbage)},
		"too many tools":                  {llmtest.Step{Tools: manyTools(33)}, kind(resilience.KindGarbage)},
		"a tool with a huge input":        {tool(`{"a":"` + strings.Repeat("x", 200<<10) + `"}`), kind(resilience.KindGarbage)},
		"a tool with a deep input":        {tool(nested(65)), kind(resilience.KindGarbage)},
		"a tool with an abyss":            {tool(nested(9999)), kind(resilience.KindGarbage)},
		"a text that is too long":         {llmtest.Step{Text: strings.Repeat("x", 129<<10)}, kind(resilience.KindGarbage)},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, patient(), llmtest.Script(c.step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
				_, err := p.Complete(t.Context(), "m", hello())
				e, ok := errors.AsType[*resilience.Error](err)
				if !ok || e.Kind != c.want.Kind || e.Status != c.want.Status {
					t.Fatalf("err = %v, want %s with status %d", err, c.want.Kind, c.want.Status)
				}
				if text := err.Error(); len(text) > 600 || strings.Contains(text, canary) {
					t.Errorf("error of %d bytes is long or shows the key: %.700s", len(text), text)
				}
			})
		})
	}
}

func TestProvider_LosesItsPatience(t *testing.T) {
	const soon = 100 * time.Millisecond
	for name, c := range map[string]struct {
		fault  llmtest.Fault
		change func(*llm.ClientConfig)
		says   string
	}{
		"with silence":               {llmtest.Silence, func(c *llm.ClientConfig) { c.HeaderTimeout = soon }, "fell silent"},
		"with silence in the middle": {llmtest.Hang, func(c *llm.ClientConfig) { c.IdleTimeout = soon }, "fell silent"},
		"with drops for ever":        {llmtest.Drip, func(c *llm.ClientConfig) { c.Total = 3 * soon }, "not whole in time: 300ms have passed"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := patient()
			c.change(&cfg)
			both(t, cfg, llmtest.Script(llmtest.Step{Fault: c.fault}), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
				_, err := p.Complete(t.Context(), "m", hello())
				if resilience.KindOf(err) != resilience.KindTimeout || !strings.Contains(err.Error(), c.says) {
					t.Errorf("err = %v, want a timeout that says %q", err, c.says)
				}
			})
		})
	}
}

func tool(input string) llmtest.Step {
	return llmtest.Step{Tools: []llmtest.ToolCall{{ID: "t", Name: "save", Input: input}}}
}

// nested is a JSON object of that many levels, and brackets inside a string.
func nested(levels int) string {
	return `{"a\"[[[[":` + strings.Repeat("[", levels-1) + `"{{{{"` + strings.Repeat("]", levels-1) + "}"
}

func TestProvider_TakesInputsThatAreNestedWithinReason(t *testing.T) {
	both(t, patient(), llmtest.Script(tool(nested(64))), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		a, err := p.Complete(t.Context(), "m", hello())
		if err != nil || string(a.ToolCalls[0].Input) != nested(64) {
			t.Errorf("%+v, %v; want the input as it was", a, err)
		}
	})
}

func manyTools(n int) (tools []llmtest.ToolCall) {
	for i := range n {
		tools = append(tools, llmtest.ToolCall{ID: fmt.Sprint("t", i), Name: "save", Input: "{}"})
	}
	return tools
}

func TestProvider_ReadsEveryFormOfRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"seconds": {map[string]string{"Retry-After": "7"}, 7 * time.Second},
		"a date": {map[string]string{
			"Retry-After": now.Add(90 * time.Second).Format(http.TimeFormat),
			"Date":        now.Format(http.TimeFormat),
		}, 90 * time.Second},
		"milliseconds":   {map[string]string{"Retry-After-Ms": "1500"}, 1500 * time.Millisecond},
		"days":           {map[string]string{"Retry-After-Ms": "274579000"}, 274579 * time.Second},
		"a used-up rate": {map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "6m0s"}, 6 * time.Minute},
		"nothing":        {nil, 0},
		"nonsense":       {map[string]string{"Retry-After": "soon"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, patient(), llmtest.Script(llmtest.Step{Status: 429, Header: c.header}), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
				_, err := p.Complete(t.Context(), "m", hello())
				if e, ok := errors.AsType[*resilience.Error](err); !ok || e.RetryAfter != c.want {
					t.Errorf("err = %v with wait %v, want %v", err, e.RetryAfter, c.want)
				}
			})
		})
	}
}

func TestProvider_LeavesAFloodAfterItsBound(t *testing.T) {
	both(t, patient(), llmtest.Script(llmtest.Step{Fault: llmtest.Flood}), func(t *testing.T, p llm.Provider, s *llmtest.Server) {
		if _, err := p.Complete(t.Context(), "m", hello()); resilience.KindOf(err) != resilience.KindGarbage {
			t.Fatalf("err = %v, want garbage", err)
		}
		// Beyond the bound there are only buffers of the kernel.
		if got := s.Written(); got > 32<<20 {
			t.Errorf("%d MB of 100 were taken", got>>20)
		}
	})
}

func TestProvider_CleansWhatCannotBeStored(t *testing.T) {
	step := llmtest.Step{Text: "a" + llmtest.NUL + "b" + llmtest.Lone + "c"}
	both(t, patient(), llmtest.Script(step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		a, err := p.Complete(t.Context(), "m", hello())
		if err != nil || a.Text != "a\uFFFDb\uFFFDc" {
			t.Errorf("answer = %q, %v; want both replaced", a.Text, err)
		}
	})
	step = tool(`{"k\u0000": "v\u0000", "list": ["\ud800", "\u0000"]}`)
	both(t, patient(), llmtest.Script(step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		a, err := p.Complete(t.Context(), "m", hello())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(a.ToolCalls[0].Input), "{\"k\uFFFD\":\"v\uFFFD\",\"list\":[\"\uFFFD\",\"\uFFFD\"]}"; got != want {
			t.Errorf("input = %q, want %q", got, want)
		}
	})
}

func TestProvider_HidesItsKeyWhereverAServerEchoesIt(t *testing.T) {
	echo := func(n int, r llmtest.Request) llmtest.Step {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
		switch n {
		case 0:
			return llmtest.Step{Status: 401, Code: key, Body: ""}
		case 1:
			return llmtest.Step{Status: 400, Body: "bad key " + key}
		case 2:
			return llmtest.Step{Fault: llmtest.Complaint, Code: key}
		case 3:
			return llmtest.Step{Status: 302, Header: map[string]string{"Location": "http://evil.example/?k=" + key}}
		}
		return llmtest.Step{
			Text: "your key is " + key, Stop: key, Header: map[string]string{"Request-Id": key, "X-Request-Id": key},
			Tools: []llmtest.ToolCall{{ID: key, Name: key, Input: `{"` + key + `":"` + key + `"}`}},
		}
	}
	both(t, patient(), echo, func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		for range 4 {
			_, err := p.Complete(t.Context(), "m", hello())
			if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), canary) {
				t.Errorf("err = %#v, want one without the key", err)
			}
		}
		a, err := p.Complete(t.Context(), canary, hello())
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(a); strings.Contains(string(text), canary) || !strings.Contains(a.Text, "[redacted]") {
			t.Errorf("answer shows the key: %s", text)
		}
	})
}

// JSON can say a letter in more than one way.
func TestProviders_TheKeyIsHiddenHoweverItIsEscaped(t *testing.T) {
	escaped := `\u0073k-canary-012345678\u0039`
	steps := llmtest.Script(llmtest.Step{Tools: []llmtest.ToolCall{{
		ID: "c", Name: "save", Input: `{"` + escaped + `":1,"deep":[{"` + escaped + `":"the key: ` + escaped + `!"}]}`,
	}}})
	both(t, patient(), steps, func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		a, err := p.Complete(t.Context(), "m", hello())
		if err != nil {
			t.Fatal(err)
		}
		want(t, "input", string(a.ToolCalls[0].Input), `{"[redacted]":1,"deep":[{"[redacted]":"the key: [redacted]!"}]}`)
	})
}

func TestProvider_DoesNotFollowARedirectWithItsKey(t *testing.T) {
	thief := llmtest.New(t, llmtest.Script(llmtest.Step{}))
	step := llmtest.Step{Status: 308, Header: map[string]string{"Location": thief.OpenAI() + "/chat/completions"}}
	both(t, patient(), llmtest.Script(step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		_, err := p.Complete(t.Context(), "m", hello())
		if err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("err = %v, want one that says what to set", err)
		}
	})
	if n := len(thief.Requests()); n != 0 {
		t.Errorf("the other host got %d requests, want none", n)
	}
}

func TestProvider_UnknownUsageIsNil(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"not said": {Quiet: true},
		"negative": {Usage: &llmtest.Usage{Input: -3, Output: 5}},
		"absurd":   {Usage: &llmtest.Usage{Input: 1 << 50, Output: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, patient(), llmtest.Script(step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
				a, err := p.Complete(t.Context(), "m", hello())
				if err != nil || a.Usage != nil {
					t.Errorf("usage = %+v, %v; want nil", a.Usage, err)
				}
			})
		})
	}
}

func TestProvider_GivesToolCallsIDsThatEveryServerTakes(t *testing.T) {
	step := llmtest.Step{Tools: []llmtest.ToolCall{
		{ID: "fine-1_A", Name: "a", Input: "{}"},
		{ID: "not fine!", Name: "b", Input: "{}"},
		{ID: strings.Repeat("x", 50), Name: "c", Input: "{}"},
	}}
	both(t, patient(), llmtest.Script(step), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		first, err := p.Complete(t.Context(), "m", hello())
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Complete(t.Context(), "m", hello())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.ToolCalls, again.ToolCalls); diff != "" {
			t.Errorf("ids differ between two answers:\n%s", diff)
		}
		seen := map[string]bool{}
		for _, c := range first.ToolCalls {
			if seen[c.ID] || len(c.ID) > 40 || strings.ContainsAny(c.ID, " !") {
				t.Errorf("id %q is used twice or not portable", c.ID)
			}
			seen[c.ID] = true
		}
		if !seen["fine-1_A"] {
			t.Error("an id that is fine was changed")
		}
	})
}

func TestProvider_EndsWithItsCaller(t *testing.T) {
	asked := make(chan struct{}, 1)
	answer := func(int, llmtest.Request) llmtest.Step {
		asked <- struct{}{}
		return llmtest.Step{Fault: llmtest.Silence}
	}
	both(t, patient(), answer, func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		ctx, cancel := cancelCause(t)
		go func() {
			<-asked
			cancel(ktrdr.ErrCancelled)
		}()
		_, err := p.Complete(ctx, "m", hello())
		if resilience.KindOf(err) != resilience.KindCancelled || !errors.Is(err, ktrdr.ErrCancelled) {
			t.Errorf("err = %v, want cancelled, with its cause", err)
		}
	})
}

func TestProvider_RefusesAWrongRequestUnasked(t *testing.T) {
	for name, change := range map[string]func(*llm.Request){
		"no message":           func(r *llm.Request) { r.Messages = nil },
		"a message of nothing": func(r *llm.Request) { r.Messages[0].Parts = nil },
		"a part that is two":   func(r *llm.Request) { r.Messages[0].Parts[0].Result = &llm.ToolResult{} },
		"a user who calls":     func(r *llm.Request) { r.Messages[0].Parts[0] = llm.Part{Call: &llm.ToolCall{}} },
		"an unknown role":      func(r *llm.Request) { r.Messages[0].Role = "system" },
		"an unknown tool":      func(r *llm.Request) { r.ToolChoice = "unknown" },
		"a broken schema":      func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "x", Schema: json.RawMessage(`[`)}} },
		"a negative bound":     func(r *llm.Request) { r.MaxTokens = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, patient(), llmtest.Script(llmtest.Step{}), func(t *testing.T, p llm.Provider, s *llmtest.Server) {
				r := hello()
				change(&r)
				_, err := p.Complete(t.Context(), "m", r)
				if resilience.KindOf(err) != resilience.KindInvalid || len(s.Requests()) != 0 {
					t.Errorf("err = %v after %d requests, want invalid and none", err, len(s.Requests()))
				}
			})
		})
	}
}

func TestNewClient_RefusesWhatIsNoAddress(t *testing.T) {
	for _, base := range []string{
		"localhost:11434", "ftp://host", "http://", "http://key:" + canary + "@host", "http://host/v1?key=" + canary,
		"http://host/v1#" + canary, "://",
	} {
		for name, err := range map[string]error{
			"anthropic": second(llm.NewAnthropic(llm.ClientConfig{BaseURL: base})),
			"openai":    second(llm.NewOpenAI(llm.ClientConfig{BaseURL: base})),
		} {
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || strings.Contains(err.Error(), canary) {
				t.Errorf("%s at %s: err = %v, want invalid without the secret", name, base, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
