package main

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// TestWatcher_WhatIsActiveComesFirst is a run with more ends than a terminal has
// lines.
func TestWatcher_WhatIsActiveComesFirst(t *testing.T) {
	w := &runWatcher{ended: []string{"end 1", "end 2"}}
	w.run.ID, w.run.Size = "run_0123456789abcdef", 8
	w.active = map[ktrdr.OperationID]research.Active{
		"op_b": {Operation: "op_b", RunPosition: research.RunPosition{Index: 1}, Phase: "TRAINING"},
		"op_a": {Operation: "op_a", Phase: "DESIGNING"},
	}
	lines := w.lines()
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "run_01234567") || !strings.Contains(lines[1], "DESIGNING") ||
		!strings.Contains(lines[2], "TRAINING") ||
		lines[3] != "end 2" || lines[4] != "end 1" {
		t.Errorf("lines %q, want the counts, what is active, then the newest end", lines)
	}
}
