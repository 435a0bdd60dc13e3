package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/llm"
)

// This file answers about one research.

// one returns a research; CodeInvalid if the id is that of something else.
func (d researchDesk) one(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	op, err := d.engine.Operation(ctx, id)
	if err == nil && op.Type != ktrdr.AgentResearch {
		err = ktrdr.Errorf(ktrdr.CodeInvalid, "%s is no research but %s; `ktrdr memory` lists what is remembered", id, op.Type)
	}
	return op, err
}

// Experiment implements httpapi.Research. Of a research that failed and was
// resumed the newest note counts.
func (d researchDesk) Experiment(ctx context.Context, id ktrdr.OperationID) (httpapi.Experiment, error) {
	op, err := d.one(ctx, id)
	if err != nil {
		return httpapi.Experiment{}, err
	}
	records, _, err := d.memory.Records(ctx, ktrdr.NoteQuery{Operation: id, Limit: 1})
	if err != nil {
		return httpapi.Experiment{}, err
	}
	if len(records) == 0 {
		return httpapi.Experiment{}, ktrdr.Errorf(ktrdr.CodeNotFound, "nothing is remembered of %s: it is %s", id, op.Status)
	}
	list, err := d.experiments(ctx, records)
	if err != nil {
		return httpapi.Experiment{}, err
	}
	e := list[0]
	if e.Note, err = json.Marshal(records[0].Experiment); err != nil {
		return e, fmt.Errorf("experiment %s: %w", id, err)
	}
	return e, nil
}

// mostCalls bounds how many calls of a research are read: a talk has at most a few
// dozen.
const mostCalls = 1000

// Conversation implements httpapi.Research.
func (d researchDesk) Conversation(ctx context.Context, id ktrdr.OperationID) (httpapi.Conversation, error) {
	out := httpapi.Conversation{Operation: id}
	if _, err := d.one(ctx, id); err != nil {
		return out, err
	}
	calls, err := d.calls.Calls(ctx, id, mostCalls)
	if err != nil {
		return out, err
	}
	children, err := d.engine.List(ctx, ktrdr.OperationQuery{Parent: id, Brief: true, Sort: ktrdr.Oldest, Limit: 1000})
	if err != nil {
		return out, err
	}
	for _, child := range children.Operations {
		own := slices.DeleteFunc(slices.Clone(calls), func(c ktrdr.Call) bool { return c.Operation != child.ID })
		if len(own) == 0 {
			continue
		}
		c, err := d.engine.CheckpointAt(ctx, child.ID, "")
		if code := ktrdr.CodeOf(err); err != nil && code != ktrdr.CodeNotFound && code != ktrdr.CodeNoCheckpoint {
			return out, err
		}
		out.Talks = append(out.Talks, talkOf(child, own, calls, c.State))
	}
	return out, nil
}

// talkOf puts a talk into the API's words. An answer may have been bought by an
// earlier attempt of the research, so that all calls are searched for the last.
func talkOf(child ktrdr.Operation, own, all []ktrdr.Call, state json.RawMessage) httpapi.Talk {
	t := httpapi.Talk{Operation: child.ID, Type: child.Type, Models: []string{}, Turns: []httpapi.Turn{}}
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
	said := agent.ReadTranscript(state, answers)
	t.Prompt, t.Whole = said.Prompt, said.Whole
	if said.System != "" {
		t.Turns = append(t.Turns, httpapi.Turn{Role: "system", Text: said.System})
	}
	for _, m := range said.Messages {
		for _, p := range m.Parts {
			t.Turns = append(t.Turns, turnOf(m.Role, p))
		}
	}
	return t
}

func turnOf(role llm.Role, p llm.Part) httpapi.Turn {
	switch {
	case p.Call != nil:
		return httpapi.Turn{Role: string(role), Tool: p.Call.Name, Input: p.Call.Input}
	case p.Result != nil:
		return httpapi.Turn{Role: "tool", Text: p.Result.Text, Error: p.Result.Error}
	}
	return httpapi.Turn{Role: string(role), Text: p.Text}
}
