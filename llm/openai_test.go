package llm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/resilience"
)

func cancelCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

func openAIAt(t *testing.T, step llmtest.Step) llm.Provider {
	t.Helper()
	cfg := patient()
	cfg.BaseURL = llmtest.New(t, llmtest.Script(step)).OpenAI()
	p, err := llm.NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var stream = map[string]string{"Content-Type": "text/event-stream"}

func TestOpenAI_TakesAnAnswerThatIsNotStreamed(t *testing.T) {
	p := openAIAt(t, llmtest.Step{Plain: true, Text: "all at once", Tools: []llmtest.ToolCall{{ID: "t", Name: "save", Input: `{"a":1}`}}})
	a, err := p.Complete(t.Context(), "m", hello())
	if err != nil {
		t.Fatal(err)
	}
	if a.Text != "all at once" || len(a.ToolCalls) != 1 || a.Stop != llm.StopTools || a.Usage == nil {
		t.Errorf("answer = %+v, want text, tool, stop and usage", a)
	}
}

func TestOpenAI_BoundsAnAnswerThatIsNotStreamed(t *testing.T) {
	body := strings.Repeat(" ", 5<<20) + `{"choices":[{"message":{"content":"far away"},"finish_reason":"stop"}]}`
	p := openAIAt(t, llmtest.Step{Body: body, Header: map[string]string{"Content-Type": "application/json"}})
	_, err := p.Complete(t.Context(), "m", hello())
	if resilience.KindOf(err) != resilience.KindGarbage || !strings.Contains(err.Error(), "longer than any answer") {
		t.Errorf("err = %v, want garbage that is too long", err)
	}
}

func TestOpenAI_CutOffAnswerThatIsNotStreamedIsGarbage(t *testing.T) {
	p := openAIAt(t, llmtest.Step{
		Body:   `{"choices":[{"message":{"content":"half`,
		Header: map[string]string{"Content-Type": "application/json"},
	})
	if _, err := p.Complete(t.Context(), "m", hello()); resilience.KindOf(err) != resilience.KindGarbage {
		t.Errorf("err = %v, want garbage", err)
	}
}

// What is complete was paid for, and is not bought again because its last line is
// missing.
func TestOpenAI_KeepsACompleteAnswerWithoutItsEnd(t *testing.T) {
	complete := `data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}` + "\n\n"
	for name, end := range map[string]string{
		"no mark at the end":        "",
		"a mark that is cut off":    "data: [DO",
		"a mark without empty line": "data: [DONE]\n",
	} {
		t.Run(name, func(t *testing.T) {
			a, err := openAIAt(t, llmtest.Step{Body: complete + end, Header: stream}).Complete(t.Context(), "m", hello())
			if err != nil || a.Text != "all" || a.Usage != nil {
				t.Errorf("answer = %+v, %v; want the text, and unknown usage", a, err)
			}
		})
	}
}

func TestOpenAI_TellsToolsApartThatShareAnIndex(t *testing.T) {
	body := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"two","arguments":"{\"x\":"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}` +
		"\n\ndata: [DONE]\n\n"
	a, err := openAIAt(t, llmtest.Step{Body: body, Header: stream}).Complete(t.Context(), "m", hello())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.ToolCalls) != 2 || string(a.ToolCalls[0].Input) != "{}" || string(a.ToolCalls[1].Input) != `{"x":1}` {
		t.Errorf("tool calls = %s, want two of their own", a.ToolCalls)
	}
}

func TestOpenAI_ReadsComplaintsInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   resilience.ErrorKind
		says   string
	}{
		"no money behind a 429": {
			429, `{"error":{"message":"quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			resilience.KindAuth, "quota",
		},
		"a 401 typed as invalid": {
			401, `{"error":{"message":"no key","type":"invalid_request_error","code":null}}`,
			resilience.KindAuth, "no key",
		},
		"a code that is a number": {429, `{"error":{"message":"slow down","code":429}}`, resilience.KindRateLimited, "slow down"},
		"an error that is a word": {404, `{"error":"model 'x' not found"}`, resilience.KindInvalid, "model 'x' not found"},
		"fields at the top": {
			400, `{"object":"error","message":"too long","type":"BadRequestError","code":400}`, resilience.KindInvalid,
			"too long",
		},
		"no JSON":    {500, "oh\r\n\tno\x00", resilience.KindServer, "oh no"},
		"nothing":    {500, " ", resilience.KindServer, "no reason"},
		"the policy": {400, `{"error":{"message":"flagged","code":"content_filter"}}`, resilience.KindRefused, "flagged"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openAIAt(t, llmtest.Step{Status: c.status, Body: c.body}).Complete(t.Context(), "m", hello())
			if resilience.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want %s saying %q", err, c.kind, c.says)
			}
		})
	}
}

func TestOpenAI_ErrorAfterAGoodBeginningHasItsOwnStatus(t *testing.T) {
	body := `data: {"choices":[{"delta":{"content":"wel"}}]}` + "\n\n" + `data: {"error":{"code":429,"message":"upstream is busy"}}` + "\n\n"
	_, err := openAIAt(t, llmtest.Step{Body: body, Header: stream}).Complete(t.Context(), "m", hello())
	if resilience.KindOf(err) != resilience.KindRateLimited {
		t.Errorf("err = %v, want rate limited", err)
	}
}

func TestOpenAI_SendsNoKeyIfNoneIsSet(t *testing.T) {
	s := llmtest.New(t, llmtest.Script(llmtest.Step{}))
	p, err := llm.NewOpenAI(llm.ClientConfig{Name: "local", BaseURL: s.OpenAI()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Complete(t.Context(), "m", hello()); err != nil {
		t.Fatal(err)
	}
	if _, sent := s.Requests()[0].Header["Authorization"]; sent || p.Name() != "local" {
		t.Errorf("%s sends an authorization without having a key", p.Name())
	}
}
