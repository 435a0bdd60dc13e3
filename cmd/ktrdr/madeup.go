package main

import (
	"encoding/json"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// madeUpOf says of the bars that an operation was created with whether they were made
// up; known is false where it reads no bars.
func madeUpOf(op ktrdr.Operation) (madeUp *bool, known bool) {
	var spec struct {
		Bars   []jobs.Bars `json:"bars"`
		MadeUp *bool       `json:"made_up"` // of an assessment, which reads figures
	}
	if json.Unmarshal(op.Spec, &spec) != nil || len(spec.Bars) == 0 && spec.MadeUp == nil {
		return nil, false
	}
	if spec.MadeUp != nil {
		return spec.MadeUp, true
	}
	return jobs.AnyMadeUp(spec.Bars), true
}
