package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// verdictOn reads the verdict on a research that has one: the result of its newest
// assessment. It is nil for other operations, and on later pages.
func verdictOn(ctx context.Context, c *client.Client, r api.Results, cursor string) (*research.Assessment, error) {
	if r.Type != ktrdr.AgentResearch || r.Status != ktrdr.Completed || cursor != "" {
		return nil, nil //nolint:nilnil // there is none
	}
	page, err := c.List(ctx, ktrdr.OperationQuery{
		Parent: r.Operation, Type: []ktrdr.Type{ktrdr.AgentAssessment}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1,
	})
	if err != nil || len(page.Operations) == 0 {
		return nil, err
	}
	op, err := c.Operation(ctx, page.Operations[0].ID)
	if err != nil {
		return nil, err
	}
	var a research.Assessment
	if json.Unmarshal(op.Result, &a) != nil { // of another version
		return nil, nil //nolint:nilerr,nilnil // the summary says what it came to
	}
	return &a, nil
}

// printVerdict prints every check, those that failed first, and what to try next.
func printVerdict(w io.Writer, p palette, a *research.Assessment) {
	if a == nil {
		return
	}
	failed := 0
	for _, r := range a.Reasons {
		if !r.Passed {
			failed++
		}
	}
	fmt.Fprintf(w, "Verdict: %s, %d of %s failed%s\n", a.Verdict, failed, text.Counted(len(a.Reasons), "check"), ofMadeUp("", a.MadeUp))
	for _, passed := range []bool{false, true} {
		for _, r := range a.Reasons {
			switch {
			case r.Passed != passed:
			case passed:
				fmt.Fprintf(w, "  %s %s\n", p.good("✔"), plain(r.Text))
			default:
				fmt.Fprintf(w, "  %s %s\n", p.bad("✗"), plain(r.Text))
			}
		}
	}
	for _, s := range a.Suggestions {
		fmt.Fprintf(w, "  try: %s\n", plain(s))
	}
}
