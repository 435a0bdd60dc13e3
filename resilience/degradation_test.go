package resilience_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// product is what ours stands on, all well.
func product() []resilience.Service {
	return []resilience.Service{
		{Name: "store", Weight: 4, Critical: true, Start: resilience.HealthGood},
		{Name: "compute", Weight: 4, Critical: true, Start: resilience.HealthGood},
		{Name: "anthropic", Weight: 5, Start: resilience.HealthGood},
		{Name: "openai", Weight: 5, Start: resilience.HealthGood},
	}
}

func degradation(t *testing.T, c resilience.DegradationConfig) *resilience.Degradation {
	t.Helper()
	d, err := resilience.NewDegradation(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func report(t *testing.T, d *resilience.Degradation, service string, h resilience.Health) {
	t.Helper()
	if err := d.Report(service, h); err != nil {
		t.Fatal(err)
	}
}

func TestDegradation_LevelFollowsTheServices(t *testing.T) {
	for name, c := range map[string]struct {
		health map[string]resilience.Health
		want   resilience.Level
	}{
		"all well":                 {nil, resilience.Full},
		"one provider has trouble": {map[string]resilience.Health{"openai": resilience.HealthDegraded}, resilience.Degraded},
		"one provider down":        {map[string]resilience.Health{"openai": resilience.HealthDown}, resilience.Degraded},
		"every provider down": {
			map[string]resilience.Health{"openai": resilience.HealthDown, "anthropic": resilience.HealthDown},
			resilience.Minimal,
		},
		"store has trouble":       {map[string]resilience.Health{"store": resilience.HealthDegraded}, resilience.Degraded},
		"store down":              {map[string]resilience.Health{"store": resilience.HealthDown}, resilience.Offline},
		"compute down":            {map[string]resilience.Health{"compute": resilience.HealthDown}, resilience.Offline},
		"one provider is unknown": {map[string]resilience.Health{"openai": resilience.HealthUnknown}, resilience.Degraded},
		"everything has trouble": {map[string]resilience.Health{
			"store": resilience.HealthDegraded, "compute": resilience.HealthDegraded,
			"openai": resilience.HealthDegraded, "anthropic": resilience.HealthDegraded,
		}, resilience.Degraded},
		"everything but critical ailed": {map[string]resilience.Health{
			"store": resilience.HealthDegraded, "compute": resilience.HealthDegraded,
			"openai": resilience.HealthDown, "anthropic": resilience.HealthDown,
		}, resilience.Minimal},
	} {
		t.Run(name, func(t *testing.T) {
			d := degradation(t, resilience.DegradationConfig{Services: product()})
			for service, h := range c.health {
				report(t, d, service, h)
			}
			if got := d.Level(); got != c.want {
				t.Errorf("%s, want %s (score %v)", got, c.want, d.Status().Score)
			}
		})
	}
}

func TestDegradation_ShedsMoreWithEveryLevel(t *testing.T) {
	d := degradation(t, resilience.DegradationConfig{Services: product()})
	for _, step := range []struct {
		service string
		level   resilience.Level
		shed    []resilience.Feature
	}{
		{"", resilience.Full, []resilience.Feature{}},
		{"openai", resilience.Degraded, []resilience.Feature{resilience.LLMAssessment}},
		{"anthropic", resilience.Minimal, []resilience.Feature{resilience.LLMAssessment, resilience.LLMDesign}},
		{"store", resilience.Offline, []resilience.Feature{resilience.LLMAssessment, resilience.LLMDesign, resilience.NewResearch}},
	} {
		if step.service != "" {
			report(t, d, step.service, resilience.HealthDown)
		}
		if got := d.Status(); got.Level != step.level || !slices.Equal(got.Shed, step.shed) {
			t.Errorf("%s sheds %v, want %s and %v", got.Level, got.Shed, step.level, step.shed)
		}
		for _, f := range []resilience.Feature{resilience.LLMAssessment, resilience.LLMDesign, resilience.NewResearch, "charts"} {
			err := d.Allows(f)
			if shed := slices.Contains(step.shed, f); shed != (err != nil) {
				t.Errorf("%s: Allows(%s) = %v", step.level, f, err)
			}
			if err != nil {
				wantCode(t, err, ktrdr.CodeUnavailable)
			}
		}
	}
	if got := d.Allows(resilience.NewResearch).Error(); !strings.Contains(got, "OFFLINE") || !strings.Contains(got, "store is down") {
		t.Errorf("%q, want the level and who is to blame", got)
	}
}

func TestDegradation_WorseAtOnceBetterAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := degradation(t, resilience.DegradationConfig{Services: product()})
		report(t, d, "openai", resilience.HealthDown)
		if d.Level() != resilience.Degraded {
			t.Fatal("not worse at once")
		}
		report(t, d, "openai", resilience.HealthGood)
		time.Sleep(20 * time.Second)
		report(t, d, "openai", resilience.HealthDown) // flaps: the wait begins again
		report(t, d, "openai", resilience.HealthGood)
		time.Sleep(30*time.Second - 1)
		if got := d.Level(); got != resilience.Degraded {
			t.Errorf("%s before it was well for 30 s", got)
		}
		if err := d.Allows(resilience.LLMAssessment); err == nil || !strings.Contains(err.Error(), "just recovered") {
			t.Errorf("err = %v, want to know that it has just recovered", err)
		}
		time.Sleep(time.Nanosecond)
		if got := d.Level(); got != resilience.Full {
			t.Errorf("%s after 30 s, want FULL", got)
		}
	})
}

