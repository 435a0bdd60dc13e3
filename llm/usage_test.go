package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
)

// anthropicStream is an answer "ok" with the given usages, at its beginning and
// with each of its ends.
func anthropicStream(start string, ends ...string) string {
	events := []string{
		`{"type":"message_start","message":{"model":"m","usage":` + start + `}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ok"}}`,
	}
	for i, usage := range ends {
		reason := ""
		if i == 0 {
			reason = `"stop_reason":"end_turn"`
		}
		events = append(events, `{"type":"message_delta","delta":{`+reason+`},"usage":`+usage+`}`)
	}
	return "data: " + strings.Join(append(events, `{"type":"message_stop"}`), "\n\ndata: ") + "\n\n"
}

func openAIStream(usage string) string {
	return `data: {"model":"m","choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":` + usage +
		"}\n\ndata: [DONE]\n\n"
}

// streamed is what both providers make of bodies in their own words.
func streamed(t *testing.T, anthropic, openAI string, test func(*testing.T, llm.Answer, error)) {
	t.Helper()
	answer := func(_ int, r llmtest.Request) llmtest.Step {
		body := openAI
		if r.Path == "/v1/messages" {
			body = anthropic
		}
		return llmtest.Step{Body: body, Header: map[string]string{"Content-Type": "text/event-stream"}}
	}
	both(t, patient(), answer, func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		a, err := p.Complete(t.Context(), "m", hello())
		test(t, a, err)
	})
}

func TestProvider_UsageThatIsNoCountIsNotKnown(t *testing.T) {
	for _, count := range []string{"-1", "-9223372036854775808", "1.5", `"x"`, "1e40", "99999999999999999999", "[1]", `{"n":1}`, "true"} {
		for name, body := range map[string]struct{ anthropic, openAI string }{
			"input": {`{"input_tokens":%s}`, `{"prompt_tokens":%s,"completion_tokens":2}`},
			"cached": {
				`{"input_tokens":10,"cache_read_input_tokens":%s}`,
				`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":%s}}`,
			},
			"cache write": {`{"input_tokens":10,"cache_creation_input_tokens":%s}`, `{"prompt_tokens":10,"completion_tokens":%s}`},
		} {
			t.Run(name+" "+count, func(t *testing.T) {
				streamed(t, anthropicStream(fmt.Sprintf(body.anthropic, count), `{"output_tokens":2}`), openAIStream(fmt.Sprintf(body.openAI, count)),
					func(t *testing.T, a llm.Answer, err error) {
						if err != nil || a.Text != "ok" || a.Usage != nil {
							t.Errorf("answer %+v with usage %+v, %v; want the answer, and no usage", a, a.Usage, err)
						}
					})
			})
		}
	}
}

func TestAnthropic_AnInvalidCountIsNotMendedByALaterOne(t *testing.T) {
	good := openAIStream(`{"completion_tokens":2}`)
	for name, body := range map[string]string{
		"in an earlier end":       anthropicStream(`{"input_tokens":10}`, `{"output_tokens":-2}`, `{"output_tokens":2}`),
		"input at the beginning":  anthropicStream(`{"input_tokens":-10}`, `{"input_tokens":10,"output_tokens":2}`),
		"output at the beginning": anthropicStream(`{"input_tokens":10,"output_tokens":-1}`, `{"output_tokens":2}`),
		"a cache at the beginning": anthropicStream(`{"input_tokens":10,"cache_read_input_tokens":-5}`,
			`{"output_tokens":2,"cache_read_input_tokens":5}`),
	} {
		t.Run(name, func(t *testing.T) {
			streamed(t, body, good, func(t *testing.T, a llm.Answer, err error) {
				if err != nil || a.Usage != nil {
					t.Errorf("usage %+v, %v; want none", a.Usage, err)
				}
			})
		})
	}
}

func TestProvider_NullIsNoCountThatWasStated(t *testing.T) {
	streamed(t, anthropicStream(`{"input_tokens":10,"cache_read_input_tokens":null}`, `{"output_tokens":2,"input_tokens":null}`),
		openAIStream(`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":null}}`),
		func(t *testing.T, a llm.Answer, err error) {
			if err != nil || a.Usage == nil || *a.Usage != (llm.Usage{Input: 10, Output: 2}) {
				t.Errorf("usage %+v, %v; want what was stated", a.Usage, err)
			}
		})
}

func TestAnthropic_AnEndThatOnlyCountsTakesNoReasonBack(t *testing.T) {
	streamed(t, anthropicStream(`{"input_tokens":10}`, `{"output_tokens":2}`, `{"output_tokens":3}`),
		openAIStream(`{"prompt_tokens":10,"completion_tokens":3}`),
		func(t *testing.T, a llm.Answer, err error) {
			if err != nil || a.Stop != llm.StopEnd || a.Usage == nil || a.Usage.Output != 3 {
				t.Errorf("answer %+v with usage %+v, %v; want one that ended, with the last count", a, a.Usage, err)
			}
		})
}
