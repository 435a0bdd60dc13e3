package research

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestPlan_LetsNoAgentClaimWhatAnAssistantDesigns(t *testing.T) {
	spec := someSpec(t)
	spec.AssistantWait = 90
	tr := plant(t, spec)
	d := tr.ask(ktrdr.WhyCreated)
	if len(d.Create) != 1 || d.Create[0].Type != ktrdr.AgentDesign || d.Create[0].Delay != 90*time.Second {
		t.Fatalf("begins with %+v, want a design that waits", d.Create)
	}
	if !strings.Contains(d.Progress.CurrentStep, "assistant") {
		t.Errorf("its progress says %q", d.Progress.CurrentStep)
	}
	tr.die(ktrdr.Failed, ktrdr.CodeBackendRestart, "the backend died")
	if d := tr.ask(ktrdr.WhyChild); len(d.Create) != 1 || d.Create[0].Delay != 0 {
		t.Errorf("after the deadline it is restarted as %+v, want without a wait", d.Create)
	}
}

func TestPlan_ResumedWaitsForTheAssistantAgain(t *testing.T) {
	spec := someSpec(t)
	spec.AssistantWait = 90
	tr := plant(t, spec)
	tr.ask(ktrdr.WhyCreated)
	tr.die(ktrdr.Cancelled, ktrdr.CodeCancelled, "cancelled")
	if d := tr.ask(ktrdr.WhyResumed); len(d.Create) != 1 || len(d.Resume) != 0 || d.Create[0].Delay != 90*time.Second {
		t.Errorf("resumed with %+v, want another design that waits", d)
	}
}

func TestPlan_SaysThatTheBuiltInDesignerTookOver(t *testing.T) {
	spec := someSpec(t)
	spec.AssistantWait = 90
	tr := plant(t, spec)
	for range order {
		tr.ask(ktrdr.WhyChild)
		tr.complete(func(v any) {
			if d, ok := v.(*Design); ok {
				d.Instead = "no strategy came in time"
			}
		})
	}
	tr.ask(ktrdr.WhyChild)
	if r := tr.result(); len(r.Instead) != 1 || !strings.Contains(r.Summary, "instead of an assistant: no strategy came in time.") {
		t.Errorf("the result says %q", r.Summary)
	}
}

func TestRequest_SaysWhatIsWrongWithItsDesigner(t *testing.T) {
	for name, r := range map[string]Request{
		"an unknown designer":              {Count: 1, Designer: "person"},
		"a wait without a designer":        {Count: 1, DesignWait: 5},
		"a strategy that is given":         {Count: 1, Designer: ByAssistant, Strategy: "x"},
		"a text that is given":             {Count: 1, Designer: ByAssistant, StrategyYAML: "x"},
		"a wait of a month":                {Count: 1, Designer: ByAssistant, DesignWait: 30 * 24 * 3600},
		"a wait of a fraction of a second": {Count: 1, Designer: ByAssistant, DesignWait: 0.1},
	} {
		if err := r.check(); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	usual := Request{Count: 1, Designer: ByAssistant}
	if err := usual.check(); err != nil || usual.assistantWait() != 1800 {
		t.Errorf("%v, %v seconds, want half an hour", err, usual.assistantWait())
	}
}

// oneDesign is a store with a design that waits.
type oneDesign struct{ op ktrdr.Operation }

func (o *oneDesign) List(context.Context, ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	return ktrdr.OperationPage{Operations: []ktrdr.Operation{o.op}}, nil
}

func (o *oneDesign) Operation(context.Context, ktrdr.OperationID) (ktrdr.Operation, error) {
	return o.op, nil
}

func (o *oneDesign) Answer(_ context.Context, _ ktrdr.OperationID, result json.RawMessage) (ktrdr.Operation, error) {
	if o.op.Status != ktrdr.Pending {
		return o.op, ktrdr.Errorf(ktrdr.CodeConflict, "it is %s", o.op.Status)
	}
	o.op.Status, o.op.Result, o.op.NotBefore = ktrdr.Completed, result, time.Time{}
	return o.op, nil
}

func TestSubmitDesign_ChecksAnswersOnceAndRepeats(t *testing.T) {
	spec := someSpec(t)
	spec.AssistantWait = 90
	tr := plant(t, spec)
	d := tr.ask(ktrdr.WhyCreated)
	waiting := &oneDesign{ktrdr.Operation{
		ID: d.Create[0].ID, Type: ktrdr.AgentDesign, Status: ktrdr.Pending, Parent: "op_parent", Spec: d.Create[0].Spec,
		NotBefore: time.Now().Add(time.Minute),
	}}
	holdsAKey := func(texts ...string) bool { return strings.Contains(strings.Join(texts, ""), "sk-key") }
	desk := &Desk{DeskConfig{Designs: waiting, HoldsAKey: holdsAKey}}
	list, err := desk.WaitingDesigns(t.Context())
	if err != nil || len(list) != 1 || list[0].Operation != waiting.op.ID || list[0].Brief != spec.Brief || len(list[0].Symbols) == 0 {
		t.Fatalf("waiting: %+v, %v", list, err)
	}
	text, _ := simple(t)
	good := DesignRequest{ID: waiting.op.ID, Strategy: text, Hypothesis: "it works"}
	for name, change := range map[string]func(*DesignRequest){
		"no hypothesis": func(r *DesignRequest) { r.Hypothesis = " " },
		"long notes":    func(r *DesignRequest) { r.Notes = strings.Repeat("x", maxNotes+1) },
		"no strategy":   func(r *DesignRequest) { r.Strategy = "name: x" },
		"a key":         func(r *DesignRequest) { r.Notes = "sk-key" },
	} {
		bad := good
		change(&bad)
		if _, err := desk.SubmitDesign(t.Context(), bad); ktrdr.CodeOf(err) != ktrdr.CodeInvalid || waiting.op.Status != ktrdr.Pending {
			t.Errorf("%s: %v, %s", name, err, waiting.op.Status)
		}
	}
	for range 2 { // the second is a repeated request, whose answer was lost
		if out, err := desk.SubmitDesign(t.Context(), good); err != nil || out.Research != "op_parent" {
			t.Errorf("%+v, %v", out, err)
		}
	}
	design, err := resultOf[Design](&waiting.op)
	if err != nil || design.Designer != ByAssistant || design.Strategy != text {
		t.Errorf("the design: %+v, %v", design, err)
	}
	other := good
	other.Strategy = strings.Replace(text, "name: ", "name: other_", 1)
	if _, err := desk.SubmitDesign(t.Context(), other); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("a second strategy: %v", err)
	}
	if list, err := desk.WaitingDesigns(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("it waits although it was answered: %+v, %v", list, err)
	}
}
