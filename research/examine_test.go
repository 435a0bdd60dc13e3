package research

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// twoFinalists is a run whose generation ended with two.
func twoFinalists(t *testing.T, change func(*diary)) *diary {
	t.Helper()
	spec, _ := spanned(t)
	spec.HoldoutFrom = day(100)
	d := lasting(func(d *diary) {
		d.run.Until, d.finalist = time.Time{}, finalist(t, spec)
		other := *d.finalist
		other.ID = "op_agent_research_second"
		d.second = &other
	})
	change(d)
	return d
}

func TestKeeper_ExaminesTheBestTwoAndOpensTheBestThatMay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*diary)
		opened int // 1: the first by score; 0: neither
		state  string
	}{
		"the examination scores the first higher":  {func(d *diary) { d.scores = []float64{2, 1} }, 1, "robust"},
		"the examination scores the second higher": {func(d *diary) { d.scores = []float64{1, 2} }, 2, "robust"},
		"there are too few bars to examine":        {func(d *diary) { d.state = evidence.FewBars }, 1, "too_few_bars"},
		"it would take too long":                   {func(d *diary) { d.state = evidence.TooLong }, 1, "too_long"},
		"both are fragile":                         {func(d *diary) { d.state = evidence.Fragile }, 0, "fragile"},
		"both examinations fail":                   {func(d *diary) { d.breaks = true }, 0, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := twoFinalists(t, c.change)
			did := d.twice(t)
			if len(d.examined) != 2 || d.examined[0].State != c.state || d.examined[1].State != c.state {
				t.Errorf("examined %+v, want %s twice", d.examined, c.state)
			}
			if c.opened == 0 {
				if d.confirmed != nil || !slices.Equal(d.did, []string{"examine 2", "close 0", "end"}) {
					t.Errorf("did %q and confirms with %+v", d.did, d.confirmed)
				}
				if !strings.Contains(did[0].Why, "is not opened") || !strings.Contains(did[0].Why, string(d.finalist.ID)) {
					t.Errorf("the reason is %q", did[0].Why)
				}
				return
			}
			want := []*ktrdr.Operation{d.finalist, d.second}[c.opened-1].ID
			if d.confirmed == nil || d.confirmed.Look.Research != want {
				t.Errorf("confirms with %+v, want %s", d.confirmed, want)
			}
		})
	}
}

func TestKeeper_AnExaminationReadsNothingOfTheHoldout(t *testing.T) {
	d := twoFinalists(t, func(*diary) {})
	d.twice(t)
	for _, op := range d.exams {
		spec, err := ktrdr.ParseSpec[jobs.ExaminationSpec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		of, err := ktrdr.ParseSpec[Spec](d.finalist.Spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range of.Holdout {
			if strings.Contains(string(op.Spec), h.SHA256.String()) || strings.Contains(string(op.Spec), h.Hash.String()) {
				t.Errorf("the examination of %s is given bars of the holdout", spec.Research)
			}
		}
		if len(spec.Bars) == 0 || spec.Bars[0].Hash != of.Bars[0].Hash || spec.Seed != of.Seed || spec.KernelClass != of.KernelClass {
			t.Errorf("spec %+v", spec)
		}
	}
}
