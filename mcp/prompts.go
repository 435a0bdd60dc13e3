package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const overnight = `Research overnight with the ktrdr tools. The goal: %GOAL%

1. Read the resource ktrdr://skill. Call look at data; if there are no prices, ask the person for a file and call import_prices.
2. Call memory to see what was tried. Call research with dry_run, and tell the person what is understood and how many trials it adds.
3. Call research with the goal and hours, and keep the handle of the run. Call wait now and then. Nothing is lost if you stop.
4. In the morning call results of the run and explain of its best researches.
Report trials, looks and rungs as they are. No result but "claimed" is an edge.`

const morning = `Explain what happened in the lab since yesterday evening.

1. Call look at status and look at leaderboard. Call results of each run that ended.
2. Call explain for every claim, and for the best research that claims nothing.
3. Say in plain words: what was tried, how many trials and looks are counted, what is claimed, what is not, and what failed.
A high Sharpe ratio on the test part is no edge: the best of many trials always looks good.`

// addPrompts adds what a person can ask for by name.
func (s *Server) addPrompts(p *sdk.Server) {
	p.AddPrompt(&sdk.Prompt{
		Name: "research_overnight", Title: "Research overnight", Description: "Research a goal until the morning",
		Arguments: []*sdk.PromptArgument{{Name: "goal", Description: "what to look for, in words", Required: true}},
	}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return prompt(strings.Replace(overnight, "%GOAL%", longData(r.Params.Arguments["goal"]), 1)), nil
	})
	p.AddPrompt(&sdk.Prompt{
		Name: "explain_this_morning", Title: "Explain this morning", Description: "What the night found, and what it means",
	}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return prompt(morning), nil
	})
}

func prompt(text string) *sdk.GetPromptResult {
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}
}
