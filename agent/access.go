package agent

import (
	"context"
	"embed"
	"log/slog"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/worker"
)

// Models answers requests to language models, as llm.ModelFallbackChain does.
type Models interface {
	Call(ctx context.Context, ask llm.CallContext, r llm.Request) (llm.Answer, llm.Trace, error)
}

// Within bounds every call to models by d, all of them and all tries together.
func Within(d time.Duration, m Models) Models { return within{m, d} }

type within struct {
	Models
	time time.Duration
}

func (w within) Call(ctx context.Context, ask llm.CallContext, r llm.Request) (llm.Answer, llm.Trace, error) {
	ask.Deadline = time.Now().Add(w.time)
	return w.Models.Call(ctx, ask, r)
}

// ModelAccess is how agents call language models. With the zero ModelAccess the
// built-in designer and assessor do all the work.
type ModelAccess struct {
	Models Models
	Allows func(resilience.Feature) error // says why a feature is shed now; nil sheds none
	Wait   bool                           // wait for a rate-limited model instead of falling back to the built-in designer
	Log    *slog.Logger                   // nil discards
}

// Prompts are files. A changed prompt gets the next number, which is stored with
// the result and tells which words an answer was given to.
//
//go:embed prompts/*.md
var prompts embed.FS

const (
	designPrompt = "design.v2"
	assessPrompt = "assess.v1"
)

func prompt(name string) string {
	text, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic("agent: the prompt " + name + " is not in the program") // seen by every test
	}
	return string(text)
}

// away says why no model can be asked for a feature; "" when one can.
func (m ModelAccess) away(f resilience.Feature) string {
	if m.Models == nil {
		return "no model is configured"
	}
	if m.Allows != nil {
		if err := m.Allows(f); err != nil {
			return err.Error()
		}
	}
	return ""
}

// missed tells that the program does by itself what a model was asked for.
func (m ModelAccess) missed(ctx context.Context, op ktrdr.OperationID, model, why string) {
	if m.Log != nil {
		m.Log.WarnContext(ctx, "fell back to the built-in designer or assessor", "op", op, "model", model, "why", why)
	}
}

// waits tells that an operation is given back until a model may be asked.
func (m ModelAccess) waits(ctx context.Context, op ktrdr.OperationID, l *worker.Later) {
	if m.Log != nil {
		m.Log.InfoContext(ctx, "operation waits for a model", "op", op, "wait", l.After.Round(time.Second), "why", l.Reason)
	}
}

// conversation prepares a conversation of a task with a model, within the budget of its
// research.
func (m ModelAccess) conversation(t *worker.Task, tools toolbox, agent, model string, b research.Budget) *conversation {
	return &conversation{task: t, access: m, tools: tools, ask: llm.CallContext{
		Operation: t.Operation, Epoch: t.Epoch, Agent: agent, Preferred: model, Research: ktrdr.MicroUSD(b.Limit * 1e6), Wait: m.Wait,
	}}
}
