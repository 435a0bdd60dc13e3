package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// Blobs, files, checkpoints and events tell what was read and written, and tokens,
// breakers and settings are for people.
func TestAssistant_MayNotCallRoutesThatTellMore(t *testing.T) {
	for _, sp := range []api.Spec{
		api.GetBlob.Spec, api.File.Spec, api.GetCheckpoint.Spec, api.Events.Spec, api.OperationEvents.Spec, api.Predict.Spec, api.Retry.Spec,
		api.CreateToken.Spec, api.Tokens.Spec, api.ResetBreaker.Spec, api.DeleteSeries.Spec, api.GetThread.Spec, api.DecideMarket.Spec,
		api.StartDummy.Spec, api.Heartbeat.Spec,
	} {
		if sp.AdmitsAssistants() {
			t.Errorf("an assistant may call %s", sp.Pattern())
		}
	}
	s := serve(t, &fakeEngine{})
	as := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(api.HeaderAssistant, value) }
	}
	if a := s.send(t, http.MethodGet, "/api/v1/events", "", as("sealed")); a.status != http.StatusForbidden {
		t.Errorf("%d: %s", a.status, a.body)
	}
	if a := s.send(t, http.MethodGet, "/api/v1/operations", "", as("yes")); a.status != http.StatusBadRequest {
		t.Errorf("an unknown value of the header: %d: %s", a.status, a.body)
	}
}

// A token of an assistant makes its caller one, whatever the caller says.
func TestAssistant_IsKnownByItsToken(t *testing.T) {
	for _, sp := range api.Table() {
		if sp.Admits(ktrdr.ScopeAssistant) != sp.AdmitsAssistants() {
			t.Errorf("%s: the scope and the list differ", sp.Pattern())
		}
	}
	secret, token := NewToken("assistant", ktrdr.ScopeAssistant)
	engine := &fakeEngine{looks: func(ktrdr.LookQuery) (ktrdr.LookPage, error) {
		return ktrdr.LookPage{Looks: []ktrdr.Look{{LookResult: ktrdr.LookResult{P: new(figure)}}}}, nil
	}}
	s := serve(t, engine)
	engine.tokens = append(engine.tokens, token)
	for _, header := range []string{"", "open-holdout"} {
		by := func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+secret.Reveal())
			if header != "" {
				r.Header.Set(api.HeaderAssistant, header)
			}
		}
		if a := s.send(t, http.MethodGet, "/api/v1/looks", "", by); a.status != http.StatusOK || strings.Contains(string(a.body), "0.1234") {
			t.Errorf("looks: %d %s", a.status, a.body)
		}
		if a := s.send(t, http.MethodGet, "/api/v1/events", "", by); a.status != http.StatusForbidden {
			t.Errorf("events: %d %s", a.status, a.body)
		}
	}
}

func (f *fakeEngine) ReserveLook(_ context.Context, l ktrdr.NewLook) (ktrdr.Look, error) {
	return f.reserve(l)
}

// figure is one that must be in no answer.
const figure = 0.123456789

func TestSeal_LeavesTheAdjustedPAndNoFigure(t *testing.T) {
	f, adjusted := new(figure), new(0.04)
	result := json.RawMessage(`{"look":{"holdout":{"sharpe":0.123456789}}}`)
	look := func() ktrdr.Look {
		return ktrdr.Look{
			Key: "k", Kind: ktrdr.LookConfirmation, Markets: []ktrdr.LookMarket{{Market: "m", Number: 1}}, EndedAt: time.Now(),
			LookResult: ktrdr.LookResult{P: f, Adjusted: adjusted, Claim: true, Result: result},
		}
	}
	engine := &fakeEngine{
		operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
			return ktrdr.Operation{ID: id, Type: ktrdr.AgentConfirm, Result: result}, nil
		},
		lookOf: func(ktrdr.OperationID) (ktrdr.Look, error) { return look(), nil },
	}
	s := serve(t, engine).server
	c := &call{Request: mustRequest(t), assistant: api.AssistantSealed}
	hidden := &report.ComparedLook{
		P: f, Adjusted: adjusted, Sharpe: f, StandardError: f, Needed: f, Return: f, BuyAndHold: f, Returns: []jobs.Point{{Value: figure}},
	}
	leaders := func() []report.Leader { // sealing one answer must not seal another
		return []report.Leader{{
			Trial: ktrdr.Trial{Adjusted: adjusted}, Holdout: &report.Holdout{Sharpe: f, Low: f, High: f, Shrunk: f},
			Since: &ktrdr.ClaimLife{E: figure},
			Ladder: &research.Ladder{Rung: "living", Rungs: []research.LadderRung{
				{Rung: "confirmed", P: adjusted, Next: "0.123456 more years"}, {Rung: "living", Reached: true, EValue: f},
			}},
		}}
	}
	trial := ktrdr.Trial{
		Type: ktrdr.Backtesting, Adjusted: adjusted, TrialFigures: ktrdr.TrialFigures{Sharpe: f, NetReturn: f, MaxDrawdown: f},
	}
	for name, answer := range map[string]any{
		"operation": &ktrdr.Operation{
			ID: "op_x", Type: ktrdr.AgentConfirm, Result: result, State: result, Progress: ktrdr.Progress{Context: result},
		},
		"results":     &api.Results{Operation: "op_x", Results: result, Looks: []ktrdr.Look{look()}, Trial: &trial},
		"looks":       &[]ktrdr.Look{look()},
		"rows":        &[]api.OperationRow{{Progress: api.RowProgress{Context: result, CurrentStep: "0.04"}}},
		"leaderboard": &report.Leaderboard{Rows: leaders()},
		"report":      &report.Report{Claims: leaders(), Leaders: leaders()},
		"comparison":  &report.Compared{Looks: []report.ComparedLook{*hidden}, Strategies: []report.ComparedStrategy{{Look: hidden}}},
	} {
		if err := s.seal(c, answer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "0.123456") {
			t.Errorf("%s shows a figure of the holdout: %s", name, text)
		}
		if !strings.Contains(string(text), "0.04") {
			t.Errorf("%s has lost the adjusted p: %s", name, text)
		}
	}
}

