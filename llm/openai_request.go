package llm

import (
	"cmp"
	"encoding/json"
	"strings"
)

type (
	openAIRequest struct {
		Model               string          `json:"model"`
		MaxTokens           int             `json:"max_tokens,omitempty"`
		MaxCompletionTokens int             `json:"max_completion_tokens,omitempty"`
		Messages            []openAIMessage `json:"messages"`
		Tools               []openAITool    `json:"tools,omitempty"`
		ToolChoice          any             `json:"tool_choice,omitempty"` // a word, or an openAIChoice
		Temperature         *float64        `json:"temperature,omitempty"`
		Stream              bool            `json:"stream"`
		StreamOptions       streamOptions   `json:"stream_options"`
	}
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	openAIMessage struct {
		Role       string           `json:"role"`
		Content    *string          `json:"content"` // null beside tool calls
		ToolCalls  []openAIToolCall `json:"tool_calls,omitempty"`
		ToolCallID string           `json:"tool_call_id,omitempty"`
	}
	openAITool struct {
		Type     string             `json:"type"`
		Function openAIToolFunction `json:"function"`
	}
	openAIToolFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	openAIChoice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
)

// body writes a request. The bound of the answer goes by its new name only
// where that is known to be understood: a server that does not know the name
// would answer without any bound.
func (o *openAI) body(model string, r Request) openAIRequest {
	body := openAIRequest{
		Model: model, Temperature: r.Temperature, Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
		ToolChoice: openAIToolChoice(r),
	}
	most := cmp.Or(r.MaxTokens, defaultMaxTokens)
	if o.ours {
		body.MaxCompletionTokens = most
	} else {
		body.MaxTokens = most
	}
	if r.System != "" {
		body.Messages = append(body.Messages, openAIMessage{Role: "system", Content: &r.System})
	}
	for _, m := range r.Messages {
		body.Messages = append(body.Messages, openAITurn(m)...)
	}
	for _, t := range r.Tools {
		body.Tools = append(body.Tools, openAITool{"function", openAIToolFunction{t.Name, t.Description, t.Schema}})
	}
	return body
}

func openAIToolChoice(r Request) any {
	switch r.ToolChoice {
	case ToolsAuto:
		return nil
	case ToolsAny:
		return "required"
	case ToolsNone:
		return "none"
	}
	choice := openAIChoice{Type: "function"}
	choice.Function.Name = r.ToolChoice
	return choice
}

// openAITurn writes one turn, which here is one message for each result of a
// tool and one for the rest.
func openAITurn(m Message) []openAIMessage {
	var turn []openAIMessage
	var texts []string
	rest := openAIMessage{Role: string(m.Role)}
	for _, p := range m.Parts {
		switch {
		case p.Result != nil:
			text := p.Result.Text
			if p.Result.Error {
				text = "error: " + text // there is no flag for it
			}
			turn = append(turn, openAIMessage{Role: "tool", ToolCallID: p.Result.ID, Content: &text})
		case p.Call != nil:
			rest.ToolCalls = append(rest.ToolCalls, openAIToolCall{
				ID: p.Call.ID, Type: "function",
				Function: openAIFunction{Name: p.Call.Name, Arguments: string(orEmpty(p.Call.Input))},
			})
		default:
			texts = append(texts, p.Text)
		}
	}
	if len(texts) > 0 {
		rest.Content = new(strings.Join(texts, "\n\n"))
	}
	if len(texts) > 0 || len(rest.ToolCalls) > 0 {
		turn = append(turn, rest)
	}
	return turn
}
