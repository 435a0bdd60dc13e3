package httpapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// An assistant never sees a holdout. That holds here, for every route, and not in the
// tools that it uses:
//
//	guard ──▶ a route that assistants may not call is refused
//	serve ──▶ a request that would open a holdout is refused
//	      ──▶ an answer loses the figures of looks: the rung and the adjusted p stay

// assistantOf reads who makes a request.
func assistantOf(c *call) (api.Assistant, error) {
	given := c.Request.Header.Values(api.HeaderAssistant)
	if len(given) == 0 {
		return "", nil
	}
	if a := api.Assistant(given[0]); len(given) == 1 && slices.Contains(api.Assistants, a) {
		return a, nil
	}
	return "", malformed("the header %s is %q or %q", api.HeaderAssistant, api.AssistantSealed, api.AssistantOpens)
}

// admitAssistant refuses routes that tell more than an assistant may know. A token of
// an assistant makes the caller one, whatever the header says.
func (c *call) admitAssistant() (err error) {
	if c.assistant, err = assistantOf(c); err != nil {
		return err
	}
	if c.assistant != "" && !c.spec.AdmitsAssistants() {
		return ktrdr.Errorf(ktrdr.CodeForbidden, "an assistant may not call this route; a person can do it with the command line or on the page")
	}
	if c.token.Scope == ktrdr.ScopeAssistant {
		c.assistant = api.AssistantSealed
	}
	return nil
}

var errSealed = ktrdr.Errorf(ktrdr.CodeForbidden,
	"an assistant does not see a holdout: only its rung and adjusted p-value; a person can allow it with `ktrdr mcp --open-holdout`, "+
		"and then each holdout that is read is counted as a look")

// checkAssistant refuses a request of an assistant that would show it a holdout.
func (s *Server) checkAssistant(c *call, in any) error {
	opens := false
	switch r := in.(type) {
	case jobs.TrainingRequest:
		opens = r.OpenHoldout
	case jobs.BacktestRequest:
		opens = r.OpenHoldout
	case report.LeaderboardQuery:
		if r.Sort == report.SortHoldout {
			return ktrdr.Errorf(ktrdr.CodeForbidden, "an assistant may not sort by holdout: the order would tell which holdout was better")
		}
	case api.InputsRequest:
		return s.refuseOpened(c.Context(), r.ID)
	case api.ResultsRequest:
		if len(r.Include) == 0 || c.assistant == api.AssistantOpens {
			return nil
		}
		return s.refuseOpened(c.Context(), r.ID)
	}
	if opens && c.assistant != api.AssistantOpens {
		return errSealed
	}
	return s.checkData(c.Context(), in)
}

func (s *Server) refuseOpened(ctx context.Context, id ktrdr.OperationID) error {
	op, err := s.engine.Operation(ctx, id)
	if err != nil {
		return err
	}
	opened, err := s.opened(ctx, op)
	if err == nil && opened {
		err = errSealed
	}
	return err
}

// opened says whether an operation read bars of a holdout.
func (s *Server) opened(ctx context.Context, op ktrdr.Operation) (bool, error) {
	var spec struct {
		Opens json.RawMessage `json:"opens"`
	}
	if t := s.types[op.Type]; t.Look || t.Sealed || json.Unmarshal(op.Spec, &spec) == nil && len(spec.Opens) > 0 {
		return true, nil
	}
	return s.looked(ctx, op.ID)
}

