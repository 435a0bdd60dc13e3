package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

type memoryRequest struct {
	Kind string `json:"kind,omitempty" jsonschema:"experiments (default), hypotheses, suggestions or trials"`
	Text string `json:"text,omitempty" jsonschema:"only entries with this text"`
	Run  string `json:"run,omitempty"`
}

const (
	entriesRead  = 200 // of which those with the text are kept
	entriesShown = 10
)

func (s *Server) memory(ctx context.Context, in memoryRequest, a *answer) error {
	m, err := ask(ctx, s, api.Memory, research.MemoryQuery{Kind: in.Kind, Run: in.Run, Limit: entriesRead})
	if err != nil {
		return err
	}
	head, rows := memoryTable(&m)
	rows = having(rows, in.Text)
	a.line("%d of the newest %d %s have this text.", len(rows), entriesRead, m.Kind)
	a.table(head, rows[:min(len(rows), entriesShown)])
	return nil
}

// having keeps rows in which a text is.
func having(rows [][]string, part string) (kept [][]string) {
	for _, cells := range rows {
		if strings.Contains(strings.ToLower(strings.Join(cells, " ")), strings.ToLower(part)) {
			kept = append(kept, cells)
		}
	}
	return kept
}

// memoryTable is a page of memory as a table.
func memoryTable(m *research.MemoryPage) (head string, rows [][]string) {
	switch m.Kind {
	case "hypotheses":
		return "status | hypothesis | why | prices", text.Map(m.Hypotheses, func(h research.HypothesisRow) []string {
			return []string{string(h.Status), data(h.Text), data(h.Rationale), prices(h.MadeUp)}
		})
	case "suggestions":
		return "suggestion", text.Map(m.Suggestions, func(x research.Suggestion) []string { return []string{data(x.Text)} })
	case "trials":
		head = "operation | strategy | market | Sharpe, test part | return | result | adjusted p"
		return head, text.Map(m.Trials, func(t ktrdr.Trial) []string {
			return []string{
				string(t.Operation), data(t.Strategy), data(t.Symbols + " " + t.Timeframes), number(t.Sharpe), percent(t.NetReturn),
				research.Standing(&t), number(t.Adjusted),
			}
		})
	}
	head = "research | strategy | Sharpe, test part | deflated | return | trades | result | summary"
	return head, text.Map(m.Experiments, func(e research.ExperimentRow) []string {
		return []string{
			string(e.Operation), data(e.Strategy), number(e.TestSharpe), number(e.Deflated), percent(e.NetReturn), fmt.Sprint(e.Trades),
			e.Standing, data(strings.TrimSpace(e.Summary + " " + e.GateReason + " " + e.Error)),
		}
	})
}
