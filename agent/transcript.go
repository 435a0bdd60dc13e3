package agent

import (
	"encoding/json"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
)

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
	var s talkState
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
