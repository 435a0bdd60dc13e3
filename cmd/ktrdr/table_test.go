package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// TestTable_FitsTheTerminal lays out a table for terminals of every width: no line
// is wider, the names of rows stay whole as long as they can, and what is left out
// is said.
func TestTable_FitsTheTerminal(t *testing.T) {
	all := [][]string{
		{"OPERATION", "STATUS", "PROGRESS", "ATTEMPTS", "WORKER", "CREATED", "NOTE", "RESULT"},
		{
			"agent_assessment e3779b10", "COMPLETED", "100%", "1", "w_HCMKCRRRE2ZIU3FMMBMYUKJHI5", "47m2s ago", strings.Repeat("a long note ", 20),
			"no edge",
		},
		{"training 4540215f", "RUNNING", "7%", "2", "-", "2s ago", "", "claimed"},
	}
	for room := noCutsBelow; room < 200; room++ {
		lines := layOut(all, room)
		for _, l := range lines {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n >= room {
				t.Fatalf("a line of %d characters on a terminal of %d: %q", n, room, l)
			}
		}
		text := strings.Join(lines, "")
		if room >= 80 && (!strings.Contains(text, "agent_assessment e3779b10") || !strings.Contains(text, "COMPLETED") ||
			!strings.Contains(text, "claimed\n")) {
			t.Errorf("at %d columns the name, the status or the result is cut:\n%s", room, text)
		}
		if room >= 40 && !strings.Contains(text, "w_HCMKC") && !strings.Contains(text, "lack of room: WORKER") {
			t.Errorf("at %d columns nothing says that the worker is left out:\n%s", room, text)
		}
	}
	if text := strings.Join(layOut(all, 0), ""); !strings.Contains(text, strings.Repeat("a long note ", 19)) ||
		!strings.Contains(text, "w_HCMKCRRRE2ZIU3FMMBMYUKJHI5") {
		t.Errorf("without a terminal something is cut:\n%s", text)
	}
}

// TestTable_MadeUpPricesAreAlwaysMarked lays out every table that says of what kind
// the prices are, in rows of long texts, for terminals of every width.
func TestTable_MadeUpPricesAreAlwaysMarked(t *testing.T) {
	for _, head := range []string{
		strings.Join(leaderHead, "\t"),
		"OPERATION\tSTRATEGY\tMARKET\tPRICES\tRUN\tSHARPE\tALPHA\tRETURN\tTRADES\tTRIALS\tLOOKS\tAT\tRESULT",
		"RESEARCH\tSTRATEGY\tPRICES\tVERDICT\t" + strings.Join(evidenceHead, "\t") + "\tRETURN\tTRADES\tAT\tRESULT",
		modelHead,
		"RUN\tSTATE\tPRICES\tCREATED\tRESEARCHES\tOPEN\tFAILED\tFINALISTS\tLOOKS\tCLAIMS\tGOAL",
		"SYMBOL\tTIMEFRAME\tBARS\tFIRST\tLAST\tSIZE\tHASH\tPRICES\tFROM\tMARKET\tHOLDOUT FROM\tTRIALS\tLOOKS",
	} {
		names := strings.Split(head, "\t")
		row := make([]string, len(names))
		for i, name := range names {
			row[i] = strings.Repeat("x", 18)
			switch name {
			case "PRICES":
				row[i] = "made up"
			case "RESULT":
				row[i] = "no edge: too few trades"
			}
		}
		for room := noCutsBelow; room < 260; room++ {
			text := strings.Join(layOut([][]string{names, row}, room), "")
			if !strings.Contains(text, "made up") || room >= 40 && slices.Contains(names, "RESULT") && !strings.Contains(text, "no edge: ") {
				t.Errorf("at %d columns the mark or the result is not to be seen:\n%s", room, text)
				break
			}
		}
	}
}

