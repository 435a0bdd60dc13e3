package neural

import (
	"cmp"
	"errors"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// The schedules of the learning rate.
const (
	ScheduleNone        = "none"
	ScheduleStep        = "step"
	ScheduleExponential = "exponential"
	ScheduleCosine      = "cosine"
	SchedulePlateau     = "plateau"
)

// ScheduleSpec says how the learning rate changes from epoch to epoch.
type ScheduleSpec struct {
	Name      string  `json:"name,omitempty"`      // "" means none
	Gamma     float64 `json:"gamma,omitempty"`     // step, exponential, plateau: the factor of one fall; 0 means 0.1 (exponential: 0.95)
	StepSize  int     `json:"step_size,omitempty"` // step: epochs between falls; 0 means 30
	Epochs    int     `json:"epochs,omitempty"`    // cosine: epochs until the least rate; required
	MinRate   float64 `json:"min_rate,omitempty"`  // cosine, plateau: the least rate
	Patience  int     `json:"patience,omitempty"`  // plateau: epochs without improvement before a fall; 0 means 10
	Threshold float64 `json:"threshold,omitempty"` // plateau: relative improvement that counts; 0 means 1e-4
	Warmup    int     `json:"warmup,omitempty"`    // epochs of linear growth at the start, before the schedule begins
}

func (s ScheduleSpec) withDefaults() ScheduleSpec {
	s.Name = cmp.Or(s.Name, ScheduleNone)
	if s.Name == ScheduleExponential {
		s.Gamma = cmp.Or(s.Gamma, 0.95)
	}
	s.Gamma = cmp.Or(s.Gamma, 0.1)
	s.StepSize = cmp.Or(s.StepSize, 30)
	s.Patience = cmp.Or(s.Patience, 10)
	s.Threshold = cmp.Or(s.Threshold, 1e-4)
	return s
}

func (s ScheduleSpec) check() error {
	var bad faults
	switch s.Name {
	case ScheduleNone, ScheduleStep, ScheduleExponential, SchedulePlateau:
	case ScheduleCosine:
		bad.when(s.Epochs < 1, "schedule: epochs is %d; a cosine schedule must know after how many epochs it ends", s.Epochs)
	default:
		bad.add("schedule: name is %q; it must be none, step, exponential, cosine or plateau", s.Name)
	}
	bad.when(!(s.Gamma > 0 && s.Gamma <= 1), "schedule: gamma is %g; it must be above 0 and at most 1", s.Gamma)
	if s.StepSize < 1 || s.Patience < 0 || s.Warmup < 0 || s.Epochs < 0 {
		bad.add("schedule: step_size must be at least 1, and patience, warmup and epochs not negative")
	}
	if !(s.MinRate >= 0) || !(s.Threshold >= 0 && s.Threshold < 1) {
		bad.add("schedule: min_rate must not be negative, and threshold from 0 to below 1")
	}
	return errors.Join(bad...)
}

// scheduleState is what a schedule remembers. It is part of a checkpoint.
type scheduleState struct {
	Epoch uint64  // epochs ended
	Best  float64 // plateau: lowest loss so far
	Bad   uint64  // plateau: epochs since
	Falls uint64  // plateau: times the rate fell
}

func newScheduleState() scheduleState { return scheduleState{Best: math.Inf(1)} }

func (s ScheduleSpec) rate(base float64, st scheduleState) float64 {
	warm := uint64(s.Warmup)
	if st.Epoch < warm {
		return base * float64(st.Epoch+1) / float64(warm+1)
	}
	e := st.Epoch - warm
	switch s.Name {
	case ScheduleStep:
		return base * power(s.Gamma, e/uint64(s.StepSize))
	case ScheduleExponential:
		return base * power(s.Gamma, e)
	case ScheduleCosine:
		part := min(float64(e)/float64(s.Epochs), 1)
		half := (1 + num.Cos(float64(math.Pi*part))) / 2
		return s.MinRate + float64((base-s.MinRate)*half)
	case SchedulePlateau:
		return max(base*power(s.Gamma, st.Falls), s.MinRate)
	}
	return base
}

// end is the state after an epoch that ended with this validation loss.
func (s ScheduleSpec) end(st scheduleState, loss float64) scheduleState {
	st.Epoch++
	if s.Name != SchedulePlateau || st.Epoch <= uint64(s.Warmup) {
		return st
	}
	if loss < st.Best-float64(math.Abs(st.Best)*s.Threshold) || math.IsInf(st.Best, 1) && loss < st.Best {
		st.Best, st.Bad = loss, 0
		return st
	}
	if st.Bad++; st.Bad > uint64(s.Patience) {
		st.Bad = 0
		st.Falls++
	}
	return st
}
