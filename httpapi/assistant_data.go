package httpapi

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// What an assistant may do with prices, and what it is told about them:
//
//	it reads bars of a symbol ──▶ the holdouts of the symbol keep the start that they have now
//	it imports bars           ──▶ the same for all markets: bars that it adds move no holdout
//	it tries an import        ──▶ its bars are judged alone: a guess that fits would tell a price
//	it starts a research      ──▶ on the holdout that there is
//	the result of an import   ──▶ no price, and no number that tells how similar two series are
//
// A person decides markets and time zones: a copy in a market of its own has no trials
// and no looks, and a copy with earlier times has bars of the holdout before its start.

// checkData refuses a request of an assistant that would make a holdout research data.
func (s *Server) checkData(ctx context.Context, in any) error {
	switch r := in.(type) {
	case research.Request:
		if r.HoldoutFrom != "" {
			return ktrdr.Errorf(ktrdr.CodeForbidden, "an assistant may not send holdout_from: it makes the old holdout research data; "+
				"a person can do it with `ktrdr research --holdout-from`")
		}
	case api.BarsRequest:
		return s.desk.FixHoldouts(ctx, r.Symbol)
	case api.SeriesRequest:
		return s.desk.FixHoldouts(ctx, r.Symbol)
	case jobs.DataLoadRequest:
		if r.NewMarket || r.SameMarketAs != "" || r.Divide != 0 || r.Zone != "" || r.Dates != "" || r.Decimal != "" || r.Adjusted {
			return ktrdr.Errorf(ktrdr.CodeForbidden, "an assistant may not send new_market, same_market_as, divide, zone, dates, decimal "+
				"or adjusted: "+
				"they decide the market of the prices and when they were, and so the holdout; a person can do it with `ktrdr data import`")
		}
		if r.DryRun && r.Mode != "" {
			return ktrdr.Errorf(ktrdr.CodeForbidden, "an assistant may not send mode with dry_run: the findings would tell whether guessed "+
				"prices are close to those of the holdout; a person can do it with `ktrdr data import --dry-run`")
		}
		if r.DryRun {
			return nil // it adds no bars, and is judged without those of the lab
		}
		return s.desk.FixHoldouts(ctx, "")
	}
	return nil
}

var (
	aFinding    = regexp.MustCompile(`(:\d+: [a-z-]+): [^\n]*`)
	correlation = regexp.MustCompile(`correlate -?[0-9.]+`)
)

// withoutPrices is a text about an import for an assistant: a finding is where it is
// and its rule; of similar series it says that they correlate, and not how much.
func withoutPrices(said string) string {
	return correlation.ReplaceAllString(aFinding.ReplaceAllString(said, "$1"), "correlate")
}

// failureWithoutPrices is a copy of a failure of an import for an assistant.
func failureWithoutPrices(f *ktrdr.Failure) *ktrdr.Failure {
	if f == nil {
		return nil
	}
	sealed := *f
	sealed.Chain = text.Map(f.Chain, withoutPrices)
	return &sealed
}

// importWithoutPrices is the result of an import for an assistant.
func importWithoutPrices(result json.RawMessage) (json.RawMessage, error) {
	var r jobs.LoadResult
	if len(result) == 0 {
		return result, nil
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, err
	}
	for _, said := range []*string{&r.Summary, &r.Reason, &r.Question, &r.Refused} {
		*said = withoutPrices(*said)
	}
	for i := range r.Report.Findings {
		r.Report.Findings[i].Value = ""
	}
	ruleOnly(&r.Entry)
	if r.Replaced != nil {
		ruleOnly(r.Replaced)
	}
	return json.Marshal(r)
}

// ruleOnly leaves the rules of the findings about a series, without their prices.
func ruleOnly(e *jobs.SeriesInfo) {
	e.Findings = jobs.FindingsBeforeHoldout(e.Findings)
	for i := range e.Findings {
		e.Findings[i].Text = string(e.Findings[i].Rule)
	}
}

// brings tells whether operations of a type bring prices into the lab.
func brings(t ktrdr.Type) bool { return t == ktrdr.DataLoad || t == ktrdr.DataFetch }

// sealImport takes prices out of an answer about imports or series.
func sealImport(out any) (err error) {
	switch v := out.(type) {
	case *ktrdr.Operation:
		if brings(v.Type) {
			v.ErrorMessage, v.Error = withoutPrices(v.ErrorMessage), failureWithoutPrices(v.Error)
			v.Result, err = importWithoutPrices(v.Result)
		}
	case *api.Results:
		if brings(v.Type) {
			v.ErrorMessage, v.Error = withoutPrices(v.ErrorMessage), failureWithoutPrices(v.Error)
			v.Results, err = importWithoutPrices(v.Results)
		}
	case *[]api.OperationRow:
		for i := range *v {
			if r := &(*v)[i]; brings(r.Type) {
				r.ErrorMessage = withoutPrices(r.ErrorMessage)
			}
		}
	case *report.Report:
		for i := range v.Failures {
			v.Failures[i].Reason = withoutPrices(v.Failures[i].Reason)
		}
	case *[]jobs.LibrarySeries:
		for i := range *v {
			r := &(*v)[i]
			r.MarketReason, r.MarketQuestion = withoutPrices(r.MarketReason), withoutPrices(r.MarketQuestion)
			r.Findings = jobs.FindingsBeforeHoldout(r.Findings)
		}
	}
	return err
}
