package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// modelled is a lab with bars, and a backend whose one model is a server's.
func modelled(t *testing.T, answer func(int, llmtest.Request) llmtest.Step, env ...string) (*lab, *labtest.Process) {
	t.Helper()
	server := llmtest.New(t, answer)
	l := newLab(t, append(env, "KTRDR_MODELS=test/m", "KTRDR_PROVIDERS=test="+server.OpenAI(), "KTRDR_MODEL_PRICES=test/m=1/5",
		"TEST_API_KEY=sk-canary-0123456789", "KTRDR_RETRY_MAX_RETRIES=0")...)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	p, _ := l.serve("--workers", "1")
	return l, p
}

// eventually asks until ok is true of what a command prints.
func (l *lab) eventually(what string, ok func(out string) bool, args ...string) string {
	l.t.Helper()
	var out string
	labtest.Eventually(l.t, time.Minute, what, func() bool {
		out = l.must(args...)
		return ok(out)
	})
	return out
}

func TestCLI_AGoalThatHoldsAKeyIsRefused(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-0123456789"
	l, p := modelled(t, llmtest.Script(llmtest.Step{Status: 401}))
	l.refused(exitUsage, "holds the key of a provider", "research", "trend, and my key is "+key, "--model", "test/m")
	if text := l.must("ops") + p.Err(); strings.Contains(text, key) || strings.Contains(text, "op_agent_research") {
		t.Errorf("the key is shown, or the research was made:\n%s", text)
	}
}

func TestCLI_AResetNamesTheOtherBreakerThatBlocks(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_MODELS=one/m,two/m", "KTRDR_PROVIDERS=one=http://127.0.0.1:1/one,two=http://127.0.0.1:1/two",
		"KTRDR_MODEL_PRICES=one/m=0/0,two/m=0/0")
	l.serve("--workers", "1")
	const provider, cluster = "provider:one", "cluster:127.0.0.1:1"
	l.eventually("of the cluster", func(out string) bool {
		return strings.Contains(out, provider) && strings.Contains(out, cluster)
	}, "breakers")
	person := []string{"--by", "ann", "--why", "to see"}
	decide := func(args ...string) string {
		return l.must(append(append([]string{"breakers"}, args...), person...)...)
	}

	if out := decide("reset", provider); strings.Contains(out, "still blocks") {
		t.Errorf("all are closed, and it says:\n%s", out)
	}
	decide("force", cluster, "open")
	if out := decide("reset", provider); !strings.Contains(out, provider+" is CLOSED") ||
		!strings.Contains(out, cluster+" is open too and still blocks these calls") ||
		!strings.Contains(out, "`ktrdr breakers reset "+cluster+"`") {
		t.Errorf("the cluster is open, and the reset says:\n%s", out)
	}
	if out := decide("force", provider, "open"); strings.Contains(out, "still blocks") {
		t.Errorf("nothing is to pass, and it says:\n%s", out)
	}
	if b := decode[resilience.Decided](t, decide("force", cluster, "auto", "--json")); !slices.Equal(b.AlsoBlocking, []string{provider}) {
		t.Errorf("the answer is %+v, want %s also blocking", b, provider)
	}
}

func TestCLI_TellsWhyAResearchWaitsForAModel(t *testing.T) {
	t.Parallel()
	l, p := modelled(t, llmtest.Script(llmtest.Step{Status: 429, Header: map[string]string{"Retry-After": "3600"}}), "KTRDR_MODEL_WAIT=true")
	id := string(decode[research.Triggered](t, l.must("research", "trend", "--model", "test/m", "--json")).Operation)
	out := l.eventually("until when its design waits", func(out string) bool { return strings.Contains(out, "waits until") }, "status", id)
	if !strings.Contains(out, string(ktrdr.AgentDesign)) || !strings.Contains(out, "ktrdr events op_agent_design") {
		t.Errorf("the status does not tell which part waits, and where to read why:\n%s", out)
	}
	if log := p.Err(); !strings.Contains(log, "operation waits for a model") || !strings.Contains(log, "status 429") {
		t.Errorf("the log does not tell why it waits:\n%s", log)
	}
}

// TestModels_IDsCanBeUsedOnANarrowTerminal cuts the list of models to 80 columns: each
// row still has a name of its training that no other row has.
func TestModels_IDsCanBeUsedOnANarrowTerminal(t *testing.T) {
	all := [][]string{strings.Split(view.ModelHead, "\t")}
	tails := []string{"4540215f", "e3779b10"}
	for _, random := range tails {
		m := jobs.TrainedModel{
			Operation: ktrdr.OperationID("op_training_20261116_011516_" + random), Strategy: "rsi_mean_reversion",
			Symbols: []string{"EURUSD"}, Timeframes: []string{"1h"}, MadeUp: new(true), Seed: 1 << 62,
			TestAccuracy: new(0.5), Baseline: new(0.5), Warnings: 3,
		}
		var row []string
		for _, c := range view.ModelCells(m, true) {
			row = append(row, fmt.Sprint(c))
		}
		all = append(all, row)
	}
	lines := term.LayOut(all, 80)
	for i, random := range tails {
		if !strings.HasPrefix(lines[i+1], random+" ") {
			t.Errorf("row %d does not begin with %s:\n%s", i, random, strings.Join(lines, ""))
		}
	}
	if head := lines[0]; strings.Contains(head, "SEED") || !strings.Contains(head, "ACCURACY") || !strings.Contains(head, "PRICES") {
		t.Errorf("the seed goes first, and the figures stay:\n%s", strings.Join(lines, ""))
	}
}
