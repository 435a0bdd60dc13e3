package httpapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// A copy of a series in a market of its own would make its holdout research data, and
// would have no trials and no looks. A dry run that judges bars with those of the lab can
// be repeated until what it finds encloses a price of the holdout.
func TestAssistant_DecidesNoMarketAndNoHoldout(t *testing.T) {
	desk := &fakeDesk{}
	s := serve(t, &fakeEngine{}, func(c *Config) { c.Desk = desk }).server
	for _, as := range api.Assistants {
		c := &call{Request: mustRequest(t), assistant: as}
		for _, in := range []jobs.DataLoadRequest{
			{NewMarket: true},
			{SameMarketAs: "EURUSD"},
			{Divide: 10},
			{Zone: "Asia/Tokyo"},
			{Mode: "append", DryRun: true},
			{Mode: "replace", DryRun: true},
		} {
			if err := s.checkAssistant(c, in); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
				t.Errorf("%+v: %v", in, err)
			}
		}
		for _, dry := range []bool{false, true} {
			if err := s.checkAssistant(c, research.Request{HoldoutFrom: "2024-01-01", DryRun: dry}); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
				t.Errorf("a new holdout: %v", err)
			}
		}
	}
	if len(desk.fixed) > 0 {
		t.Errorf("a request that was refused fixed %q", desk.fixed)
	}
}

// Where a holdout begins is fixed before an assistant sees a bar or adds some.
func TestAssistant_MovesNoHoldout(t *testing.T) {
	desk := &fakeDesk{}
	s := serve(t, &fakeEngine{}, func(c *Config) { c.Desk = desk }).server
	c := &call{Request: mustRequest(t), assistant: api.AssistantSealed}
	series := api.SeriesRequest{Symbol: "EURUSD", Timeframe: "1h"}
	for _, in := range []any{
		api.BarsRequest{SeriesRequest: series},
		series,
		jobs.DataLoadRequest{Path: "x.csv", DryRun: true},
		jobs.DataLoadRequest{Path: "x.csv", Mode: "append"},
	} {
		if err := s.checkAssistant(c, in); err != nil {
			t.Errorf("%T: %v", in, err)
		}
	}
	if want := []string{"EURUSD", "EURUSD", ""}; !slices.Equal(desk.fixed, want) {
		t.Errorf("fixed %q, want %q", desk.fixed, want)
	}
}

// Rows of a file that are wrong may be of its holdout, and how like two series are
// tells a bar that was guessed.
func TestSeal_AnImportTellsNoPrice(t *testing.T) {
	const (
		refused = "a.csv has 1 finding\n  a.csv:2752: ohlc-inconsistent: open 1.05835 and close 1.06012 lie outside"
		alike   = "same market as EURUSD 1h: returns correlate 0.9731 over 2,999 shared 1h returns"
	)
	told := jobs.SeriesInfo{Findings: []quality.ContentFinding{
		{Rule: quality.Spike, Text: "the close is 1.05835"},
		{Rule: quality.LevelJump, Text: "it is in the holdout", Sealed: true},
	}}
	result, err := json.Marshal(jobs.LoadResult{
		Entry: told, Replaced: &told,
		Summary: "3 bars; " + alike, Reason: alike, Question: alike, Refused: refused,
		Report: market.DataReport{Findings: []market.Finding{{Source: "a.csv", Line: 2752, Rule: market.Inconsistent, Value: "open 1.05835"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	failure := &ktrdr.Failure{Code: ktrdr.CodeInvalid, Chain: []string{"import: " + refused, refused}}
	s := serve(t, &fakeEngine{
		operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
			return ktrdr.Operation{ID: id, Type: ktrdr.DataLoad}, nil
		},
		lookOf: func(ktrdr.OperationID) (ktrdr.Look, error) {
			return ktrdr.Look{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no look")
		},
	}).server
	c := &call{Request: mustRequest(t), assistant: api.AssistantSealed}
	for name, answer := range map[string]any{
		"operation":          &ktrdr.Operation{Type: ktrdr.DataLoad, ErrorMessage: refused, Error: failure, Result: result},
		"results":            &api.Results{Type: ktrdr.DataLoad, ErrorMessage: refused, Error: failure, Results: result},
		"rows":               &[]api.OperationRow{{Type: ktrdr.DataLoad, ErrorMessage: refused}},
		"fetch":              &ktrdr.Operation{Type: ktrdr.DataFetch, ErrorMessage: refused, Error: failure, Result: result},
		"results of a fetch": &api.Results{Type: ktrdr.DataFetch, ErrorMessage: refused, Error: failure, Results: result},
		"rows of fetches":    &[]api.OperationRow{{Type: ktrdr.DataFetch, ErrorMessage: refused}},
		"report":             &report.Report{Failures: []report.FailureReason{{Reason: refused}}},
		"series":             &[]jobs.LibrarySeries{{MarketReason: alike, MarketQuestion: alike, Findings: slices.Clone(told.Findings[1:])}},
	} {
		if err := s.seal(c, answer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "1.0") || strings.Contains(string(text), "0.97") {
			t.Errorf("%s shows a price: %s", name, text)
		}
		if strings.Contains(string(text), string(quality.LevelJump)) {
			t.Errorf("%s tells a finding in the holdout: %s", name, text)
		}
		if name != "series" && !strings.Contains(string(text), "a.csv:2752: ohlc-inconsistent") {
			t.Errorf("%s does not say which row is wrong: %s", name, text)
		}
	}
}

// The order of rows by their holdouts tells figures of them.
func TestAssistant_SortsByNoHoldout(t *testing.T) {
	s := serve(t, &fakeEngine{}).server
	for _, as := range api.Assistants {
		c := &call{Request: mustRequest(t), assistant: as}
		for sort, want := range map[report.LeaderSort]ktrdr.Code{"rank": "", "sharpe": "", report.SortHoldout: ktrdr.CodeForbidden} {
			if got := ktrdr.CodeOf(s.checkAssistant(c, report.LeaderboardQuery{Sort: sort})); got != want {
				t.Errorf("%s, sort %s: %q, want %q", as, sort, got, want)
			}
		}
	}
}
