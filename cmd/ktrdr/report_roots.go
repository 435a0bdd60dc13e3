package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

const (
	mostClaims  = 10
	mostReasons = 10
	mostKept    = 200 // reasons told apart; further ones are counted as one
	mostNamed   = 3   // operations of a reason

	longestReason = 160
)

// readRoots looks at everything that ended in the span.
func (l *lookback) readRoots(ctx context.Context) error {
	q := ktrdr.OperationQuery{Roots: true, Limit: reportPage}
	for l.oldest.Before(l.out.To) { // else nothing ended
		page, err := l.desk.engine.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Operations {
			l.add(&page.Operations[i])
		}
		n := len(page.Operations)
		if q.Cursor = page.Next; q.Cursor == "" || page.Operations[n-1].CreatedAt.Before(l.oldest) {
			return nil
		}
	}
	return nil
}

// readRun looks at a run's researches, and begins the span with the first of
// them unless it was said when.
func (l *lookback) readRun(ctx context.Context) error {
	l.roots = map[ktrdr.OperationID]bool{}
	began := l.out.To
	err := eachOfRun(ctx, l.desk.engine, l.query.Run, func(op *ktrdr.Operation) bool {
		l.roots[op.ID], began = true, op.CreatedAt
		l.add(op)
		return true
	})
	if err != nil {
		return err
	}
	if len(l.roots) == 0 {
		return noRun(l.query.Run)
	}
	if l.out.From.IsZero() {
		l.out.From = began
	}
	return nil
}

// add counts a root operation.
func (l *lookback) add(op *ktrdr.Operation) {
	r := &l.out.Researches
	switch {
	case !op.Status.Terminal():
		if l.roots != nil && op.Status == ktrdr.Pending {
			r.Waiting++
		} else if l.roots != nil {
			r.Active++
		}
		return
	case op.CompletedAt.Before(l.out.From):
		return
	case op.Type != ktrdr.AgentResearch:
		l.ended[ktrdr.Count{Type: op.Type, Status: op.Status}]++
	default:
		r.Ended++
		r.Outcomes[string(research.OutcomeOf(*op))]++
		l.judged(op)
	}
	if op.Status == ktrdr.Failed {
		l.reasons.add(op)
	}
}

// judged notes what a research claims.
func (l *lookback) judged(op *ktrdr.Operation) {
	var result research.Result
	if json.Unmarshal(op.Result, &result) != nil { // one that failed has none
		return
	}
	if result.HoldoutOpened {
		l.out.Researches.Holdouts++
	}
	if len(result.Instead) > 0 {
		l.out.Researches.Unaided++
	}
	l.against.add(result.Figures)
	if !result.Claim {
		return
	}
	l.out.Researches.Claims++
	c := httpapi.ReportClaim{
		Operation: op.ID, Run: result.Run, Strategy: result.StrategyName, Summary: result.Summary, Holdout: result.HoldoutOpened,
	}
	if f := result.Figures; f != nil {
		c.Sharpe, c.NetReturn, c.MaxDrawdown, c.Trades, c.Evidence = f.Sharpe, f.NetReturn, f.MaxDrawdown, f.Trades, evidenceOf(f)
	}
	list := append(l.out.Claims, c)
	slices.SortStableFunc(list, func(a, b httpapi.ReportClaim) int { return cmp.Compare(luckOf(a), luckOf(b)) })
	l.out.Claims = list[:min(mostClaims, len(list))]
}

// luckOf is how much of a claim luck explains: all of it where nobody knows.
func luckOf(c httpapi.ReportClaim) float64 {
	if c.Luck == nil {
		return 1
	}
	return *c.Luck
}

// reasons groups failures by what they say.
type reasons map[string]*httpapi.ReportFailure

// anyID is an id inside a message: it would make a group of every failure.
var anyID = regexp.MustCompile(`op_[a-z_]+_\d{8}_\d{6}_[0-9a-f]{8}(: )?`)

const otherReasons = "other reasons"

func (r reasons) add(op *ktrdr.Operation) {
	text := anyID.ReplaceAllString(plain(op.ErrorMessage), "")
	if runes := []rune(text); len(runes) > longestReason {
		text = string(runes[:longestReason]) + "…"
	}
	var code ktrdr.Code
	if op.Error != nil {
		code = op.Error.Code
	}
	f := r[text]
	if f == nil && len(r) >= mostKept {
		text, code = otherReasons, ""
		f = r[text]
	}
	if f == nil {
		f = &httpapi.ReportFailure{Reason: cmp.Or(text, "it did not say why"), Code: code}
		r[text] = f
	}
	f.Count++
	at := len(f.Operations)
	if op.Checkpoint != nil {
		at = min(at, f.Resumable)
		f.Resumable++
	}
	if at < mostNamed {
		f.Operations = slices.Insert(f.Operations, at, op.ID)
		f.Operations = f.Operations[:min(mostNamed, len(f.Operations))]
	}
}

// list are the most frequent reasons, each with what to do about it.
func (r reasons) list() []httpapi.ReportFailure {
	var all []httpapi.ReportFailure
	for _, text := range slices.Sorted(maps.Keys(r)) {
		f := *r[text]
		verb := "retry"
		if f.Resumable > 0 {
			verb = "resume"
		}
		f.Next = fmt.Sprintf("ktrdr %s %s", verb, f.Operations[0])
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b httpapi.ReportFailure) int { return cmp.Compare(b.Count, a.Count) })
	return all[:min(mostReasons, len(all))]
}

// sum ends a report.
func (l *lookback) sum() {
	l.out.Failures = l.reasons.list()
	for key, n := range l.ended {
		l.out.Others = append(l.out.Others, ktrdr.Count{Type: key.Type, Status: key.Status, N: n})
	}
	slices.SortFunc(l.out.Others, func(a, b ktrdr.Count) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Status, b.Status))
	})
	r := l.out.Researches
	switch {
	case r.Claims > 0:
		l.out.Summary = fmt.Sprintf("%s an edge, net of costs%s.", numbered(r.Claims, "research claims", "researches claim"), l.against)
	case r.Ended > 0:
		l.out.Summary = fmt.Sprintf("Nothing survived: of %s none claims an edge%s.", numbered(r.Ended, "research that ended", "researches that ended"), l.against)
	case r.Active+r.Waiting > 0:
		l.out.Summary = "No research has ended yet."
	default:
		l.out.Summary = "Nothing was researched."
	}
}

// numbered puts a number before its noun.
func numbered(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