func TestTable_EveryRowHasItsColumns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(rt, "columns")
		cell := rapid.StringMatching(`[a-z]{0,30}`)
		var all [][]string
		for range rapid.IntRange(1, 5).Draw(rt, "rows") {
			all = append(all, rapid.SliceOfN(cell, n, n).Draw(rt, "row"))
		}
		room := rapid.IntRange(0, 120).Draw(rt, "room")
		for _, l := range layOut(all, room) {
			if room >= noCutsBelow && utf8.RuneCountInString(l) > room {
				rt.Fatalf("%d characters on %d columns: %q", utf8.RuneCountInString(l), room, l)
			}
		}
	})
}

// TestScreen_FollowsTheSizeOfTheTerminal draws more lines than there is room for,
// then again on a narrower terminal, which has wrapped what was drawn.
func TestScreen_FollowsTheSizeOfTheTerminal(t *testing.T) {
	var b bytes.Buffer
	columns, rows := 20, 4
	s := screen{w: &b, size: func(io.Writer) (int, int) { return columns, rows }}
	s.draw([]string{"active one", "active two", "ended", "ended", "ended"})
	if got, want := b.String(), "active one\nactive two\n… 3 more lines\n"; got != want {
		t.Errorf("drawn %q, want %q: the first lines stay", got, want)
	}
	b.Reset()
	columns, rows = 6, 24
	s.draw([]string{"active one"})
	if got, want := b.String(), "\x1b[7A\x1b[Jacti…\n"; got != want {
		t.Errorf("drawn %q, want %q: three lines of 10, 10 and 14 take 2, 2 and 3 rows of 6", got, want)
	}
}

// TestWatcher_WhatIsActiveComesFirst is a run with more ends than a terminal has
// lines.
func TestWatcher_WhatIsActiveComesFirst(t *testing.T) {
	w := &runWatcher{ended: []string{"end 1", "end 2"}}
	w.run.ID, w.run.Size = "run_0123456789abcdef", 8
	w.active = map[ktrdr.OperationID]research.Active{
		"op_b": {
			Operation:   "op_b",
			RunPosition: research.RunPosition{Index: 1},
			Phase:       "TRAINING",
		},
		"op_a": {Operation: "op_a", Phase: "DESIGNING"},
	}
	lines := w.lines()
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "run_01234567") || !strings.Contains(lines[1], "DESIGNING") ||
		!strings.Contains(lines[2], "TRAINING") ||
		lines[3] != "end 2" || lines[4] != "end 1" {
		t.Errorf("lines %q, want the counts, what is active, then the newest end", lines)
	}
}

// TestModels_IDsCanBeUsedOnANarrowTerminal cuts the list of models to 80 columns: each
// row still has a name of its training that no other row has.
func TestModels_IDsCanBeUsedOnANarrowTerminal(t *testing.T) {
	all := [][]string{strings.Split(modelHead, "\t")}
	tails := []string{"4540215f", "e3779b10"}
	for _, random := range tails {
		m := jobs.TrainedModel{
			Operation: ktrdr.OperationID("op_training_20261116_011516_" + random), Strategy: "rsi_mean_reversion",
			Symbols: []string{"EURUSD"}, Timeframes: []string{"1h"}, MadeUp: new(true), Seed: 1 << 62,
			TestAccuracy: new(0.5), Baseline: new(0.5), Warnings: 3,
		}
		var row []string
		for _, c := range modelCells(m, true) {
			row = append(row, fmt.Sprint(c))
		}
		all = append(all, row)
	}
	lines := layOut(all, 80)
	for i, random := range tails {
		if !strings.HasPrefix(lines[i+1], random+" ") {
			t.Errorf("row %d does not begin with %s:\n%s", i, random, strings.Join(lines, ""))
		}
	}
	if head := lines[0]; strings.Contains(head, "SEED") || !strings.Contains(head, "ACCURACY") || !strings.Contains(head, "PRICES") {
		t.Errorf("the seed goes first, and the figures stay:\n%s", strings.Join(lines, ""))
	}
}
