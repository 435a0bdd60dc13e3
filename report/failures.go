package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
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

func (l *lookback) readFailures(ctx context.Context) error {
	failed, err := l.engine.Failures(ctx, ktrdr.FailureQuery{Run: l.query.Run, Since: l.out.From, Limit: mostFailures})
	if err != nil {
		return err
	}
	r := reasons{}
	for i := range failed {
		r.add(&failed[i])
	}
	l.out.Failures = r.list()
	if len(failed) == mostFailures {
		l.out.Incomplete = append(l.out.Incomplete,
			fmt.Sprintf("only the newest %d failures are grouped by reason: ask for a shorter time", mostFailures))
	}
	return nil
}

type reasons map[string]*FailureReason

// anyID is an id in a message, left out so that equal failures form one group.
var anyID = regexp.MustCompile(` ?\(op_[a-z_]+_\d{8}_\d{6}_[0-9a-f]{8}\)|op_[a-z_]+_\d{8}_\d{6}_[0-9a-f]{8}(: )?`)

func (r reasons) add(op *ktrdr.FailedOperation) {
	said := text.Fit(anyID.ReplaceAllString(ktrdr.ToPrintable(op.Message), ""), longestReason)
	key := string(op.Code) + "\n" + said
	f := r[key]
	if f == nil {
		f = &FailureReason{Reason: cmp.Or(said, "it did not say why"), Code: op.Code}
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

func (r reasons) list() []FailureReason {
	var all []FailureReason
	for _, key := range slices.Sorted(maps.Keys(r)) {
		f := *r[key]
		verb := "retry"
		if f.Resumable > 0 {
			verb = "resume"
		}
		f.Next = fmt.Sprintf("ktrdr %s %s", verb, f.Operations[0])
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b FailureReason) int { return cmp.Compare(b.Count, a.Count) })
	return all[:min(mostReasons, len(all))]
}
