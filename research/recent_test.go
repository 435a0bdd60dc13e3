package research

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestRecent_ReadsATextOnce(t *testing.T) {
	var known recent[string]
	reads := 0
	read := func(text string) (string, error) {
		return known.read([]byte(text), func() (string, error) {
			reads++
			if text == "wrong" {
				return "", errors.New("it cannot be read")
			}
			return "says " + text, nil
		})
	}
	for _, step := range []struct {
		situation, text string
		reads           int
	}{
		{"one that is new", "a", 1},
		{"the same again", "a", 0},
		{"another", "b", 1},
		{"one that cannot be read", "wrong", 1},
		{"that one again", "wrong", 1},
		{"one that is too long to be kept", strings.Repeat("x", recentBytes+1), 1},
		{"that one again", strings.Repeat("x", recentBytes+1), 1},
		{"the first, after all that", "a", 0},
	} {
		before := reads
		got, err := read(step.text)
		if (err != nil) != (step.text == "wrong") || err == nil && got != "says "+step.text {
			t.Errorf("%s: it says %.20q, %v", step.situation, got, err)
		}
		if reads-before != step.reads {
			t.Errorf("%s: read %d times, want %d", step.situation, reads-before, step.reads)
		}
	}
}

func TestRecent_ForgetsTheOldest(t *testing.T) {
	var known recent[int]
	reads := 0
	read := func(i int) {
		got, err := known.read(fmt.Append(nil, i), func() (int, error) { reads++; return i, nil })
		if got != i || err != nil {
			t.Fatalf("%d says %d, %v", i, got, err)
		}
	}
	for i := range 3 * recentTexts {
		read(i)
	}
	if reads != 3*recentTexts || len(known.says) != recentTexts {
		t.Fatalf("%d read and %d kept, want %d and %d", reads, len(known.says), 3*recentTexts, recentTexts)
	}
	for i := 2 * recentTexts; i < 3*recentTexts; i++ {
		read(i)
	}
	if reads != 3*recentTexts {
		t.Errorf("%d of the newest were read again", reads-3*recentTexts)
	}
	if read(0); reads != 3*recentTexts+1 {
		t.Error("the oldest is still there")
	}
}

// A plan is a pure function of the rows. That it remembers what it has read must
// not show in a single byte.
func TestPlan_RememberingChangesNothing(t *testing.T) {
	given := someSpec(t)
	given.Strategy, _ = simple(t)
	strict := someSpec(t)
	strict.Gates.MinAccuracy = 0.9
	for name, spec := range map[string]Spec{"designed": someSpec(t), "given": given, "refused by a gate": strict} {
		t.Run(name, func(t *testing.T) {
			tr := plant(t, spec)
			for why := ktrdr.WhyCreated; tr.parent.Status == ktrdr.Running; why = ktrdr.WhyChild {
				fresh := decided(t, new(plan), tr, why)
				for range 2 {
					if again := decided(t, tr.plan, tr, why); again != fresh {
						t.Fatalf("having read before it decides\n%s\nnot\n%s", again, fresh)
					}
				}
				tr.ask(why)
				if tr.parent.Status == ktrdr.Running {
					tr.complete(nil)
				}
			}
			if len(tr.plan.specs.says) != 1 || len(tr.plan.trainings.says) != 1 {
				t.Errorf("%d specs and %d trainings are remembered, want one of each", len(tr.plan.specs.says), len(tr.plan.trainings.says))
			}
			unchanged(t, &tr.plan.specs)
			unchanged(t, &tr.plan.designs)
			unchanged(t, &tr.plan.trainings)
			unchanged(t, &tr.plan.backtests)
		})
	}
}

// decided is what a plan answers, as a text.
func decided(t *testing.T, p *plan, tr *tree, why ktrdr.Why) string {
	t.Helper()
	d, err := p.Next(tr.parent, tr.children, why)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unchanged demands that what is remembered is still what its text says.
func unchanged[T any](t *testing.T, known *recent[T]) {
	t.Helper()
	for text, v := range known.says {
		var want T
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v, want) {
			t.Errorf("%T has become\n%+v\nfrom\n%+v", v, v, want)
		}
	}
}

func TestReadStrategy_IsWarnedOfUnderItsOwnName(t *testing.T) {
	text, _ := simple(t)
	text = strings.Replace(text, "\nindicators:\n", "\nindicators:\n  of_no_use: {type: rsi, period: 5}\n", 1)
	for _, name := range []string{"first", "second", "first"} {
		s, err := readStrategy(text, name)
		if err != nil || len(s.warnings) == 0 {
			t.Fatalf("read with %v, %v; want a warning", s.warnings, err)
		}
		for _, w := range s.warnings {
			if w.File != name {
				t.Errorf("as %s it is warned of as %s", name, w.File)
			}
		}
		if s.hash != s.Hash() {
			t.Error("its hash is another's")
		}
	}
}
