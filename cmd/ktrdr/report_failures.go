package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

const (
	// mostFailures bounds how many failures are read: the newest. They are
	// grouped by what they say without the ids in it. The counts above are of
	// all.
	mostFailures = 500

	mostReasons   = 10
	mostNamed     = 3 // operations of a reason
	longestReason = 160
)

// readFailures groups what failed by its reason.
func (l *lookback) readFailures(ctx context.Context) error {
	failed, err := l.desk.engine.Failures(ctx, ktrdr.FailureQuery{Run: l.query.Run, Since: l.out.From, Limit: mostFailures})
	if err != nil {
		return err
	}
	r := reasons{}
	for i := range failed {
		r.add(&failed[i])
	}
	l.out.Failures = r.list()
	if len(failed) == mostFailures {
		l.out.Incomplete = append(l.out.Incomplete, fmt.Sprintf("only the newest %d failures are grouped by reason: ask for a shorter time", mostFailures))
	}
	return nil
}

// reasons groups failures by what they say.
type reasons map[string]*httpapi.ReportFailure

// anyID is an id inside a message. With it every failure would be a group of its
// own.
var anyID = regexp.MustCompile(` ?\(op_[a-z_]+_\d{8}_\d{6}_[0-9a-f]{8}\)|op_[a-z_]+_\d{8}_\d{6}_[0-9a-f]{8}(: )?`)

func (r reasons) add(op *ktrdr.FailedOperation) {
	text := shorten(anyID.ReplaceAllString(plain(op.Message), ""), longestReason)
	key := string(op.Code) + "\n" + text
	f := r[key]
	if f == nil {
		f = &httpapi.ReportFailure{Reason: cmp.Or(text, "it did not say why"), Code: op.Code}
		r[key] = f
	}
	f.Count++
	at := len(f.Operations)
	if op.Resumable {
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
	for _, key := range slices.Sorted(maps.Keys(r)) {
		f := *r[key]
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