// looked says whether an operation is a look.
func (s *Server) looked(ctx context.Context, id ktrdr.OperationID) (bool, error) {
	_, err := s.engine.LookOf(ctx, id)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// seal takes the figures of holdouts out of an answer, which it points to.
func (s *Server) seal(c *call, out any) error {
	ctx := c.Context()
	if err := sealImport(out); err != nil {
		return err
	}
	switch v := out.(type) {
	case *ktrdr.Operation:
		return s.sealOperation(ctx, v)
	case *[]api.OperationRow:
		for i := range *v {
			(*v)[i].Progress.Context = nil
		}
	case *api.Results:
		return s.sealResults(c, v)
	case *[]ktrdr.Look:
		for i := range *v {
			sealLook(&(*v)[i])
		}
	case *report.Leaderboard:
		sealLeaders(v.Rows)
	case *report.Report:
		sealLeaders(v.Claims)
		sealLeaders(v.Leaders)
	case *report.Compared:
		sealCompared(v)
	case *report.Search:
		for i := range v.Thresholds {
			sealLooks(v.Thresholds[i].Newest)
			v.Thresholds[i].Needed = nil // it follows from the standard error of a look
		}
	case *research.MemoryPage:
		for i := range v.Trials {
			if err := s.sealTrial(ctx, &v.Trials[i]); err != nil {
				return err
			}
		}
	case *research.ExperimentRow:
		if v.Steps != nil {
			v.Steps.Seal()
		}
		return s.sealTrial(ctx, v.Trial)
	case *[]jobs.TrainedModel:
		return s.sealModels(ctx, *v)
	}
	return nil
}

// sealedResult is what an assistant sees of the result of an operation that read a
// holdout.
type sealedResult struct {
	Sealed   string   `json:"sealed"` // why there is no more
	Strategy string   `json:"strategy_name,omitempty"`
	Claim    *bool    `json:"claim,omitempty"`
	Adjusted *float64 `json:"adjusted_p,omitempty"`
}

func (s *Server) sealOperation(ctx context.Context, op *ktrdr.Operation) error {
	opened, err := s.opened(ctx, *op)
	if err != nil || !opened {
		return err
	}
	op.Progress.Context, op.State = nil, nil
	if s.types[op.Type].Sealed {
		op.Spec = nil // it holds what an earlier step found
	}
	if len(op.Result) > 0 {
		op.Result, err = s.sealedResult(ctx, op.ID)
	}
	return err
}

func (s *Server) sealedResult(ctx context.Context, id ktrdr.OperationID) (json.RawMessage, error) {
	r := sealedResult{Sealed: "an assistant does not see the figures of a holdout"}
	look, err := s.engine.LookOf(ctx, id)
	switch {
	case err == nil:
		r.Strategy, r.Claim, r.Adjusted = look.Strategy, &look.Claim, look.Adjusted
	case ktrdr.CodeOf(err) != ktrdr.CodeNotFound:
		return nil, err
	}
	return json.Marshal(r)
}

// sealResults seals a result with its looks, or counts the reading as a look if a
// person allowed that.
func (s *Server) sealResults(c *call, r *api.Results) error {
	ctx := c.Context()
	op, err := s.engine.Operation(ctx, r.Operation)
	if err != nil {
		return err
	}
	if r.Ladder != nil {
		r.Ladder.Seal()
	}
	if c.assistant == api.AssistantOpens && !s.types[op.Type].Sealed {
		return s.countReading(ctx, r.Looks)
	}
	for i := range r.Looks {
		sealLook(&r.Looks[i])
	}
	opened, err := s.opened(ctx, op)
	if err != nil || !opened {
		return err
	}
	r.Artifacts = []api.Download{}
	if r.Trial != nil {
		sealFigures(r.Trial)
	}
	if len(r.Results) > 0 {
		r.Results, err = s.sealedResult(ctx, op.ID)
	}
	return err
}

// countReading counts what an assistant reads of confirmations as looks of their
// own, once for each: a later design on the market may have learned from it. A look
// by hand was counted when the operation was created.
func (s *Server) countReading(ctx context.Context, looks []ktrdr.Look) error {
	for i := range looks {
		l := &looks[i]
		if l.Kind != ktrdr.LookConfirmation || l.EndedAt.IsZero() {
			continue
		}
		n := ktrdr.NewLook{
			Kind: ktrdr.LookByHand, Research: l.Research, Strategy: l.Strategy, Spans: l.Spans, Key: "assistant/" + l.Key,
		}
		for _, m := range l.Markets {
			n.Markets = append(n.Markets, m.Market)
			if m.Holdout.After(n.Holdout) {
				n.Holdout = m.Holdout
			}
		}
		if _, err := s.engine.ReserveLook(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func sealLook(l *ktrdr.Look) { l.P, l.Result, l.Hash = nil, nil, ktrdr.Hash{} }

func sealLeaders(rows []report.Leader) {
	for i := range rows {
		rows[i].Holdout, rows[i].Since = nil, nil
		if l := rows[i].Ladder; l != nil {
			l.Seal()
		}
	}
}

func sealCompared(c *report.Compared) {
	sealLooks(c.Looks)
	for i := range c.Strategies {
		if l := c.Strategies[i].Look; l != nil {
			*l = sealedLook(l)
		}
	}
}

func sealLooks(looks []report.ComparedLook) {
	for i := range looks {
		looks[i] = sealedLook(&looks[i])
	}
}

// sealedLook is what an assistant sees of a look. It names what may be seen, so that
// a figure that is added later stays hidden.
func sealedLook(l *report.ComparedLook) report.ComparedLook {
	return report.ComparedLook{
		Operation: l.Operation, Research: l.Research, Strategy: l.Strategy, Kind: l.Kind, At: l.At,
		Number: l.Number, Counted: l.Counted, Adjusted: l.Adjusted, Claim: l.Claim, TestSharpe: l.TestSharpe,
	}
}

// sealTrial seals the figures of a trial by hand that read a holdout. Those of a
// research are of the test part.
func (s *Server) sealTrial(ctx context.Context, t *ktrdr.Trial) error {
	if t == nil || t.Type == ktrdr.AgentResearch {
		return nil
	}
	looked, err := s.looked(ctx, t.Operation)
	if err == nil && looked {
		sealFigures(t)
	}
	return err
}

func sealFigures(t *ktrdr.Trial) { t.TrialFigures = ktrdr.TrialFigures{Strategy: t.Strategy} }

func (s *Server) sealModels(ctx context.Context, models []jobs.TrainedModel) error {
	for i := range models {
		m := &models[i]
		looked, err := s.looked(ctx, m.Operation)
		if err != nil {
			return err
		}
		if looked {
			m.TestAccuracy, m.TestLoss, m.Baseline = nil, nil, nil
		}
	}
	return nil
}