// What a person allows an assistant to read of a confirmation is a look of its own.
func TestAssistant_ThatReadsAHoldoutIsCountedAsALook(t *testing.T) {
	var reserved []ktrdr.NewLook
	engine := &fakeEngine{
		operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
			return ktrdr.Operation{ID: id, Type: ktrdr.AgentResearch}, nil
		},
		reserve: func(l ktrdr.NewLook) (ktrdr.Look, error) {
			reserved = append(reserved, l)
			return ktrdr.Look{}, nil
		},
	}
	s := serve(t, engine).server
	c := &call{Request: mustRequest(t), assistant: api.AssistantOpens}
	looks := []ktrdr.Look{
		{
			Key: "a", Kind: ktrdr.LookConfirmation, Research: "op_r", EndedAt: time.Now(),
			Markets: []ktrdr.LookMarket{{Market: "m", Number: 1, Holdout: time.Unix(1e9, 0)}},
		},
		{Key: "b", Kind: ktrdr.LookConfirmation, Markets: []ktrdr.LookMarket{{Market: "m", Number: 2}}}, // has shown nothing yet
		{Key: "c", Kind: ktrdr.LookByHand, Markets: []ktrdr.LookMarket{{Market: "m", Number: 3}}, EndedAt: time.Now()},
	}
	if err := s.seal(c, &api.Results{Operation: "op_r", Looks: looks}); err != nil {
		t.Fatal(err)
	}
	if len(reserved) != 1 || reserved[0].Key != "assistant/a" || reserved[0].Research != "op_r" || len(reserved[0].Markets) != 1 ||
		!reserved[0].Holdout.Equal(time.Unix(1e9, 0)) {
		t.Errorf("reserved %+v, want one look at a", reserved)
	}
}

func TestAssistant_OpensNoHoldoutByItself(t *testing.T) {
	s := serve(t, &fakeEngine{}).server
	c := &call{Request: mustRequest(t), assistant: api.AssistantSealed}
	for _, in := range []any{jobs.TrainingRequest{OpenHoldout: true}, jobs.BacktestRequest{OpenHoldout: true}} {
		if err := s.checkAssistant(c, in); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
			t.Errorf("%T: %v", in, err)
		}
	}
	c.assistant = api.AssistantOpens
	if err := s.checkAssistant(c, jobs.BacktestRequest{OpenHoldout: true}); err != nil {
		t.Errorf("allowed by a person, and refused: %v", err)
	}
}

func mustRequest(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What the bars after a claim have shown is told to no assistant, also not to one that a person
// allowed to open holdouts.
func TestAssistant_IsToldNothingOfWhatCameAfterAClaim(t *testing.T) {
	text := json.RawMessage(`{"e_value":0.123456789}`)
	step := func() *ktrdr.Operation {
		return &ktrdr.Operation{ID: "op_claim_step_1", Type: ktrdr.ClaimStep, Spec: text, Result: text, Progress: ktrdr.Progress{Context: text}}
	}
	s := serve(t, &fakeEngine{
		operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return *step(), nil },
		lookOf: func(ktrdr.OperationID) (ktrdr.Look, error) {
			return ktrdr.Look{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no look")
		},
	}).server
	for _, as := range api.Assistants {
		c := &call{Request: mustRequest(t), assistant: as}
		for name, answer := range map[string]any{
			"operation": step(), "results": &api.Results{Operation: "op_claim_step_1", Results: text},
			"ladder": &api.Results{Operation: "op_claim_step_1", Ladder: &research.Ladder{Rung: "living", Rungs: []research.LadderRung{
				{Rung: "living", Reached: true, EValue: new(figure)},
			}}},
			"memory": &research.ExperimentRow{Steps: &research.Ladder{Rung: "living", Rungs: []research.LadderRung{
				{Rung: "living", Reached: true, EValue: new(figure)},
			}}},
		} {
			if err := s.seal(c, answer); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if out, err := json.Marshal(answer); err != nil || strings.Contains(string(out), "0.123456") {
				t.Errorf("%s, %s shows what came after a claim: %s %v", as, name, out, err)
			}
		}
		if api.LivingClaims.AdmitsAssistants() {
			t.Error("an assistant may list the claims")
		}
	}
}
