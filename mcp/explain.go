package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

type explainRequest struct {
	Research string `json:"research"`
}

// explain says why a research has its verdict: by its checks, and by what its rung
// means.
func (s *Server) explain(ctx context.Context, in explainRequest, a *answer) error {
	id := ktrdr.OperationID(in.Research)
	r, err := ask(ctx, s, api.GetResults, api.ResultsRequest{ByID: api.ByID{ID: id}})
	switch {
	case err != nil:
		return err
	case r.Type != ktrdr.AgentResearch:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s is of type %s and not a research", id, r.Type)
	case len(r.Results) == 0:
		return ktrdr.Errorf(ktrdr.CodeConflict, "%s is %s and has no verdict yet: call wait", id, r.Status)
	}
	var result research.Result
	if err := json.Unmarshal(r.Results, &result); err != nil {
		return fmt.Errorf("result of %s: %w", id, err)
	}
	said := standing(&r, &result)
	a.line("%s, strategy %s: %s", id, data(result.StrategyName), said)
	for _, g := range result.Gates {
		for _, reason := range g.Reasons {
			checkLine(a, g.Gate+" gate", reason)
		}
	}
	if err := s.assessment(ctx, id, a); err != nil {
		return err
	}
	lookLines(r.Looks, a)
	a.line("%s", rungs[said])
	if result.MadeUp != nil && *result.MadeUp {
		a.line("The prices are made up: nothing of this says anything about a real market.")
	}
	return nil
}

func checkLine(a *answer, of string, r evidence.Reason) {
	passed := "failed"
	if r.Passed {
		passed = "passed"
	}
	a.line("%s | %s | %s | value %s | limit %s | %s", of, r.Code, passed, number(r.Value), number(r.Limit), data(r.Text))
}

// assessment adds the checks of the test part, and what the assessor says.
func (s *Server) assessment(ctx context.Context, id ktrdr.OperationID, a *answer) error {
	children, err := ask(ctx, s, api.Children, api.ChildrenRequest{ByID: api.ByID{ID: id}, Page: api.Page{Limit: 100}})
	if err != nil {
		return err
	}
	for _, c := range children { // the newest first
		if c.Type != ktrdr.AgentAssessment || c.Status != ktrdr.Completed {
			continue
		}
		op, err := ask(ctx, s, api.GetOperation, api.ByID{ID: c.ID})
		if err != nil {
			return err
		}
		var v research.Assessment
		if err := json.Unmarshal(op.Result, &v); err != nil {
			return fmt.Errorf("result of %s: %w", c.ID, err)
		}
		for _, reason := range v.Reasons {
			checkLine(a, "test part", reason)
		}
		for _, part := range []struct {
			name  string
			texts []string
		}{{"strengths", v.Strengths}, {"weaknesses", v.Weaknesses}, {"suggestions", v.Suggestions}} {
			if len(part.texts) > 0 {
				a.line("%s: %s", part.name, listed(part.texts))
			}
		}
		return nil
	}
	return nil
}

// rungs say what a result means, by research.Standing.
var rungs = map[string]string{
	"claimed": "An edge is claimed: the adjusted p-value of the one look at the holdout is low enough, after costs and after every look " +
		"on this market. It does not say that the edge lasts, nor how large it is on new prices. Next: follow it on new bars.",
	"not confirmed": "It passed every check on the test part and failed on the holdout, which was opened once. That strategy is finished: " +
		"another look at it proves nothing. Next: another idea, or more data.",
	"being confirmed":      "It passed every check on the test part, and the look at the holdout runs now. Next: wait.",
	"finalist, not opened": "It passed every check on the test part. Another finalist of its generation was confirmed. It is no claim.",
	"finalist, fragile": "It passed every check on the test part. The walk-forward loses, or small changes of costs, timing, prices or " +
		"parameters undo it. Its holdout was not opened. It is no claim. Next: a simpler idea, or more data.",
	"finalist, examination failed": "It passed every check on the test part. Its examination ended with an error, so its holdout was not " +
		"opened. It is no claim. Next: read the error of the examination.",
	"no edge": "A check on the test part failed: what it earned is explained by luck, costs or holding. " +
		"The trial counts. Next: the suggestions, or another idea.",
	"gate rejected": "A gate stopped it before it was judged, as the failed checks say. The trial counts. Next: mend that.",
	"failed":        "It failed with an error and has no verdict. Next: control with action resume.",
	"cancelled":     "It was cancelled and has no verdict. Next: control with action resume.",
	"not ended":     "It has not ended. Next: wait.",
}
