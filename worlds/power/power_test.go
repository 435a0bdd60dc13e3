package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// small is a table of one kind that takes a second.
func small(t *testing.T, more ...string) options {
	t.Helper()
	o, err := parse(append([]string{
		"-worlds", "1", "-null", "1", "-rules", "1", "-bars", "3000", "-researches", "1", "-version", "test", "-kinds", "momentum",
		"-state", filepath.Join(t.TempDir(), "power.jsonl"),
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func made(t *testing.T, o options) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), o, &out, time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is done is not done again, whenever the command was stopped, and the table is the same.
func TestRun_ContinuesWhereItWasStopped(t *testing.T) {
	o := small(t)
	first := made(t, o)
	if rows := strings.Count(first, "| momentum |"); rows != 5+1 || strings.Contains(first, "trend") {
		t.Fatalf("%d rows, want 5 of one kind and its sum:\n%s", rows, first)
	}
	text, err := os.ReadFile(o.state)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(string(text), "\n{")
	if want := 5 + 5 + 1; lines != want { // rules, searches, no edge
		t.Fatalf("%d worlds were written, want %d", lines, want)
	}
	if err := os.WriteFile(o.state, text[:len(text)*2/3], 0o600); err != nil { // a line is cut off
		t.Fatal(err)
	}
	again := small(t)
	again.state = o.state
	if got := made(t, again); got != first {
		t.Errorf("the table is another one after a restart:\n%s\nwas\n%s", got, first)
	}
	third, err := os.ReadFile(o.state)
	if err != nil {
		t.Fatal(err)
	}
	made(t, again)
	if last, err := os.ReadFile(o.state); err != nil || !bytes.Equal(last, third) {
		t.Errorf("a complete table was measured again (%v)", err)
	}
}

// A world of another version is no part of the table.
func TestTable_CountsWorldsOfItsVersion(t *testing.T) {
	o := small(t, "-worlds", "2")
	c := o.cells()[0]
	other := o.setup
	other.Version = "another"
	mine, theirs := record{cell: c, Search: &found{Confirmed: true}, setup: o.setup}, record{cell: c, World: 1, Search: &found{}, setup: other}
	if got := tabulate(o, []record{mine, theirs}, time.Time{}).rows[0].foundConfirmed; got.Runs != 1 || got.Claims != 1 {
		t.Errorf("%+v, want 1 of 1", got)
	}
}

// The p-value of a candidate is its rank among the searches without an edge.
func TestCritical_IsTheRankOfTheLevel(t *testing.T) {
	null := func(n int) (all []found) {
		for i := range n {
			score := float64(i)
			all = append(all, found{Score: &score})
		}
		return all
	}
	for n, want := range map[int]float64{39: 38, 78: 77, 79: 77, 119: 116} {
		if got := critical(null(n)); got == nil || *got != want {
			t.Errorf("of %d scores from 0 on: %v, want %g", n, got, want)
		}
	}
	if got := critical(null(38)); got != nil {
		t.Errorf("38 searches without an edge cannot show p = 0.025, and a limit of %g was taken", *got)
	}
}

func TestReplace_WritesBetweenItsLinesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + tableBegin + "old\n" + tableEnd + "after\n")
	if err := replace(path, "new"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "before\n"+tableBegin+"\nnew\n"+tableEnd+"after\n" {
		t.Errorf("%q", got)
	}
	write("before\nafter\n")
	if err := replace(path, "new"); err == nil {
		t.Error("a document without the lines was written to")
	}
}

func TestParse_RefusesWhatItCannotMeasure(t *testing.T) {
	for _, args := range [][]string{{"-kinds", "momentun"}, {"-bars", "100"}, {"-worlds", "-1"}, {"-researches", "0"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
