package research

import (
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// calibrationPlan divides a calibration into parts that any worker may search.
//
//	created ──▶ all parts ──all COMPLETED──▶ COMPLETED, with the worlds in their order
//	                      ──one FAILED─────▶ FAILED when the others have ended
//	resumed ──▶ the dead parts are resumed
type calibrationPlan struct{}

// worldsOfPart is how many worlds a part has: small enough to be spread over workers.
const worldsOfPart = 4

// Next implements ktrdr.Plan.
func (calibrationPlan) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	spec, err := ktrdr.ParseSpec[CalibrationSpec](parent.Spec)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	var dead []ktrdr.Operation
	var worlds []SearchedWorld
	open := 0
	for _, c := range children {
		switch c.Status {
		case ktrdr.Completed:
			part, err := resultOf[CalibrationPart](&c)
			if err != nil {
				return ktrdr.Decision{}, fmt.Errorf("%s: %w", c.ID, err)
			}
			worlds = append(worlds, part.Worlds...)
		case ktrdr.Failed, ktrdr.Cancelled:
			dead = append(dead, c)
		case ktrdr.Pending, ktrdr.Running, ktrdr.Reconciling:
			open++
		}
	}
	d := ktrdr.Decision{Progress: calibrationProgress(parent, len(worlds), spec.All())}
	switch {
	case len(children) == 0:
		d.Phase = "SEARCHING"
		d.Create, err = calibrationParts(parent, spec)
	case len(dead) > 0 && why == ktrdr.WhyResumed:
		for _, c := range dead {
			d.Resume = append(d.Resume, c.ID)
		}
	case open > 0:
	case len(dead) > 0:
		d.Finish = deadPart(dead[0])
	default:
		var result *Calibration
		if result, err = spec.result(worlds); err != nil {
			return ktrdr.Decision{}, err
		}
		d.Finish = &ktrdr.Finished{Outcome: ktrdr.Completed}
		d.Finish.Result, err = encode(result)
	}
	return d, err
}

// calibrationProgress is nil when it would repeat what the parent says.
func calibrationProgress(parent ktrdr.Operation, done, all int) *ktrdr.Progress {
	if p := parent.Progress; p.StepsCompleted == int64(done) && p.StepsTotal == int64(all) {
		return nil
	}
	return &ktrdr.Progress{
		Percentage: 100 * float64(done) / float64(all), CurrentStep: fmt.Sprintf("%d of %d worlds searched", done, all),
		StepsCompleted: int64(done), StepsTotal: int64(all),
	}
}

func calibrationParts(parent ktrdr.Operation, spec CalibrationSpec) (parts []ktrdr.NewOperation, err error) {
	size := worldsOfPart
	for (spec.All()+size-1)/size > ktrdr.MaxCreate {
		size *= 2
	}
	for from := 0; from < spec.All(); from += size {
		one := CalibrationPartSpec{CalibrationSpec: spec, From: from, To: min(from+size, spec.All())}
		text, err := encode(one)
		if err != nil {
			return nil, err
		}
		metadata, err := json.Marshal(about{Brief: fmt.Sprintf("worlds %d to %d of %d", one.From+1, one.To, spec.All())})
		if err != nil {
			return nil, err
		}
		parts = append(parts, ktrdr.NewOperation{
			Type: ktrdr.CalibrationPart, Priority: parent.Priority, Parent: parent.ID, Ordinal: len(parts), Spec: text, Metadata: metadata,
		})
	}
	return parts, nil
}
