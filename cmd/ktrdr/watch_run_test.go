package main

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/research"
)

// TestWatcher_WhatIsActiveComesFirst is a run with more ends than a terminal has
// lines.
func TestWatcher_WhatIsActiveComesFirst(t *testing.T) {
	w := &runWatcher{watcher: watcher{a: &app{getenv: func(string) string { return "" }}}}
	w.ended = []view.LiveRow{{Depth: 1, Name: "end 1"}, {Depth: 1, Name: "end 2"}}
	w.run.ID, w.run.Size = "run_0123456789abcdef", 8
	w.active = map[ktrdr.OperationID]research.Active{
		"op_b": {
			Operation: "op_b", RunPosition: research.RunPosition{Index: 1}, Phase: "TRAINING", Child: "op_x_12ab", Progress: &ktrdr.Progress{},
		},
		"op_a": {Operation: "op_a", Phase: "DESIGNING"},
	}
	lines := view.LiveLines(w.rows(), term.Palette(false), 79)
	want := []string{"run_01234567", "  research 1 ", "  research 2 ", "    training 12ab", "  end 2", "  end 1"}
	if len(lines) != len(want) {
		t.Fatalf("lines %q, want %d of them", lines, len(want))
	}
	for i, name := range want {
		if !strings.HasPrefix(lines[i], name) {
			t.Errorf("line %d is %q, want %q: the run, what is active, then the newest end", i, lines[i], name)
		}
	}
}

func TestFollow_WhatRunsComesFirst(t *testing.T) {
	op := func(id ktrdr.OperationID, s ktrdr.Status) ktrdr.Operation {
		return ktrdr.Operation{ID: id, Status: s, Type: "dummy"}
	}
	f := &follower{watcher: watcher{a: &app{getenv: func(string) string { return "" }}}}
	f.op = op("op_root", ktrdr.Running)
	f.children = []ktrdr.Operation{op("op_ended", ktrdr.Completed), op("op_waits", ktrdr.Pending), op("op_runs", ktrdr.Running)}
	f.below = map[ktrdr.OperationID][]ktrdr.Operation{"op_runs": {op("op_below", ktrdr.Running)}}
	lines := view.LiveLines(f.rows(), term.Palette(false), 79)
	for i, name := range []string{"dummy root", "  dummy runs", "    dummy below", "  dummy waits", "  dummy ended"} {
		if !strings.HasPrefix(lines[i], name) {
			t.Errorf("line %d is %q, want %q", i, lines[i], name)
		}
	}
}
