package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// Role says whose turn a message is.
type Role string

// The roles. What a tool gave back is a part of the user's turn.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is a piece of a turn: exactly one of its fields is set.
type Part struct {
	Text   string      `json:"text,omitempty"`
	Call   *ToolCall   `json:"tool_call,omitempty"`   // by the assistant
	Result *ToolResult `json:"tool_result,omitempty"` // from the user
}

// ToolCall is a model's wish to have a tool run.
type ToolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // a JSON object
}

// ToolResult is what a tool gave back.
type ToolResult struct {
	ID    string `json:"id"` // of the call
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

// Tool is what a model may ask for.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the input, an object
}

// The tool choices that are not the name of the tool that must be used.
const (
	ToolsAuto = ""     // the model decides
	ToolsAny  = "any"  // it must use one
	ToolsNone = "none" // it must not
)

// Request is what is asked of any model.
type Request struct {
	System      string    `json:"system,omitempty"`
	Messages    []Message `json:"messages"`
	Tools       []Tool    `json:"tools,omitempty"`
	ToolChoice  string    `json:"tool_choice,omitempty"` // ToolsAuto, ToolsAny, ToolsNone or a tool's name
	MaxTokens   int       `json:"max_tokens,omitempty"`  // of the answer; 0 means 4,096
	Temperature *float64  `json:"temperature,omitempty"` // nil means the model's own
}

const defaultMaxTokens = 4096

// Key names the request in the journal. It does not know the model: an answer
// that was bought from one is good when another is asked. JSON that was stored
// and read back may have other spaces and another order of keys; that changes
// nothing here. A request that holds broken JSON has the zero key; no model
// would answer it.
func (r Request) Key() ktrdr.Hash {
	text, err := json.Marshal(r)
	if err != nil {
		return ktrdr.Hash{}
	}
	text, err = canonical(text, ktrdr.CleanText)
	if err != nil {
		return ktrdr.Hash{}
	}
	return sha256.Sum256(append([]byte("ktrdr llm request 1\n"), text...))
}

// check finds what no server would accept, before money is reserved for it.
func (r Request) check() error {
	if len(r.Messages) == 0 {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a request to a model needs at least one message")
	}
	if r.MaxTokens < 0 {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "max_tokens is %d; it must not be negative", r.MaxTokens)
	}
	if t := r.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "temperature is %v; it must be within 0 and 2", *t)
	}
	for i, m := range r.Messages {
		if m.Role != User && m.Role != Assistant {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "message %d has role %q; it must be user or assistant", i, m.Role)
		}
		if len(m.Parts) == 0 {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "message %d has no parts", i)
		}
		for _, p := range m.Parts {
			if err := p.check(m.Role); err != nil {
				return ktrdr.Errorf(ktrdr.CodeInvalid, "message %d: %w", i, err)
			}
		}
	}
	for _, t := range r.Tools {
		if t.Name == "" || t.Name == ToolsAny || t.Name == ToolsNone {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "a tool cannot be called %q", t.Name)
		}
		if _, err := object(t.Schema, ktrdr.CleanText); err != nil {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the schema of tool %s is not a JSON object: %w", t.Name, err)
		}
	}
	named := r.ToolChoice != ToolsAuto && r.ToolChoice != ToolsAny && r.ToolChoice != ToolsNone
	if named && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == r.ToolChoice }) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "tool_choice names %q, which is not one of the tools", r.ToolChoice)
	}
	return nil
}

func (p Part) check(by Role) error {
	set := 0
	for _, is := range []bool{p.Text != "", p.Call != nil, p.Result != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("a part holds a text, a tool call or a tool result: one of them, not %d", set)
	case p.Call != nil && by != Assistant:
		return fmt.Errorf("a tool is called by the assistant, not by the %s", by)
	case p.Result != nil && by != User:
		return fmt.Errorf("a tool's result comes from the user, not from the %s", by)
	case p.Call != nil:
		if _, err := object(p.Call.Input, ktrdr.CleanText); err != nil {
			return fmt.Errorf("the input of tool call %s is not a JSON object: %w", p.Call.ID, err)
		}
	}
	return nil
}

// Answer is what a model said, cleaned: valid UTF-8 without NUL, and small
// enough for the journal.
type Answer struct {
	Text      string     `json:"text,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	Stop      string     `json:"stop"`            // one of the Stop constants, or the server's own word
	Usage     *Usage     `json:"usage,omitempty"` // nil when the server did not say
	Model     string     `json:"model,omitempty"` // as the server calls it
	RequestID string     `json:"request_id,omitempty"`
}

// Why a model stopped.
const (
	StopEnd    = "end_turn"   // it said all it had to say
	StopTools  = "tool_use"   // it waits for its tools
	StopLength = "max_tokens" // it was cut off
)

// Message is the answer as the next turn of the conversation.
func (a Answer) Message() Message {
	m := Message{Role: Assistant}
	if a.Text != "" {
		m.Parts = append(m.Parts, Part{Text: a.Text})
	}
	for _, c := range a.ToolCalls {
		m.Parts = append(m.Parts, Part{Call: &c})
	}
	return m
}

// Usage counts tokens. Input holds neither those read from a cache nor those
// written to it.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// plausible says whether this can be the count of an exchange: something was
// asked, and something answered.
func (u *Usage) plausible() bool { return u.Input+u.CacheRead+u.CacheWrite > 0 && u.Output > 0 }

// Provider asks one kind of server, once per call: it repeats nothing. Its
// errors are *resilience.Error, and ErrNotSent where no server was reached.
type Provider interface {
	Name() string
	Complete(ctx context.Context, model string, r Request) (Answer, error)
}

// canonical writes JSON in one way: keys sorted, no spaces, every string as kept
// makes it. Numbers stay as they were written.
func canonical(text []byte, kept func(string) string) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return encode(clean(v, kept))
}

// maxDepth bounds how deep objects and lists are nested: what just fits into a
// parser of JSON does no longer when a journal or a snapshot is put around it.
const maxDepth = 64

// object is canonical for a JSON object; nothing at all is an empty one.
func object(text []byte, kept func(string) string) (json.RawMessage, error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return json.RawMessage("{}"), nil
	case text[0] != '{':
		return nil, fmt.Errorf("it begins with %q", text[0])
	case depth(text) > maxDepth:
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	return canonical(text, kept)
}

// depth is how deep the objects and lists of a JSON text are nested.
func depth(text []byte) (deepest int) {
	level, quoted, escaped := 0, false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			level++
			deepest = max(deepest, level)
		case b == '}' || b == ']':
			level--
		}
	}
	return deepest
}

// clean replaces every string of a decoded value, names too: before it is decoded
// each can be written in many ways.
func clean(v any, kept func(string) string) any {
	switch v := v.(type) {
	case string:
		return kept(v)
	case []any:
		for i := range v {
			v[i] = clean(v[i], kept)
		}
	case map[string]any:
		cleaned := make(map[string]any, len(v))
		for name, value := range v {
			cleaned[kept(name)] = clean(value, kept)
		}
		return cleaned
	}
	return v
}

// encode is json.Marshal without the escapes that only a web page needs: they
// would make an answer six times as long.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