func TestDegradation_NearALimitItDoesNotFlap(t *testing.T) {
	twenty := make([]resilience.Service, 20)
	for i := range twenty {
		twenty[i] = resilience.Service{Name: string(rune('a' + i)), Start: resilience.HealthGood}
	}
	d := degradation(t, resilience.DegradationConfig{Services: twenty, Hold: -1})
	for _, step := range []struct {
		down int // of twenty
		want resilience.Level
	}{
		{2, resilience.Full}, // 0.9 is enough not to enter
		{3, resilience.Degraded},
		{2, resilience.Degraded}, // but too little to leave
		{1, resilience.Full},
		{10, resilience.Degraded},
		{11, resilience.Minimal},
		{9, resilience.Minimal},
		{8, resilience.Degraded},
	} {
		for i, s := range twenty {
			h := resilience.HealthGood
			if i < step.down {
				h = resilience.HealthDown
			}
			report(t, d, s.Name, h)
		}
		if got := d.Level(); got != step.want {
			t.Errorf("%d of 20 down: %s, want %s", step.down, got, step.want)
		}
	}
}

func TestDegradation_BeginsWithWhatIsKnown(t *testing.T) {
	d := degradation(t, resilience.DegradationConfig{Services: []resilience.Service{{Name: "store", Critical: true}}})
	if got := d.Level(); got != resilience.Degraded {
		t.Errorf("%s while nothing is known, want DEGRADED", got)
	}
}

func TestDegradation_RefusesWhatCannotBe(t *testing.T) {
	one := []resilience.Service{{Name: "a"}}
	for name, c := range map[string]resilience.DegradationConfig{
		"no services":               {},
		"no name":                   {Services: []resilience.Service{{}}},
		"twice the same":            {Services: []resilience.Service{{Name: "a"}, {Name: "a"}}},
		"weight that is no number":  {Services: []resilience.Service{{Name: "a", Weight: math.NaN()}}},
		"weight without end":        {Services: []resilience.Service{{Name: "a", Weight: math.Inf(1)}}},
		"weight below nothing":      {Services: []resilience.Service{{Name: "a", Weight: -1}}},
		"start that is no health":   {Services: []resilience.Service{{Name: "a", Start: "fine"}}},
		"threshold is no number":    {Services: one, Enter: resilience.Thresholds{Degraded: math.NaN()}},
		"left before it is entered": {Services: one, Leave: resilience.Thresholds{Degraded: 0.8}},
		"minimal above degraded":    {Services: one, Enter: resilience.Thresholds{Minimal: 0.95}, Leave: resilience.Thresholds{Minimal: 0.95}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resilience.NewDegradation(c)
			wantCode(t, err, ktrdr.CodeInvalid)
		})
	}
}
