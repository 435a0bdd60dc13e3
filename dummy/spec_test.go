package dummy

import (
	"math"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestSpec_Validate(t *testing.T) {
	deep := Spec{Steps: 1}
	for range MaxDepth - 1 {
		deep = Spec{Children: []Spec{deep}}
	}
	many := Spec{Children: make([]Spec, MaxChildren)}
	for i := range many.Children {
		many.Children[i].Steps = 1
	}
	for name, c := range map[string]struct {
		spec Spec
		want string // part of the sentence; empty when it is valid
	}{
		"smallest": {Spec{Steps: 1}, ""},
		"largest": {Spec{
			Steps: MaxSteps, StepMS: MaxStepMS, ArtifactBytes: MaxArtifact, CrashAt: MaxSteps,
			Priority: -MaxPriority,
		}, ""},
		"deepest":              {deep, ""},
		"most children":        {many, ""},
		"no steps":             {Spec{}, "steps is 0; it must be 1 to 10000000"},
		"too many steps":       {Spec{Steps: MaxSteps + 1}, "steps is 10000001"},
		"negative time":        {Spec{Steps: 1, StepMS: -1}, "step_ms is -1"},
		"not a number":         {Spec{Steps: 1, StepMS: math.NaN()}, "step_ms is NaN"},
		"endless step":         {Spec{Steps: 1, StepMS: MaxStepMS + 1}, "step_ms"},
		"negative checkpoints": {Spec{Steps: 1, CheckpointEvery: -1}, "checkpoint_every is -1"},
		"artifact too large":   {Spec{Steps: 1, ArtifactBytes: MaxArtifact + 1}, "artifact_bytes"},
		"priority":             {Spec{Steps: 1, Priority: 1001}, "priority is 1001"},
		"smallest priority":    {Spec{Steps: 1, Priority: math.MinInt}, "priority"},
		"fails after the end":  {Spec{Steps: 5, FailAt: 6}, "fail_at is 6; it must be one of the 5 steps"},
		"panics before":        {Spec{Steps: 5, PanicAt: -1}, "panic_at is -1"},
		"crashes after":        {Spec{Steps: 5, CrashAt: 6}, "crash_at is 6"},
		"parallel alone":       {Spec{Steps: 1, Parallel: true}, "parallel is set"},
		"two mistakes":         {Spec{Steps: 0, StepMS: -1}, "; step_ms"},
		"parent with steps":    {Spec{Steps: 1, Children: []Spec{{Steps: 1}}}, "children come with steps of their own"},
		"bad child":            {Spec{Children: []Spec{{Steps: 1}, {Children: []Spec{{}}}}}, "children[1].children[0].steps is 0"},
		"too deep":             {Spec{Children: []Spec{deep}}, "nested deeper than 8"},
		"too many children":    {Spec{Children: []Spec{many}}, "at most 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.spec.Validate()
			if c.want == "" {
				if err != nil {
					t.Errorf("Validate = %v, want nil", err)
				}
				return
			}
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Validate = %v, want CodeInvalid with %q", err, c.want)
			}
			if _, err := Operation(c.spec); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				t.Errorf("Operation = %v, want CodeInvalid", err)
			}
		})
	}
}
