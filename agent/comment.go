package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/worker"
)

// comment ends an assessment: as the program words it, or with a model's words
// where the research names one.
func (r assessmentRunner) comment(ctx context.Context, t *worker.Task, spec research.AssessmentSpec,
	final research.Assessment,
) (json.RawMessage, error) {
	final.Assessor = research.Builtin
	if spec.Model == research.Builtin {
		return json.Marshal(final)
	}
	if why := r.access.away(resilience.LLMAssessment); why != "" {
		final.Instead = why
		r.access.missed(ctx, t.Operation, spec.Model, why)
		return json.Marshal(final)
	}
	tools := &opinionTools{}
	message, err := figures(spec, final)
	if err != nil {
		return nil, err
	}
	k := r.access.conversation(t, tools, "assessor", spec.Model, spec.Budget)
	final.Instead, err = k.run(ctx, assessPrompt, message)
	switch {
	case err != nil:
		return nil, err
	case final.Instead != "":
		r.access.missed(ctx, t.Operation, spec.Model, final.Instead)
	default:
		tools.given.into(&final)
		final.Assessor, final.Prompt = k.answeredBy(), assessPrompt
	}
	final.Decisions = k.state.Decisions
	return json.Marshal(final)
}

func figures(spec research.AssessmentSpec, a research.Assessment) (string, error) {
	text, err := told(struct {
		Strategy   string                   `json:"strategy_name"`
		Hypothesis string                   `json:"hypothesis"`
		Gates      []research.GateResult    `json:"gates"`
		Training   research.TrainingFigures `json:"training"`
		Verdict    string                   `json:"verdict"`
		Summary    string                   `json:"summary"`
		Strengths  []string                 `json:"checks_passed"`
		Weaknesses []string                 `json:"checks_failed"`
	}{spec.Strategy, spec.Hypothesis, spec.Gates, spec.Training, string(a.Verdict), a.Summary, a.Strengths, a.Weaknesses})
	return "The research:\n" + toolText(text), err
}

type opinionTools struct{ given modelOpinion }

type modelOpinion struct {
	Strengths   []string              `json:"strengths"`
	Weaknesses  []string              `json:"weaknesses"`
	Suggestions []string              `json:"suggestions"`
	Hypotheses  []research.Hypothesis `json:"hypotheses"`
}

const opinionTool = "give_opinion"

const opinionSchema = `{"type":"object","properties":{` +
	`"strengths":{"type":"array","maxItems":4,"items":{"type":"string","maxLength":500}},` +
	`"weaknesses":{"type":"array","maxItems":4,"items":{"type":"string","maxLength":500}},` +
	`"suggestions":{"type":"array","maxItems":3,"items":{"type":"string","maxLength":500}},` +
	`"hypotheses":{"type":"array","maxItems":3,"items":{"type":"object","properties":{"text":{"type":"string","maxLength":500},` +
	`"rationale":{"type":"string","maxLength":500}},"required":["text","rationale"],"additionalProperties":false}}},` +
	`"required":["strengths","weaknesses","suggestions","hypotheses"],"additionalProperties":false}`

func (*opinionTools) list() []llm.Tool {
	return []llm.Tool{{
		Name: opinionTool, Description: "Say what the figures mean. This ends the work.",
		Schema: json.RawMessage(opinionSchema),
	}}
}

func (o *opinionTools) use(c llm.ToolCall) (string, bool, error) {
	if c.Name != opinionTool {
		return "", false, fmt.Errorf("there is no tool %.60q; there is %s", c.Name, opinionTool)
	}
	var in modelOpinion
	if err := strictly(c.Input, &in); err != nil {
		return "", false, err
	}
	if len(in.Strengths) > 4 || len(in.Weaknesses) > 4 || len(in.Suggestions) > most || len(in.Hypotheses) > most {
		return "", false, errors.New("that is more than was asked for: at most 4 strengths and weaknesses, 3 suggestions and hypotheses")
	}
	if err := in.bounded(); err != nil {
		return "", false, err
	}
	for i, h := range in.Hypotheses {
		if strings.TrimSpace(h.Text) == "" {
			return "", false, errors.New("a hypothesis has a text")
		}
		in.Hypotheses[i].Code = "" // that is the program's to say
	}
	o.given = in
	return "Thank you.", true, nil
}

func (m modelOpinion) bounded() (err error) {
	for _, text := range slices.Concat(m.Strengths, m.Weaknesses, m.Suggestions) {
		err = errors.Join(err, bounded("an item", text, maxSentence))
	}
	for _, h := range m.Hypotheses {
		err = errors.Join(err, bounded("the text of a hypothesis", h.Text, maxSentence), bounded("its rationale", h.Rationale, maxSentence))
	}
	return err
}

// into words an assessment. What the checks said stays beside what the model
// says of them.
func (m modelOpinion) into(a *research.Assessment) {
	a.Strengths = append(a.Strengths, m.Strengths...)
	a.Weaknesses = append(a.Weaknesses, m.Weaknesses...)
	a.Suggestions, a.Hypotheses = m.Suggestions, m.Hypotheses
}
