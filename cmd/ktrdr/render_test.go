package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
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
		{"unknown", "ffff", "", ktrdr.CodeNotFound},
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

func TestFamily_MakesAParentOnlyWhenAsked(t *testing.T) {
	leaf := dummy.Spec{Steps: 5, Parallel: true, Priority: 2}
	if got := family(leaf, 0); len(got.Children) != 0 || got.Steps != 5 {
		t.Errorf("family without children = %+v", got)
	}
	got := family(leaf, 3)
	if err := got.Validate(); err != nil || len(got.Children) != 3 || !got.Parallel || got.Priority != 2 || got.Children[0].Parallel {
		t.Errorf("family of three = %+v (%v)", got, err)
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
