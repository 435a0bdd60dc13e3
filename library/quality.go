package library

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// findingsOf reads stored findings; nil where the series was not judged.
func findingsOf(stored json.RawMessage) (found []quality.ContentFinding) {
	if stored == nil || json.Unmarshal(stored, &found) != nil {
		return nil // it is judged again
	}
	return found
}

// judge judges a series. compared are what Compare found of bars that were added.
func judge(b *market.Bars, known quality.Options, compared []quality.ContentFinding) []quality.ContentFinding {
	return quality.Join(quality.Judge(b, known), compared)
}

// WouldFind is what an import of new bars would find. It stores nothing.
func WouldFind(b *market.Bars, about instrument.Instrument, share float64) ([]quality.ContentFinding, error) {
	b, _, err := adjusted(b, about.Events)
	if err != nil || b.Len() == 0 {
		return nil, err
	}
	return judge(b, knownOf(about, b.Symbol, HoldoutStart(b, ktrdr.Market{}, cmp.Or(share, UsualHoldout))), nil), nil
}

// storeFindings writes findings as the store keeps them.
func storeFindings(found []quality.ContentFinding) (json.RawMessage, error) {
	if found == nil {
		found = []quality.ContentFinding{} // judged, and nothing was found
	}
	return json.Marshal(found)
}

// Judged is an entry with its findings. A series that was not judged, because an
// earlier version imported it, is judged and its findings are stored. m is its market,
// share that of the holdout, 0 for the usual one.
func (l *Library) Judged(ctx context.Context, e jobs.SeriesInfo, b *market.Bars, m ktrdr.Market, share float64) (jobs.SeriesInfo, error) {
	if e.Findings != nil || b.Len() == 0 {
		return e, nil
	}
	from := m.HoldoutFrom
	if from.IsZero() {
		from = HoldoutStart(b, m, cmp.Or(share, UsualHoldout))
	}
	e.Findings = judge(b, knownOf(instrument.Instrument{}, b.Symbol, from), nil)
	stored, err := storeFindings(e.Findings)
	if err != nil {
		return e, err
	}
	return e, l.store.JudgeBars(ctx, e.Symbol, string(e.Timeframe), e.Hash, stored)
}

// Usable refuses series with severe findings that no person accepts: CodeConflict. It
// judges those that were not judged; of says which market they belong to.
func (l *Library) Usable(ctx context.Context, infos []jobs.SeriesInfo, bars []*market.Bars, share float64,
	of func(context.Context, *market.Bars) (ktrdr.Market, error),
) error {
	var problems []string
	for i, e := range infos {
		if e.Findings != nil && len(e.Unaccepted()) == 0 {
			continue
		}
		m, err := of(ctx, bars[i])
		if err == nil {
			e, err = l.Judged(ctx, e, bars[i], m, share)
		}
		if err != nil {
			return err
		}
		open := jobs.Unaccepted(quality.Seal(e.Findings, m.HoldoutFrom), e.Accepted)
		if len(open) == 0 {
			continue
		}
		said := text.Map(open, func(f quality.ContentFinding) string { return f.String() })
		const form = "the %s bars of %s are refused for research: %s. Mend them and import them with --replace, or, if they are right, " +
			"accept them: `%s`"
		accept := AcceptCommand(e.Symbol, string(e.Timeframe), open)
		problems = append(problems, fmt.Sprintf(form, e.Timeframe, e.Symbol, strings.Join(said, "; "), accept))
	}
	if problems != nil {
		return ktrdr.Errorf(ktrdr.CodeConflict, "%s", strings.Join(problems, "\n"))
	}
	return nil
}

// AcceptCommand is the command that accepts findings of a series.
func AcceptCommand(symbol, timeframe string, found []quality.ContentFinding) string {
	rules := text.Map(found, func(f quality.ContentFinding) string { return string(f.Rule) })
	slices.Sort(rules)
	return fmt.Sprintf("ktrdr data accept %s %s %s", symbol, timeframe, strings.Join(slices.Compact(rules), " "))
}

// Accept lets research begin on a series in spite of severe findings, which are named
// by their rules. by is the person. CodeInvalid names a rule that was not found.
func (l *Library) Accept(ctx context.Context, e jobs.SeriesInfo, m ktrdr.Market, rules []string, by string) (jobs.SeriesInfo, error) {
	if e.Findings == nil {
		b, err := l.Open(ctx, e)
		if err == nil {
			e, err = l.Judged(ctx, e, b, m, 0)
		}
		if err != nil {
			return e, err
		}
	}
	if len(rules) == 0 {
		return e, wrong("name the findings to accept; those of %s %s are: %s", e.Symbol, e.Timeframe, severeRules(e.Findings))
	}
	for _, rule := range rules {
		named := func(f quality.ContentFinding) bool { return string(f.Rule) == rule && f.Severity == quality.Severe }
		if !slices.ContainsFunc(e.Findings, named) {
			return e, wrong("%s %s has no severe finding %.60s; it has: %s", e.Symbol, e.Timeframe, rule, severeRules(e.Findings))
		}
	}
	s, err := l.store.AcceptFindings(ctx, e.Symbol, string(e.Timeframe), e.Hash, rules, by)
	return infoOf(s), err
}

// severeRules lists the rules of the severe findings.
func severeRules(found []quality.ContentFinding) string {
	var rules []string
	for _, f := range found {
		if f.Severity == quality.Severe && !slices.Contains(rules, string(f.Rule)) {
			rules = append(rules, string(f.Rule))
		}
	}
	if rules == nil {
		return "nothing severe"
	}
	return strings.Join(rules, ", ")
}

// stillAccepted is what a person accepted of a series and the bars that follow it show
// unchanged. A new case of a rule is not accepted with the old ones.
func stillAccepted(was jobs.SeriesInfo, now []quality.ContentFinding) (kept []ktrdr.AcceptedFinding) {
	for _, a := range was.Accepted {
		fresh := slices.ContainsFunc(now, func(f quality.ContentFinding) bool {
			return string(f.Rule) == a.Finding && f.Severity == quality.Severe && !slices.ContainsFunc(was.Findings, f.Same)
		})
		if !fresh {
			kept = append(kept, a)
		}
	}
	return kept
}

// tempered are findings that refuse nothing: those of a comparison with bars of which
// none stays, and those of bars that are what a program was told to make up.
func tempered(found []quality.ContentFinding) []quality.ContentFinding {
	for i := range found {
		if found[i].Severity == quality.Severe {
			found[i].Severity = quality.Warning
		}
	}
	return found
}

// RecordOf says how the prices of a file were read.
func RecordOf(r market.DataReport, adjusted bool) ktrdr.BarsRecord {
	rec := ktrdr.BarsRecord{Adjustment: "as in the file"}
	if adjusted {
		rec.Adjustment = "scaled to the adjusted close of the file"
	}
	if k := r.Recognised; k != nil {
		rec.Format, rec.Zone, rec.Unit = k.Format, k.Zone, k.Prices
	}
	return rec
}

// joinedRecord is the record of a series to which bars with another were added.
func joinedRecord(old, add ktrdr.BarsRecord) ktrdr.BarsRecord {
	both := func(a, b string) string {
		if a == b || b == "" || a == "" || strings.HasSuffix(a, "; then "+b) {
			return cmp.Or(a, b)
		}
		return text.Cut(a+"; then "+b, 400)
	}
	return ktrdr.BarsRecord{
		Format: both(old.Format, add.Format), Zone: both(old.Zone, add.Zone), Unit: both(old.Unit, add.Unit),
		Adjustment: both(old.Adjustment, add.Adjustment),
	}
}
