package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
)

// The command that a type names as its verb exists.
func TestTypes_EveryVerbIsACommand(t *testing.T) {
	for name, d := range backend.Types() {
		if d.Verb == ktrdr.Inside {
			continue
		}
		root := newRoot(&app{out: io.Discard, err: io.Discard, getenv: os.Getenv})
		cmd, _, err := root.Find(strings.Fields(d.Verb))
		if err != nil || cmd.CommandPath() != "ktrdr "+d.Verb {
			t.Errorf("%s is started by `ktrdr %s`, which is no command (%v): add it to root.go, or change its definition", name, d.Verb, err)
		}
	}
}

// An empty list names the command that starts an operation of the wanted type.
func TestOps_AnEmptyListSaysHowToStartOne(t *testing.T) {
	for want, types := range map[string][]ktrdr.Type{
		"No operations. Start one with `ktrdr dummy`.":       nil,
		"No operations. Start one with `ktrdr data import`.": {ktrdr.DataLoad},
		"No operations.": {ktrdr.AgentDesign},
	} {
		if got := noOperations(types...); got != want {
			t.Errorf("%v: %q, want %q", types, got, want)
		}
	}
}
