package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/evidence"
)

func TestExitCode_IsTheResult(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing wrong", nil, exitOK},
		{"an ordinary error", errors.New("disk full"), exitFailed},
		{"a wrong flag", usagef("no such flag"), exitUsage},
		{"wrapped usage", fmt.Errorf("serve: %w", usagef("no")), exitUsage},
		{"a cancelled operation", &exitError{code: exitCancelled}, exitCancelled},
		{"Ctrl-C", fmt.Errorf("follow: %w", errStopped), exitInterrupted},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%s: exit code %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestComplain_SaysNothingTwice(t *testing.T) {
	var b bytes.Buffer
	a := &app{err: &b}
	a.complain(&exitError{code: exitCancelled})
	if b.Len() > 0 {
		t.Errorf("complained %q about what was told already", b.String())
	}
	a.complain(errors.Join(errors.New("one"), errors.New("two")))
	if got, want := b.String(), "ktrdr: one\n       two\n"; got != want {
		t.Errorf("complaint = %q, want %q", got, want)
	}
}

func TestChoose_TakesOnlyWhatIsUnambiguous(t *testing.T) {
	ids := []ktrdr.OperationID{
		"op_dummy_20261114_010203_3fa90000", "op_dummy_20261114_010203_3fb00000", "op_training_20261114_010203_00001111",
	}
	for _, tc := range []struct {
		name, text string
		want       ktrdr.OperationID
		code       ktrdr.Code
	}{
		{"the beginning of one", "op_tr", ids[2], ""},
		{"four characters of the tail", "3fa9", ids[0], ""},
		{"a whole id", string(ids[1]), ids[1], ""},
		{"the beginning of two", "op_dummy", "", ktrdr.CodeInvalid},
		{"too little of the tail", "3fa", "", ktrdr.CodeNotFound},
		{"nobody's", "ffff", "", ktrdr.CodeNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var found []ktrdr.Operation
			for _, id := range ids {
				if named(id, tc.text) {
					found = append(found, ktrdr.Operation{ID: id, Root: id})
				}
			}
			got, err := choose(tc.text, found, "")
			if got != tc.want || ktrdr.CodeOf(err) != tc.code {
				t.Errorf("choose(%q) = %q, %v; want %q, %q", tc.text, got, err, tc.want, tc.code)
			}
		})
	}
}

func TestStory_TellsEveryKindOfEvent(t *testing.T) {
	for _, tc := range []struct {
		kind ktrdr.EventKind
		data string
		want string
	}{
		{ktrdr.EventClaimed, `{"worker_id":"w_1"}`, "claimed by w_1 (epoch 3)"},
		{ktrdr.EventFailed, `{"error_message":"disk full"}`, "failed: disk full"},
		{ktrdr.EventReleased, `{"reason":"Graceful shutdown"}`, "released: Graceful shutdown"},
		{ktrdr.EventReleased, `{}`, "released"},
		{ktrdr.EventCheckpoint, `{"checkpoint_type":"periodic","step":5}`, "checkpoint periodic at step 5"},
		{ktrdr.EventPhase, `{"from":"DESIGNING","to":"TRAINING"}`, "phase TRAINING"},
		{ktrdr.EventRunCancelled, `{"run":"run_1","by":"ann","reason":"enough"}`, "run_1 cancelled by ann: enough"},
		{ktrdr.EventRunCancelled, `{"run":"run_1","by":"ann"}`, "run_1 cancelled by ann"},
		{ktrdr.EventRunGivenUp, `{"run":"run_1","reason":"all failed"}`, "run_1 given up: all failed"},
		{ktrdr.EventRunEnded, `{"run":"run_1","state":"COMPLETED"}`, "run_1 ended: COMPLETED"},
		{ktrdr.EventGenerationClosed, `{"run":"run_1","generation":2}`, "run_1: generation 2 is closed"},
		{ktrdr.EventCreated, ``, "created"},
		{ktrdr.EventPaused, `not json`, "paused"},
	} {
		if got := story(ktrdr.Event{Kind: tc.kind, Epoch: 3, Data: json.RawMessage(tc.data)}); got != tc.want {
			t.Errorf("story of %s = %q, want %q", tc.kind, got, tc.want)
		}
	}
}

