package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	"github.com/ktrdr/ktrdr/internal/text"
)

// anthropic speaks the Messages API.
type anthropic struct{ *client }

const anthropicVersion = "2023-06-01"

// NewAnthropic makes a provider for https://api.anthropic.com or a server that
// speaks its language. CodeInvalid when the base URL or the key is not valid.
func NewAnthropic(cfg ClientConfig) (Provider, error) {
	cfg.Name = cmp.Or(cfg.Name, "anthropic")
	cfg.BaseURL = cmp.Or(cfg.BaseURL, "https://api.anthropic.com")
	c, err := newClient(cfg, "/v1/messages")
	if err != nil {
		return nil, err
	}
	c.header.Set("Anthropic-Version", anthropicVersion)
	if key := c.cfg.Key.Reveal(); key != "" {
		c.header.Set("X-Api-Key", key)
	}
	return &anthropic{client: c}, nil
}

// Complete asks once. Errors are *resilience.Error.
func (a *anthropic) Complete(ctx context.Context, model string, r Request) (Answer, error) {
	if err := r.check(); err != nil {
		return Answer{}, a.notSent(err)
	}
	return a.ask(ctx, anthropicBody(model, r), func(h http.Header, body io.Reader) (Answer, error) {
		if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || kind != "text/event-stream" {
			return Answer{}, a.garbage("the answer is no stream of events but %q; is base_url right?", a.shown(kind))
		}
		d := &draft{client: a.client, id: h.Get("Request-Id")}
		return readAnthropic(d, r, body)
	})
}

type (
	anthropicRequest struct {
		Model       string             `json:"model"`
		MaxTokens   int                `json:"max_tokens"`
		System      string             `json:"system,omitempty"`
		Messages    []anthropicMessage `json:"messages"`
		Tools       []anthropicTool    `json:"tools,omitempty"`
		ToolChoice  *anthropicChoice   `json:"tool_choice,omitempty"`
		Temperature *float64           `json:"temperature,omitempty"`
		Stream      bool               `json:"stream"`
	}
	anthropicMessage struct {
		Role    Role             `json:"role"`
		Content []anthropicBlock `json:"content"`
	}
	anthropicBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Content   string          `json:"content,omitempty"`
		IsError   bool            `json:"is_error,omitempty"`
	}
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	anthropicChoice struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
	}
)

func anthropicBody(model string, r Request) anthropicRequest {
	body := anthropicRequest{
		Model: model, MaxTokens: cmp.Or(r.MaxTokens, defaultMaxTokens), System: r.System,
		Temperature: r.Temperature, Stream: true,
		Messages: text.Map(r.Messages, func(m Message) anthropicMessage {
			return anthropicMessage{m.Role, text.Map(m.Parts, anthropicPart)}
		}),
		Tools: text.Map(r.Tools, func(t Tool) anthropicTool { return anthropicTool{t.Name, t.Description, t.Schema} }),
	}
	switch r.ToolChoice {
	case ToolsAuto:
	case ToolsAny, ToolsNone:
		body.ToolChoice = &anthropicChoice{Type: r.ToolChoice}
	default:
		body.ToolChoice = &anthropicChoice{Type: "tool", Name: r.ToolChoice}
	}
	return body
}

func anthropicPart(p Part) anthropicBlock {
	switch {
	case p.Call != nil:
		return anthropicBlock{Type: "tool_use", ID: p.Call.ID, Name: p.Call.Name, Input: orEmpty(p.Call.Input)}
	case p.Result != nil:
		return anthropicBlock{Type: "tool_result", ToolUseID: p.Result.ID, Content: p.Result.Text, IsError: p.Result.Error}
	}
	return anthropicBlock{Type: "text", Text: p.Text}
}

// orEmpty is the input of a call that needs none.
func orEmpty(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	return input
}

type anthropicUsage struct {
	Input      *tokens `json:"input_tokens"`
	Output     *tokens `json:"output_tokens"`
	CacheRead  tokens  `json:"cache_read_input_tokens"`
	CacheWrite tokens  `json:"cache_creation_input_tokens"`
}

type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string          `json:"model"`
		Usage *anthropicUsage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage *anthropicUsage `json:"usage"`
}

// anthropicReader puts an answer together from events.
type anthropicReader struct {
	*draft
	tools  map[int]*draftCall // by the index of their block
	before *anthropicUsage    // as the answer began: what went in
}

func readAnthropic(d *draft, r Request, body io.Reader) (Answer, error) {
	in := &anthropicReader{draft: d, tools: make(map[int]*draftCall)}
	for events := newEvents(body); ; {
		data, err := events.next()
		if err != nil {
			return d.ended(r, orUnexpected(err))
		}
		var e anthropicEvent
		if err := json.Unmarshal(data, &e); err != nil {
			return Answer{}, d.client.garbage("an event of the answer is no JSON: %w", err)
		}
		switch e.Type {
		case "message_stop":
			return d.ended(r, io.ErrUnexpectedEOF)
		case "error":
			return Answer{}, d.client.complained(data)
		}
		if err := in.take(e); err != nil {
			return Answer{}, err
		}
	}
}

// orUnexpected turns the end of a stream into what it is before the answer is
// whole.
func orUnexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // events.next returns it bare
		return io.ErrUnexpectedEOF
	}
	return err
}

// take adds one event. Kinds that we did not ask for, as pings and thoughts,
// are passed over, so that a server may add some.
func (in *anthropicReader) take(e anthropicEvent) (err error) {
	switch e.Type {
	case "message_start":
		in.model, in.before = e.Message.Model, e.Message.Usage
	case "content_block_start":
		switch e.ContentBlock.Type {
		case "text":
			return in.write(&in.text, e.ContentBlock.Text)
		case "tool_use":
			in.tools[e.Index], err = in.call(e.ContentBlock.ID, e.ContentBlock.Name)
			return err
		}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			return in.write(&in.text, e.Delta.Text)
		case "input_json_delta":
			if tool := in.tools[e.Index]; tool != nil {
				return in.write(&tool.input, e.Delta.PartialJSON)
			}
		}
	case "message_delta":
		in.stop = cmp.Or(e.Delta.StopReason, in.stop) // one that only counts takes nothing back
		in.refused = in.stop == "refusal"
		in.count(e.Usage)
	}
	return nil
}

// count takes the usage, of which the beginning tells what went in and the end
// what came out.
func (in *anthropicReader) count(after *anthropicUsage) {
	if in.before == nil || after == nil || after.Output == nil {
		return
	}
	input := cmp.Or(after.Input, in.before.Input)
	if input == nil {
		return
	}
	u := Usage{
		Input: int64(*input), Output: int64(*after.Output),
		CacheRead: int64(max(in.before.CacheRead, after.CacheRead)), CacheWrite: int64(max(in.before.CacheWrite, after.CacheWrite)),
	}
	if !in.before.counted() || !after.counted() {
		u = Usage{Input: int64(noCount)} // whatever the larger of two says
	}
	in.counted(u)
}

// counted says whether all that is stated is a count.
func (u *anthropicUsage) counted() bool {
	return (u.Input == nil || *u.Input >= 0) && (u.Output == nil || *u.Output >= 0) && u.CacheRead >= 0 && u.CacheWrite >= 0
}
