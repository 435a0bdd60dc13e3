package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
)

// Conversation is what a research and models said to each other.
type Conversation struct {
	Operation ktrdr.OperationID `json:"operation_id"` // the research
	Talks     []Talk            `json:"talks"`        // of its design and its assessment; none if no model was asked
}

// Talk is one conversation with a model.
type Talk struct {
	Operation ktrdr.OperationID `json:"operation_id"` // the design or the assessment
	Type      ktrdr.Type        `json:"operation_type"`
	Prompt    string            `json:"prompt,omitempty"` // and its version
	Models    []string          `json:"models"`           // that were asked
	Calls     int               `json:"calls"`
	Failed    int               `json:"failed"`
	Input     int64             `json:"input_tokens"`
	Output    int64             `json:"output_tokens"`
	USD       float64           `json:"usd"`
	Complete  bool              `json:"whole"` // false: only the answers are kept
	Turns     []Turn            `json:"turns"`
}

// Turn is something that was said.
type Turn struct {
	Role  string          `json:"role"` // system, user, assistant, or tool for what a tool gave back
	Text  string          `json:"text,omitempty"`
	Tool  string          `json:"tool,omitempty"`  // that the model used
	Input json.RawMessage `json:"input,omitempty"` // of the tool
	Error bool            `json:"error,omitempty"` // the tool refused
}

// mostCalls bounds how many calls of a research are read: a conversation has at most a few
// dozen.
const mostCalls = 1000

// Conversations reads what researches and models said to each other.
type Conversations struct {
	Researches interface { // finds a research; CodeInvalid if the id is that of something else
		Research(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	}
	Operations interface {
		List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
		CheckpointAt(ctx context.Context, op ktrdr.OperationID, id string) (ktrdr.Checkpoint, error)
	}
	Journal interface {
		Calls(ctx context.Context, research ktrdr.OperationID, limit int) ([]ktrdr.Call, error)
	}
}

// Conversation returns what a research and models said to each other.
func (d Conversations) Conversation(ctx context.Context, id ktrdr.OperationID) (Conversation, error) {
	out := Conversation{Operation: id}
	if _, err := d.Researches.Research(ctx, id); err != nil {
		return out, err
	}
	calls, err := d.Journal.Calls(ctx, id, mostCalls)
	if err != nil {
		return out, err
	}
	children, err := d.Operations.List(ctx, ktrdr.OperationQuery{Parent: id, Brief: true, Sort: ktrdr.Oldest, Limit: 1000})
	if err != nil {
		return out, err
	}
	for _, child := range children.Operations {
		own := slices.DeleteFunc(slices.Clone(calls), func(c ktrdr.Call) bool { return c.Operation != child.ID })
		if len(own) == 0 {
			continue
		}
		c, err := d.Operations.CheckpointAt(ctx, child.ID, "")
		if code := ktrdr.CodeOf(err); err != nil && code != ktrdr.CodeNotFound && code != ktrdr.CodeNoCheckpoint {
			return out, err
		}
		out.Talks = append(out.Talks, talkOf(child, own, calls, c.State))
	}
	return out, nil
}

// talkOf is one conversation. An answer may have been bought by an
// earlier attempt of the research, so that all calls are searched for the last.
func talkOf(child ktrdr.Operation, own, all []ktrdr.Call, state json.RawMessage) Talk {
	t := Talk{Operation: child.ID, Type: child.Type, Models: []string{}, Turns: []Turn{}}
	for _, c := range own {
		if c.Error == ktrdr.NotAsked {
			continue
		}
		t.Calls++
		t.Input += c.Input
		t.Output += c.Output
		t.USD += c.Charged.USD()
		if c.Status == ktrdr.CallFailed {
			t.Failed++
		}
		if !slices.Contains(t.Models, c.Model) {
			t.Models = append(t.Models, c.Model)
		}
	}
	answers := own
	if len(state) > 0 {
		answers = all
	}
	said := ReadTranscript(state, answers)
	t.Prompt, t.Complete = said.Prompt, said.Complete
	if said.System != "" {
		t.Turns = append(t.Turns, Turn{Role: "system", Text: said.System})
	}
	for _, m := range said.Messages {
		for _, p := range m.Parts {
			t.Turns = append(t.Turns, turnOf(m.Role, p))
		}
	}
	return t
}

func turnOf(role llm.Role, p llm.Part) Turn {
	switch {
	case p.Call != nil:
		return Turn{Role: string(role), Tool: p.Call.Name, Input: p.Call.Input}
	case p.Result != nil:
		return Turn{Role: "tool", Text: p.Result.Text, Error: p.Result.Error}
	}
	return Turn{Role: string(role), Text: p.Text}
}

// Transcript is a conversation with a model as far as it is kept.
type Transcript struct {
	Prompt   string        // its name and version
	System   string        // what the model was told before the first turn
	Messages []llm.Message // the turns, in their order
	Complete bool          // false: only the answers are left; what was asked went with its checkpoint
}

// ReadTranscript puts together the conversation of a design or an assessment: what
// was said before the last call, which its newest checkpoint has, and the answer
// to it, which the journal has. Without the checkpoint the answers are left. calls
// are those of the operation, oldest first.
func ReadTranscript(state json.RawMessage, calls []ktrdr.Call) Transcript {
	var s conversationState
	if len(state) == 0 || json.Unmarshal(state, &s) != nil || len(s.Request.Messages) == 0 {
		var t Transcript
		for _, c := range calls {
			t.Messages = append(t.Messages, answerOf(c)...)
		}
		return t
	}
	t := Transcript{Prompt: s.Prompt, System: s.Request.System, Messages: s.Request.Messages, Complete: true}
	key := s.Request.Key()
	last := slices.IndexFunc(calls, func(c ktrdr.Call) bool { return c.Key == key && c.Status == ktrdr.CallAnswered })
	if last >= 0 {
		t.Messages = append(slices.Clone(t.Messages), answerOf(calls[last])...)
	}
	return t
}

func answerOf(c ktrdr.Call) []llm.Message {
	var a llm.Answer
	if c.Status != ktrdr.CallAnswered || json.Unmarshal(c.Answer, &a) != nil {
		return nil
	}
	return []llm.Message{a.Message()}
}
