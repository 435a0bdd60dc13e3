package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

func TestCLI_AGoalIsKeptLetterForLetter(t *testing.T) {
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000")
	l.serve("--workers", "0", "--agents", "0") // nobody designs, so that it stays where it is
	proof := filepath.Join(t.TempDir(), "it-ran")
	goal := `trend "on" bars; $(touch ` + proof + `) && it's 'quoted' \n %s {{.}} ` + "`touch " + proof + "`" + ` ''' + __import__("os") | last words`
	made := decode[httpapi.Triggered](t, l.must("research", goal, "--json"))
	var spec struct {
		Brief string `json:"brief"`
	}
	if err := json.Unmarshal(l.op(string(made.Operation)).Spec, &spec); err != nil || spec.Brief != goal {
		t.Errorf("the research is to\n%s (%v)\nwant\n%s", spec.Brief, err, goal)
	}
	if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of the goal was run (%v)", err)
	}
}

// Nobody has to count, add up or look: a burst of failures is in the
// breaker's history and in the morning's report by itself.
func TestLifelines_ABurstOfFailuresIsToldUnasked(t *testing.T) {
	b := lifelined(t, gateway)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.lifelines.registry.Run(ctx) }()
	breaker := b.lifelines.registry.Breaker(ktrdr.ScopeProvider, "one")
	for i := range 40 { // never five in a row, and more than half
		if p, err := breaker.Allow(t.Context()); err == nil && i%3 == 0 {
			p.Done(time.Second, nil)
		} else if err == nil {
			p.Done(time.Second, outage)
		}
	}
	cancel()
	if err := <-done; err != nil { // what was owed is written
		t.Fatal(err)
	}
	counts, err := b.store.MachineSince(t.Context(), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if m := machineOf(counts, time.Unix(0, 0)); m.BreakerChanges != 1 {
		t.Errorf("the report tells of %d breakers that changed, want 1", m.BreakerChanges)
	}
	history, err := b.store.BreakerHistory(t.Context(), "provider:one", 0)
	if err != nil || len(history) != 1 || history[0].To != ktrdr.BreakerOpen || !strings.Contains(history[0].Reason, "failed") {
		t.Errorf("history %+v, %v, want one that says how many failed", history, err)
	}
}
