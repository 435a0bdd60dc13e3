package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
)

// openAI speaks the chat completions that OpenAI, OpenRouter, vLLM, Ollama and
// others have in common.
type openAI struct {
	*client
	ours bool // the maker's own server, which wants its newer names
}

const openAIHost = "api.openai.com"

// NewOpenAI makes a provider for https://api.openai.com/v1 or, by base URL, any
// server that speaks its language. The key may be empty. CodeInvalid when the
// base URL or the key is not valid.
func NewOpenAI(cfg ClientConfig) (Provider, error) {
	cfg.Name = cmp.Or(cfg.Name, "openai")
	cfg.BaseURL = cmp.Or(cfg.BaseURL, "https://"+openAIHost+"/v1")
	c, err := newClient(cfg, "/chat/completions")
	if err != nil {
		return nil, err
	}
	if key := c.cfg.Key.Reveal(); key != "" {
		c.header.Set("Authorization", "Bearer "+key)
	}
	return &openAI{client: c, ours: c.endpoint.Hostname() == openAIHost}, nil
}

// Complete asks once. Errors are *resilience.Error.
func (o *openAI) Complete(ctx context.Context, model string, r Request) (Answer, error) {
	if err := r.check(); err != nil {
		return Answer{}, o.notSent(err)
	}
	return o.ask(ctx, o.body(model, r), func(h http.Header, body io.Reader) (Answer, error) {
		d := &draft{client: o.client, id: h.Get("X-Request-Id")}
		if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind == "text/event-stream" {
			return readOpenAI(d, r, body)
		}
		return readUnstreamed(d, r, body)
	})
}

type openAIUsage struct {
	Prompt     *tokens `json:"prompt_tokens"`
	Completion *tokens `json:"completion_tokens"`
	Details    struct {
		Cached tokens `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// openAIChunk is a piece of a streamed answer, or all of one that is not.
type openAIChunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Usage   *openAIUsage    `json:"usage"`
	Choices []struct {
		Index   int         `json:"index"`
		Delta   openAIDelta `json:"delta"`
		Message openAIDelta `json:"message"`
		Finish  string      `json:"finish_reason"`
	} `json:"choices"`
}

type openAIDelta struct {
	Content   string           `json:"content"`
	Refusal   string           `json:"refusal"`
	ToolCalls []openAIToolCall `json:"tool_calls"`
}

type openAIToolCall struct {
	Index    *int           `json:"index,omitempty"`
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// openAIReader puts an answer together from chunks.
type openAIReader struct {
	*draft
	tools map[int]*draftCall // by index; some servers give all of them the same
}

func readOpenAI(d *draft, r Request, body io.Reader) (Answer, error) {
	in := &openAIReader{draft: d, tools: make(map[int]*draftCall)}
	for events := newEvents(body); ; {
		data, err := events.next()
		if err != nil || bytes.Equal(data, []byte("[DONE]")) {
			return d.ended(r, orUnexpected(cmp.Or(err, io.EOF)))
		}
		var chunk openAIChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return Answer{}, d.client.garbage("an event of the answer is no JSON: %w", err)
		}
		if err := in.take(chunk, data); err != nil {
			return Answer{}, err
		}
	}
}

// readUnstreamed reads the answer of a server that does not stream.
func readUnstreamed(d *draft, r Request, body io.Reader) (Answer, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return Answer{}, err
	}
	var chunk openAIChunk
	if err := json.Unmarshal(text, &chunk); err != nil {
		return Answer{}, d.client.garbage("the answer is no JSON (is base_url right?): %w", err)
	}
	in := &openAIReader{draft: d, tools: make(map[int]*draftCall)}
	if err := in.take(chunk, text); err != nil {
		return Answer{}, err
	}
	if d.stop == "" {
		return Answer{}, d.client.garbage("the answer does not say why it ends")
	}
	return d.finish(r)
}

func (in *openAIReader) take(chunk openAIChunk, raw []byte) error {
	if len(chunk.Error) > 0 && !bytes.Equal(chunk.Error, []byte("null")) {
		return in.client.complained(raw)
	}
	in.model = cmp.Or(chunk.Model, in.model)
	in.count(chunk.Usage)
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // one answer was asked for
		}
		for _, delta := range []openAIDelta{choice.Delta, choice.Message} {
			if err := in.add(delta); err != nil {
				return err
			}
		}
		switch choice.Finish {
		case "":
		case "stop":
			in.stop = StopEnd
		case "tool_calls", "function_call":
			in.stop = StopTools
		case "length":
			in.stop = StopLength
		default:
			in.stop = choice.Finish
			in.refused = in.refused || choice.Finish == "content_filter"
		}
	}
	return nil
}

func (in *openAIReader) add(delta openAIDelta) error {
	in.refused = in.refused || delta.Refusal != ""
	if err := in.write(&in.text, delta.Content); err != nil {
		return err
	}
	for i, t := range delta.ToolCalls {
		index := i
		if t.Index != nil {
			index = *t.Index
		}
		tool := in.tools[index]
		if tool == nil || t.ID != "" && tool.id != "" && tool.id != t.ID {
			var err error
			if tool, err = in.call(t.ID, t.Function.Name); err != nil {
				return err
			}
			in.tools[index] = tool
		}
		tool.id, tool.name = cmp.Or(tool.id, t.ID), cmp.Or(tool.name, t.Function.Name)
		if err := in.write(&tool.input, t.Function.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// count takes the usage; what was read from a cache is part of the prompt here.
func (in *openAIReader) count(u *openAIUsage) {
	if u == nil || u.Prompt == nil || u.Completion == nil {
		return
	}
	in.counted(Usage{Input: int64(*u.Prompt - u.Details.Cached), Output: int64(*u.Completion), CacheRead: int64(u.Details.Cached)})
}
