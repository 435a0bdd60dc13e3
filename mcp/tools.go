package mcp

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTools adds the tools. Their descriptions are paid for with every request of the
// assistant: there are at most 12, and a test bounds their size.
func (s *Server) addTools(p *sdk.Server) {
	add(p, "look", "What the lab has: data, indicators, grammar, example, strategies, models, leaderboard, status", reads, s.look)
	add(p, "import_prices", "Import a CSV of prices: its content, or the name of a file in the lab's data folder. Returns a handle",
		changes, s.importPrices)
	add(p, "validate", "Check a strategy (YAML): problems with line and column. Stores nothing", reads, s.validate)
	add(p, "research", "Design, train, backtest and judge strategies for a goal. Every trial is counted. Returns the handle of a run. "+
		"With designer assistant you give the strategies: see design", changes, s.research)
	add(p, "train_or_backtest", "Train a strategy, or backtest the model of a training. Counted as a trial. Returns a handle",
		changes, s.train)
	add(p, "design", "Without arguments: the designs that wait for a strategy of yours. With all: give it", changes, s.design)
	add(p, "wait", "Wait until handles have ended, or one waits for a design. Call it again until they have", reads, s.wait)
	add(p, "results", "Result of a handle as a small table, with links to the HTML report, the curve (SVG) and the strategy (YAML)",
		reads, s.results)
	add(p, "compare", "2 to 5 researches side by side", reads, s.compare)
	add(p, "explain", "Why a research has its verdict: checks, rung, what the rung says and does not say, what comes next", reads, s.explain)
	add(p, "memory", "Search what earlier researches left", reads, s.memory)
	add(p, "control", "Cancel a run or an operation, or resume an operation that failed or was cancelled", changes, s.control)
}

// access says whether a tool changes something.
type access bool

const (
	reads   access = true
	changes access = false
)

// add adds a tool. Its answer is text with links, so that it has no schema.
func add[In any](p *sdk.Server, name, about string, a access, do func(context.Context, In, *answer) error) {
	tool := &sdk.Tool{Name: name, Description: about}
	if a == reads {
		tool.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
	}
	sdk.AddTool(p, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		var a answer
		if err := do(ctx, in, &a); err != nil {
			return nil, nil, errors.New(longData(err.Error())) // it may quote names and texts of files, users and models
		}
		return a.result(), nil, nil
	})
}