func TestFamily_MakesAParentOnlyWhenAsked(t *testing.T) {
	leaf := dummy.Spec{Steps: 5, Parallel: true, Priority: 2}
	if got := family(leaf, 0); len(got.Children) != 0 || got.Steps != 5 {
		t.Errorf("family of nobody = %+v", got)
	}
	got := family(leaf, 3)
	if err := got.Validate(); err != nil || len(got.Children) != 3 || !got.Parallel || got.Priority != 2 || got.Children[0].Parallel {
		t.Errorf("family of three = %+v (%v)", got, err)
	}
}

func TestNote_SaysUntilWhenAnOperationWaits(t *testing.T) {
	until := time.Now().Add(90 * time.Minute)
	got := note(ktrdr.Operation{Status: ktrdr.Pending, NotBefore: until})
	if want := until.Local().Format(time.DateTime); !strings.Contains(got, want) || !strings.Contains(got, "1h") {
		t.Errorf("note = %q, want it to say %s", got, want)
	}
}

func TestPrintCurve_ShowsWhatIsThereAndSaysWhatIsNot(t *testing.T) {
	some := func(x float64) *float64 { return &x }
	day := time.Date(2020, 3, 4, 5, 0, 0, 0, time.UTC)
	months := make([]*float64, 12)
	months[1], months[11] = some(0.0123), some(-0.5)
	for name, c := range map[string]struct {
		curve *evidence.Curve
		want  []string
	}{
		"nothing": {nil, nil},
		"a curve": {&evidence.Curve{
			Years: []evidence.Year{{Year: 2020, Months: [12]*float64(months), Return: -0.49}},
			Drawdowns: []evidence.Drawdown{
				{Peak: day, Trough: day.Add(time.Hour), Recovered: &day, Depth: 0.1, Bars: 3}, {Peak: day, Trough: day, Depth: 0.05, Bars: 2},
			},
			Sharpe: evidence.Interval{
				Estimate: some(1), Low: some(0.5), High: some(1.5), P: some(0.01), PerYear: true, Level: 0.95, Draws: 1000, Block: 20,
			},
		}, []string{
			"Sharpe ratio per year: 1, from 0.5 to 1.5 with 95 % confidence; chance alone does as well in 1 % of cases (1000 resamples in blocks " +
				"of about 20 bars; strategies tried before are not counted)",
			"Returns in %:", "YEAR JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC WHOLE", "2020 1.23 -50.00 -49.00",
			"Deepest drawdowns:", "PEAK TROUGH DEPTH RECOVERED BARS",
			"2020-03-04 05:00 2020-03-04 06:00 10.00 % 2020-03-04 05:00 3", "2020-03-04 05:00 2020-03-04 05:00 5.00 % not yet 2",
		}},
		"no risk, no fall": {&evidence.Curve{Sharpe: evidence.Interval{Undefined: "the 9 returns do not vary"}}, []string{
			"Sharpe ratio: undefined: the 9 returns do not vary", "Returns in %:", "YEAR JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC WHOLE",
		}},
	} {
		var b bytes.Buffer
		printCurve(&b, c.curve)
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: printed\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestStatus_SlotsThatTypesShareAreSaidOnce(t *testing.T) {
	dummyAndLoad := []ktrdr.Type{ktrdr.Dummy, ktrdr.DataLoad}
	var b bytes.Buffer
	printSlots(&b, []ktrdr.Worker{
		{Live: true, Types: dummyAndLoad, Slots: 2, Running: 2},
		{Live: true, Types: []ktrdr.Type{ktrdr.DataLoad, ktrdr.Dummy}, Slots: 1},
		{Live: true, Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1, Running: 1},
		{Types: dummyAndLoad, Slots: 4, Running: 4}, // is gone
	})
	if got, want := b.String(), "workers: 3 live; data_load, dummy: 2 of 3 slots busy; dummy: 1 of 1 slots busy\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestPrint_JSONKeepsOthersFromTheTerminal(t *testing.T) {
	const turned = "safe\u202etxt.exe\u2066\u200f\u061c"
	var out bytes.Buffer
	a := &app{out: &out, json: true}
	if err := errors.Join(a.print(turned, nil), a.line(turned)); err != nil {
		t.Fatal(err)
	}
	const text = `"safe\u202etxt.exe\u2066\u200f\u061c"` + "\n"
	if got, want := out.String(), text+text; got != want {
		t.Errorf("as JSON %q, want %q", got, want)
	}
}
