package dummy

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// plan moves dummy parents: children one after another or all at once, then a
// chain over their hashes in the order of the spec. A child that failed or was
// cancelled fails the parent once no sibling is open any more; when the parent
// is resumed, its dead children are resumed.
type plan struct{}

// Next implements ktrdr.Plan.
func (plan) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	spec, err := ktrdr.ParseSpec[Spec](parent.Spec)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	f := survey(children)
	d := ktrdr.Decision{Progress: f.progress(parent, len(spec.Children))}
	switch {
	case len(f.dead) > 0 && why == ktrdr.WhyResumed:
		for _, c := range f.dead {
			d.Resume = append(d.Resume, c.ID)
		}
	case len(f.dead) > 0 && f.open == 0:
		d.Finish = failure(f.dead[0])
	case len(f.dead) > 0:
		// The parent fails when the open siblings are done.
	case len(f.byOrdinal) < len(spec.Children):
		d.Create, err = missing(parent, spec, f)
		if len(f.byOrdinal) == 0 {
			d.Phase = "CHILDREN"
			d.State = json.RawMessage(fmt.Sprintf(`{"children":%d}`, len(spec.Children)))
		}
	case f.open == 0:
		d.Finish, err = success(spec, f)
	}
	return d, err
}

// family is what a plan sees of the children.
type family struct {
	byOrdinal map[int]ktrdr.Operation
	dead      []ktrdr.Operation // failed or cancelled
	open      int
	done      int
}

func survey(children []ktrdr.Operation) family {
	f := family{byOrdinal: make(map[int]ktrdr.Operation, len(children))}
	for _, c := range children {
		f.byOrdinal[c.Ordinal] = c
		switch c.Status {
		case ktrdr.Completed:
			f.done++
		case ktrdr.Failed, ktrdr.Cancelled:
			f.dead = append(f.dead, c)
		case ktrdr.Pending, ktrdr.Running, ktrdr.Reconciling:
			f.open++
		}
	}
	return f
}

// progress is nil when it would repeat what the parent already says: a plan
// asked twice must not change anything twice.
func (f family) progress(parent ktrdr.Operation, total int) *ktrdr.Progress {
	if p := parent.Progress; p.StepsCompleted == int64(f.done) && p.StepsTotal == int64(total) {
		return nil
	}
	return &ktrdr.Progress{
		Percentage: 100 * float64(f.done) / float64(total), CurrentStep: fmt.Sprintf("%d of %d children completed", f.done, total),
		StepsCompleted: int64(f.done), StepsTotal: int64(total),
	}
}

// missing makes the children that should exist and do not: every one, or the
// next one when those before it are completed.
func missing(parent ktrdr.Operation, spec Spec, f family) ([]ktrdr.NewOperation, error) {
	var create []ktrdr.NewOperation
	for i, c := range spec.Children {
		if _, ok := f.byOrdinal[i]; ok {
			continue
		}
		if !spec.Parallel && (f.open > 0 || len(create) > 0) {
			break
		}
		op, err := Operation(c)
		if err != nil {
			return nil, fmt.Errorf("child %d: %w", i, err)
		}
		op.Parent, op.Ordinal, op.Priority = parent.ID, i, cmp.Or(c.Priority, parent.Priority)
		create = append(create, op)
	}
	return create, nil
}

func failure(child ktrdr.Operation) *ktrdr.Finished {
	why := ktrdr.Errorf(ktrdr.CodeFailed, "child %d (%s) ended %s: %s", child.Ordinal, child.ID, child.Status,
		cmp.Or(child.ErrorMessage, "no reason given"))
	return &ktrdr.Finished{Outcome: ktrdr.Failed, ErrorMessage: why.Message, Error: ktrdr.FailureOf(why).CausedBy(child.Error)}
}

func success(spec Spec, f family) (*ktrdr.Finished, error) {
	var sum Result
	for i := range spec.Children {
		var r Result
		if err := json.Unmarshal(f.byOrdinal[i].Result, &r); err != nil {
			return nil, fmt.Errorf("result of child %d: %w", i, err)
		}
		sum.Hash = link(sum.Hash, r.Hash)
		sum.Steps += r.Steps
	}
	result, err := json.Marshal(sum)
	if err != nil {
		return nil, err
	}
	return &ktrdr.Finished{Outcome: ktrdr.Completed, Result: result}, nil
}
