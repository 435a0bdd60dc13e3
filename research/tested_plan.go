package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

// factoryPlan moves the test of a run.
//
//	created ──▶ the real bars ──no finalist──▶ COMPLETED, p = 1
//	                          ──score────────▶ copies, in waves of parts that any worker may search
//	a wave has ended ──enough copies reached the score, or all are drawn──▶ COMPLETED
//	                 ──else───────────────────────────────────────────────▶ the next wave, as large as all before
//	a part FAILED ──▶ FAILED when the others have ended; resumed: the dead parts are resumed
//
// Copies count in the order of their numbers. So the result does not depend on the number
// of workers, and what was searched past the end counts nothing.
type factoryPlan struct{}

const (
	copiesOfPart = 4
	firstWave    = 8
	largestWave  = copiesOfPart * 64
)

// Next implements ktrdr.Plan.
func (factoryPlan) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (d ktrdr.Decision, err error) {
	spec, err := ktrdr.ParseSpec[FactoryTestSpec](parent.Spec)
	if err != nil {
		return d, err
	}
	drawn, err := drawnOf(children)
	if err != nil {
		return d, err
	}
	rank := spec.rank(drawn)
	d.Progress = spec.progress(parent, rank)
	switch {
	case len(children) == 0:
		d.Phase = string(copying)
		d.Create, err = spec.parts(parent, len(children), FactoryPartSpec{FactoryTestSpec: spec, Real: true})
	case len(drawn.dead) > 0 && why == ktrdr.WhyResumed:
		for _, c := range drawn.dead {
			d.Resume = append(d.Resume, c.ID)
		}
	case drawn.open > 0:
	case len(drawn.dead) > 0:
		d.Finish = deadPart(drawn.dead[0])
	case drawn.real.Score == nil || rank.Done():
		var result *FactoryTest
		if result, err = spec.result(*drawn.real, drawn.scores, rank); err != nil {
			return d, err
		}
		d.Finish = &ktrdr.Finished{Outcome: ktrdr.Completed}
		d.Finish.Result, err = encode(result)
	default:
		d.Create, err = spec.parts(parent, len(children), spec.wave(len(drawn.scores))...)
	}
	return d, err
}

// deadPart ends a parent of which a part came to nothing.
func deadPart(c ktrdr.Operation) *ktrdr.Finished {
	bad := ktrdr.Errorf(ktrdr.CodeFailed, "part %d (%s) ended %s: %s", c.Ordinal+1, c.ID, c.Status, cmp.Or(c.ErrorMessage,
		"it did not say why"))
	return &ktrdr.Finished{Outcome: ktrdr.Failed, ErrorMessage: bad.Message, Error: ktrdr.FailureOf(bad).CausedBy(c.Error)}
}

// drawn is how far a test is.
type drawn struct {
	real   *RealScore
	scores []*float64 // of the copies from the first on, as far as none is missing
	dead   []ktrdr.Operation
	open   int
}

func drawnOf(children []ktrdr.Operation) (d drawn, err error) {
	var parts []FactoryPart
	for _, c := range children {
		switch c.Status {
		case ktrdr.Completed:
			p, err := resultOf[FactoryPart](&c)
			if err != nil {
				return d, fmt.Errorf("%s: %w", c.ID, err)
			}
			if p.Real != nil {
				d.real = p.Real
				continue
			}
			parts = append(parts, p)
		case ktrdr.Failed, ktrdr.Cancelled:
			d.dead = append(d.dead, c)
		case ktrdr.Pending, ktrdr.Running, ktrdr.Reconciling:
			d.open++
		}
	}
	slices.SortFunc(parts, func(a, b FactoryPart) int { return a.From - b.From })
	for _, p := range parts {
		if p.From != len(d.scores) {
			break
		}
		d.scores = append(d.scores, p.Scores...)
	}
	return d, nil
}

// rank draws copies until the test is done or there are no more.
func (s FactoryTestSpec) rank(d drawn) evidence.Sequential {
	rank := evidence.Sequential{Most: s.Copies.Most, Stop: s.Copies.Stop}
	if d.real == nil || d.real.Score == nil {
		return rank
	}
	for _, score := range d.scores {
		if rank.Done() {
			break
		}
		rank.Draw(evidence.Reached(score, d.real.Score))
	}
	return rank
}

// wave is the parts of the next copies.
func (s FactoryTestSpec) wave(from int) (parts []FactoryPartSpec) {
	to := min(from+min(max(from, firstWave), largestWave), s.Copies.Most)
	for ; from < to; from += copiesOfPart {
		parts = append(parts, FactoryPartSpec{FactoryTestSpec: s, From: from, To: min(from+copiesOfPart, to)})
	}
	return parts
}

// parts makes the operations of parts.
func (s FactoryTestSpec) parts(parent ktrdr.Operation, ordinal int, parts ...FactoryPartSpec) (all []ktrdr.NewOperation, err error) {
	for _, p := range parts {
		what := fmt.Sprintf("copies %d to %d of %d", p.From+1, p.To, s.Copies.Most)
		if p.Real {
			what = "the real bars"
		}
		metadata, err := json.Marshal(about{Brief: what})
		if err != nil {
			return nil, err
		}
		text, err := encode(p)
		if err != nil {
			return nil, err
		}
		all = append(all, ktrdr.NewOperation{
			Type: ktrdr.FactoryPart, Priority: parent.Priority, Parent: parent.ID, Ordinal: ordinal + len(all), Spec: text, Metadata: metadata,
		})
	}
	return all, nil
}

// progress is nil when it would repeat what the parent says.
func (s FactoryTestSpec) progress(parent ktrdr.Operation, rank evidence.Sequential) *ktrdr.Progress {
	done, all := int64(rank.Copies), int64(s.Copies.Most)
	if p := parent.Progress; p.StepsCompleted == done && p.StepsTotal == all {
		return nil
	}
	// It ends early when enough copies have reached the score: the larger share counts.
	part := max(float64(rank.Copies)/float64(rank.Most), float64(rank.Reached)/float64(rank.Stop))
	return &ktrdr.Progress{
		Percentage: 100 * part, StepsCompleted: done, StepsTotal: all,
		CurrentStep: fmt.Sprintf("%d of at most %d copies, %d reached the score; it ends at %d", rank.Copies, rank.Most, rank.Reached, rank.Stop),
	}
}
