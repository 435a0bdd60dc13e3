package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

type designRequest struct {
	Design     string `json:"design,omitempty" jsonschema:"id of a waiting design"`
	Strategy   string `json:"strategy,omitempty" jsonschema:"YAML"`
	Hypothesis string `json:"hypothesis,omitempty" jsonschema:"what it tests, in one sentence"`
	Notes      string `json:"notes,omitempty"`
}

// design lists the designs that wait for the assistant, or gives one its strategy.
func (s *Server) design(ctx context.Context, in designRequest, a *answer) error {
	if in == (designRequest{}) {
		return s.listDesigns(ctx, a)
	}
	if in.Design == "" || in.Strategy == "" {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "give the id of a design, a strategy and a hypothesis; or nothing, to list the designs that wait")
	}
	made, err := ask(ctx, s, api.SubmitDesign, research.DesignRequest{
		ID: ktrdr.OperationID(in.Design), Strategy: in.Strategy, Hypothesis: in.Hypothesis, Notes: in.Notes,
	})
	if err != nil {
		return err
	}
	a.line("%s has its strategy: %s. It is trained next.", made.Research, data(made.Name))
	for _, w := range made.Warnings {
		a.line("warning: %s", data(w))
	}
	a.handle(string(made.Research))
	return nil
}

const designsShown = 20

func (s *Server) listDesigns(ctx context.Context, a *answer) error {
	all, err := ask(ctx, s, api.Designs, api.None{})
	if err != nil {
		return err
	}
	a.line("%d designs wait.", len(all))
	rows := text.Map(all[:min(len(all), designsShown)], func(d research.WaitingDesign) []string {
		return []string{
			string(d.Operation), string(d.Research), d.Run, fmt.Sprint(d.Generation), fmt.Sprint(d.Index), fmt.Sprint(d.Seed),
			data(strings.Join(d.Symbols, " ")), strings.Join(d.Timeframes, " "), at(d.Until), data(d.Brief),
		}
	})
	a.table("design | research | run | generation | index | seed | symbols | timeframes | until | goal", rows)
	return nil
}

// waitingDesigns counts the designs that something among the handles waits for. It is
// asked on the way: a server that does not answer is no error here.
func (s *Server) waitingDesigns(ctx context.Context, handles handleStates) (n int) {
	open := map[string]bool{}
	for _, h := range handles {
		if !h.ended {
			open[h.handle] = true
		}
	}
	if len(open) == 0 {
		return 0
	}
	all, err := client.Call(ctx, s.Lab, api.Designs, api.None{})
	if err != nil {
		return 0
	}
	for _, d := range all {
		if open[d.Run] || open[string(d.Research)] {
			n++
		}
	}
	return n
}
