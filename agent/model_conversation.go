package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/worker"
)

// The bounds of a conversation with a model.
const (
	maxTurns             = 16
	maxRepairs           = 4         // answers that were of no use
	maxToolText          = 24 << 10  // of one tool's answer
	maxConversationBytes = 192 << 10 // of all that was said
	maxDecisions         = 64        // about models, that a result keeps

	maxWait   = 24 * time.Hour   // for models, in all
	storeWait = 30 * time.Second // for a store that is away
)

// conversation is one with a model. It ends when one of its tools says so.
//
// Before every call all messages so far are saved, so a backend that takes over
// sends the same request. The same request has the same key in the journal. So an
// answer that was bought is not bought again, on any backend, with or without the
// snapshot.
type conversation struct {
	task   *worker.Task
	access ModelAccess
	ask    llm.CallContext
	tools  toolbox
	state  conversationState
}

type conversationState struct {
	Prompt    string          `json:"prompt"`
	Opening   ktrdr.Hash      `json:"opening"` // key of the first request
	Request   llm.Request     `json:"request"`
	Turns     int             `json:"turns"`
	Repairs   int             `json:"repairs"`
	Waiting   time.Time       `json:"waiting,omitzero"` // since a model was first rate-limited
	Decisions []llm.TraceStep `json:"decisions,omitempty"`
}

// toolbox is what a model may use. A call that ends the conversation says so.
type toolbox interface {
	list() []llm.Tool
	use(c llm.ToolCall) (text string, done bool, err error)
}

// noModelError says that no model answered; the built-in designer takes over.
type noModelError struct{ why string }

func (u *noModelError) Error() string { return u.why }

// run leads the conversation from its opening, or from where it was stopped, to its
// end. why says why no model answered; it is empty when one did.
func (k *conversation) run(ctx context.Context, name, message string) (why string, err error) {
	k.begin(name, message)
	err = k.takeTurns(ctx)
	if u, none := errors.AsType[*noModelError](err); none {
		return u.why, nil
	}
	if err != nil && ctx.Err() != nil {
		err = k.task.Interrupted(ctx, int64(k.state.Turns), k.state)
	}
	return "", err
}

// begin opens the conversation, or resumes the one that was snapshotted. A snapshot
// with another opening is ignored.
func (k *conversation) begin(name, message string) {
	k.state = conversationState{Prompt: name, Request: llm.Request{
		System: prompt(name), Tools: k.tools.list(), ToolChoice: llm.ToolsAny,
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: message}}}},
	}}
	k.state.Opening = k.state.Request.Key()
	if k.task.Checkpoint == nil {
		return
	}
	var was conversationState
	if json.Unmarshal(k.task.Checkpoint.State, &was) == nil && was.Prompt == name && was.Opening == k.state.Opening {
		k.state = was
	}
}

// takeTurns calls the model until a tool ends the conversation. It returns
// *noModelError when no model answers, or no answer is useful.
func (k *conversation) takeTurns(ctx context.Context) error {
	for ; k.state.Turns < maxTurns; k.state.Turns++ {
		if err := k.task.Save(ctx, int64(k.state.Turns), k.state); err != nil {
			return err
		}
		answer, trace, err := k.access.Models.Call(ctx, k.ask, k.state.Request)
		k.recordTrace(trace)
		if err != nil {
			return k.afterFailure(ctx, err)
		}
		done, err := k.handleAnswer(answer)
		if done || err != nil {
			return err
		}
	}
	return &noModelError{fmt.Sprintf("the model came to no end within %d turns", maxTurns)}
}

// recordTrace keeps the newest decisions that led to an answer.
func (k *conversation) recordTrace(t llm.Trace) {
	all := append(k.state.Decisions, t.Steps...)
	k.state.Decisions = all[max(0, len(all)-maxDecisions):]
}

// afterFailure decides after a failed call: fall back, wait or fail. A store that is
// away is no reason to fail: the request is sent again, and an answer that was bought
// is found in the journal.
func (k *conversation) afterFailure(ctx context.Context, err error) error {
	// Models that are exhausted carry the waits of each, also where no conversation waits for them.
	if w, ok := errors.AsType[*resilience.WaitError](err); ok && k.ask.Wait {
		what := k.state.wait(w, time.Now())
		if err := k.task.Save(ctx, int64(k.state.Turns), k.state); err != nil {
			return err
		}
		if later, ok := errors.AsType[*worker.Later](what); ok {
			k.access.waits(ctx, k.task.Operation, later)
		}
		return what
	}
	if e, ok := errors.AsType[*llm.Exhausted](err); ok {
		return &noModelError{e.Error()}
	}
	if code := ktrdr.CodeOf(err); code == ktrdr.CodeUnavailable || code == ktrdr.CodeUnknownResult {
		return &worker.Later{After: storeWait, Reason: fmt.Sprintf("The store is away: %v", err)}
	}
	return err
}

// wait is *worker.Later for a rate-limited model, and *noModelError when that is
// longer than a conversation may wait in all: a wait that ends too early is useless.
func (s *conversationState) wait(w *resilience.WaitError, now time.Time) error {
	if s.Waiting.IsZero() {
		s.Waiting = now.UTC()
	}
	if left := maxWait - now.Sub(s.Waiting); left <= 0 || w.After > left {
		return &noModelError{fmt.Sprintf("no model can be asked within %v: %v", maxWait, w.Err)}
	}
	return &worker.Later{After: w.After, Reason: fmt.Sprintf("A model is rate-limited: %v", w.Err)}
}

// handleAnswer runs the model's tool calls. It bounds the size of all messages: all
// are sent, and paid for, with every turn.
func (k *conversation) handleAnswer(a llm.Answer) (done bool, err error) {
	said := a.Message()
	if len(said.Parts) == 0 {
		said.Parts = []llm.Part{{Text: "(nothing)"}}
	}
	reply := llm.Message{Role: llm.User}
	useful := false
	for _, call := range a.ToolCalls {
		text, end, err := k.tools.use(call)
		if end && err == nil {
			return true, nil
		}
		result := llm.ToolResult{ID: call.ID, Text: toolText(text)}
		if err != nil {
			result.Text, result.Error = toolText(err.Error()), true
		} else {
			useful = true
		}
		reply.Parts = append(reply.Parts, llm.Part{Result: &result})
	}
	if !useful {
		k.state.Repairs++
	}
	if k.state.Repairs > maxRepairs {
		return false, &noModelError{fmt.Sprintf("the model gave %d answers that were of no use", k.state.Repairs)}
	}
	if len(a.ToolCalls) == 0 {
		reply.Parts = []llm.Part{{Text: "Nothing happens without a tool. Use one; the last one ends your work."}}
	}
	k.state.Request.Messages = append(k.state.Request.Messages, said, reply)
	if llm.Size(llm.Request{Messages: k.state.Request.Messages}) > maxConversationBytes {
		return false, &noModelError{fmt.Sprintf("the conversation with the model grew beyond %d KiB", maxConversationBytes>>10)}
	}
	return false, nil
}

func (k *conversation) answeredBy() string {
	for _, d := range slices.Backward(k.state.Decisions) {
		if d.Decision == llm.Answered || d.Decision == llm.Recalled {
			return d.Model
		}
	}
	return k.ask.Preferred
}

// toolText cuts a tool result to maxToolText and removes characters that cannot be stored.
func toolText(s string) string { return text.Cut(ktrdr.CleanText(s), maxToolText) }
