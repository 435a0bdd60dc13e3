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

// The bounds of a talk with a model.
const (
	maxTurns     = 16
	maxRepairs   = 4         // answers that were of no use
	maxToolText  = 24 << 10  // of one tool's answer
	maxTalkBytes = 192 << 10 // of all that was said
	maxDecisions = 64        // about models, that a result keeps

	maxWait   = 24 * time.Hour   // for models, in all
	storeWait = 30 * time.Second // for a store that is away
)

// talk is a conversation with a model that ends when one of its tools says so.
//
// Before every call what was said so far is saved, so that a backend that takes
// over begins with the same words; and because the same words have the same key
// in the journal, an answer that was bought is not bought again, on any
// backend, with or without the snapshot.
type talk struct {
	task   *worker.Task
	access ModelAccess
	ask    llm.CallContext
	tools  toolbox
	state  talkState
}

type talkState struct {
	Prompt    string          `json:"prompt"`
	Opening   ktrdr.Hash      `json:"opening"` // key of the first request
	Request   llm.Request     `json:"request"`
	Turns     int             `json:"turns"`
	Repairs   int             `json:"repairs"`
	Waiting   time.Time       `json:"waiting,omitzero"` // since a model was first rate-limited
	Decisions []llm.TraceStep `json:"decisions,omitempty"`
}

// toolbox is what a model may use. A call that ends the talk says so.
type toolbox interface {
	list() []llm.Tool
	use(c llm.ToolCall) (text string, done bool, err error)
}

// unanswered says that no model could do it; the program's own way is left.
type unanswered struct{ why string }

func (u *unanswered) Error() string { return u.why }

// hold has the talk from its opening, or where it was stopped, to its end. why
// says why no model could do it; it is empty when one did.
func (k *talk) hold(ctx context.Context, name, message string) (why string, err error) {
	k.begin(name, message)
	err = k.run(ctx)
	if u, none := errors.AsType[*unanswered](err); none {
		return u.why, nil
	}
	if err != nil && ctx.Err() != nil {
		err = k.task.Interrupted(ctx, int64(k.state.Turns), k.state)
	}
	return "", err
}

// begin opens the talk, or takes up the one that was snapshotted. A snapshot of
// other words is of no use.
func (k *talk) begin(name, message string) {
	k.state = talkState{Prompt: name, Request: llm.Request{
		System: prompt(name), Tools: k.tools.list(), ToolChoice: llm.ToolsAny,
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: message}}}},
	}}
	k.state.Opening = k.state.Request.Key()
	if k.task.Checkpoint == nil {
		return
	}
	var was talkState
	if json.Unmarshal(k.task.Checkpoint.State, &was) == nil && was.Prompt == name && was.Opening == k.state.Opening {
		k.state = was
	}
}

// run talks until a tool ends it. *unanswered when the models cannot, or could
// and did nothing useful.
func (k *talk) run(ctx context.Context) error {
	for ; k.state.Turns < maxTurns; k.state.Turns++ {
		if err := k.task.Save(ctx, int64(k.state.Turns), k.state); err != nil {
			return err
		}
		answer, trace, err := k.access.Models.Call(ctx, k.ask, k.state.Request)
		k.noted(trace)
		if err != nil {
			return k.failed(ctx, err)
		}
		done, err := k.heard(answer)
		if done || err != nil {
			return err
		}
	}
	return &unanswered{fmt.Sprintf("the model came to no end within %d turns", maxTurns)}
}

// noted keeps the decisions that led to an answer, the newest of them.
func (k *talk) noted(t llm.Trace) {
	all := append(k.state.Decisions, t.Steps...)
	k.state.Decisions = all[max(0, len(all)-maxDecisions):]
}

// failed tells what there is to do without an answer: to go on without models,
// to wait, or to give up. A store that is away is no reason to give up: what was
// asked is asked again, and what was bought is found in the journal.
func (k *talk) failed(ctx context.Context, err error) error {
	// Models that are exhausted carry the waits of each, also where no talk waits for them.
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
		return &unanswered{e.Error()}
	}
	if code := ktrdr.CodeOf(err); code == ktrdr.CodeUnavailable || code == ktrdr.CodeUnknownResult {
		return &worker.Later{After: storeWait, Reason: fmt.Sprintf("The store is away: %v", err)}
	}
	return err
}

// wait is *worker.Later for a rate-limited model, and *unanswered
// when that is longer than a talk may wait in all: a wait may follow on every
// wait, and one that ends too early would be for nothing.
func (s *talkState) wait(w *resilience.WaitError, now time.Time) error {
	if s.Waiting.IsZero() {
		s.Waiting = now.UTC()
	}
	if left := maxWait - now.Sub(s.Waiting); left <= 0 || w.After > left {
		return &unanswered{fmt.Sprintf("no model can be asked within %v: %v", maxWait, w.Err)}
	}
	return &worker.Later{After: w.After, Reason: fmt.Sprintf("A model is rate-limited: %v", w.Err)}
}

// heard answers the model's tool calls. It bounds what is said in all: the
// whole of it is sent, and paid for, with every turn.
func (k *talk) heard(a llm.Answer) (done bool, err error) {
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
		return false, &unanswered{fmt.Sprintf("the model gave %d answers that were of no use", k.state.Repairs)}
	}
	if len(a.ToolCalls) == 0 {
		reply.Parts = []llm.Part{{Text: "Nothing happens without a tool. Use one; the last one ends your work."}}
	}
	k.state.Request.Messages = append(k.state.Request.Messages, said, reply)
	if llm.Size(llm.Request{Messages: k.state.Request.Messages}) > maxTalkBytes {
		return false, &unanswered{fmt.Sprintf("the talk with the model grew beyond %d KiB", maxTalkBytes>>10)}
	}
	return false, nil
}

func (k *talk) answeredBy() string {
	for _, d := range slices.Backward(k.state.Decisions) {
		if d.Decision == llm.Answered || d.Decision == llm.Recalled {
			return d.Model
		}
	}
	return k.ask.Preferred
}

// toolText is a text as short as a model is told it, and storable.
func toolText(s string) string { return text.Cut(ktrdr.CleanText(s), maxToolText) }
