package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// mistake is a request that nothing may come of.
type mistake struct {
	name   string
	ask    research.Request
	args   []string // of `ktrdr research`; nil where it cannot be said there
	status int
	says   []string // what is wrong, and what to do
}

const unprocessable = http.StatusUnprocessableEntity

func mistakes(t *testing.T) []mistake {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	broken := "name: broken\n  indicators: [\n"
	misspelt := strategytest.Small("type: rsi,", "type: rsj,")
	foreign := strategytest.Small("symbol: EURUSD", "symbol: GBPUSD")
	long := strings.Repeat("mean reversion ", 100<<10/15)
	return []mistake{
		{
			"an unknown strategy",
			research.Request{Strategy: "nosuch"},
			[]string{"--strategy", "nosuch"},
			unprocessable,
			[]string{`there is no strategy "nosuch"`, "rsi_mean_reversion"},
		},
		{
			"a path for a strategy's name", research.Request{Strategy: "../token"}, nil, // there it is a file
			unprocessable, []string{`"../token" is a path`, "give the name of a strategy, or its text"},
		},
		{
			"text that is not YAML",
			research.Request{StrategyYAML: broken},
			[]string{"--strategy", file("broken.yaml", broken)},
			unprocessable,
			[]string{"correct the strategy", ":1:7: this is not YAML"},
		},
		{
			"an unknown indicator",
			research.Request{StrategyYAML: misspelt},
			[]string{"--strategy", file("misspelt.yaml", misspelt)},
			unprocessable,
			[]string{"correct the strategy", `there is no indicator "rsj"; did you mean rsi?`},
		},
		{
			"a brief of 100 KB",
			research.Request{Brief: long},
			[]string{long},
			unprocessable,
			[]string{"at most 65536 are allowed", "in fewer words"},
		},
		{
			"a brief of 1 MB", research.Request{Brief: strings.Repeat("x", 1<<20)}, nil, // no command line is that long
			http.StatusRequestEntityTooLarge, []string{"over this route's limit of 1048576 bytes", "send less"},
		},
		{
			"an unknown model",
			research.Request{Model: "oracle"},
			[]string{"--model", "oracle"},
			unprocessable,
			[]string{`there is no model "oracle"`, "builtin needs no key"},
		},
		{
			"a symbol without bars",
			research.Request{Symbols: []string{"GBPUSD"}},
			[]string{"--symbol", "GBPUSD"},
			unprocessable,
			[]string{"there are no 1h bars of GBPUSD", "ktrdr data import", "ktrdr data synth"},
		},
		{
			"a symbol without a name",
			research.Request{Symbols: []string{""}},
			[]string{"--symbol", `""`},
			unprocessable,
			[]string{"a symbol has no name", "such as EURUSD"},
		},
		{
			"a brief about a symbol without bars",
			research.Request{Brief: "trade GBP/USD"},
			[]string{"trade GBP/USD"},
			unprocessable,
			[]string{"the goal names GBPUSD", "ktrdr data import"},
		},
		{
			"a brief about a share without bars",
			research.Request{Brief: "trade TSLA on 5m bars"},
			[]string{"trade TSLA on 5m bars"},
			unprocessable,
			[]string{"the goal names TSLA", "it has EURUSD 1h", "leave the name out"},
		},
		{
			"a brief about bars of another length",
			research.Request{Brief: "EURUSD on 5m bars"},
			[]string{"EURUSD on 5m bars"},
			unprocessable,
			[]string{"the goal names 5m bars", "it has EURUSD 1h", "leave the timeframe out"},
		},
		{
			"a strategy for a symbol without bars",
			research.Request{StrategyYAML: foreign},
			[]string{"--strategy", file("foreign.yaml", foreign)},
			unprocessable,
			[]string{"there are no 1h bars of GBPUSD", "ktrdr data import"},
		},
	}
}

func TestBadInput_SaysWhatToDoAndCreatesNothing(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve()
		for _, m := range mistakes(t) {
			body, err := json.Marshal(m.ask)
			if err != nil {
				t.Fatal(err)
			}
			status, no := l.post("/api/v1/agent/trigger", string(body))
			if status != m.status || no.Success || no.Error.Code == "" {
				t.Errorf("%s: %d %+v, want %d", m.name, status, no, m.status)
			}
			says(t, m, no.Error.Message)
			if m.args == nil {
				continue
			}
			said, code := l.Command(append([]string{"research"}, m.args...)...)
			if code == 0 || strings.Contains(said, "goroutine") || strings.Contains(said, "strategy_yaml") { // which is no word of the command line
				t.Errorf("%s: ktrdr research ends with %d\n%.2000s", m.name, code, said)
			}
			says(t, m, said)
		}
		if n := l.operations(); n != 0 {
			t.Errorf("%d operations were created by mistakes", n)
		}
		if st := l.status(); len(st.Active) != 0 || st.Last != nil || st.Phase != "IDLE" {
			t.Errorf("status after nothing but mistakes: %+v", st)
		}
	})
}

func says(t *testing.T, m mistake, text string) {
	t.Helper()
	for _, part := range m.says {
		if !strings.Contains(text, part) {
			t.Errorf("%s: it does not say %q:\n%.2000s", m.name, part, text)
		}
	}
	if strings.Contains(text, "failed to") {
		t.Errorf("%s: no sentence for people:\n%.2000s", m.name, text)
	}
}

func TestBadInput_WithoutAnyBarsItSaysWhereToGetThem(t *testing.T) {
	t.Parallel()
	l := &lab{Lab: labtest.New(t, labtest.SQLite, labtest.Calm), t: t}
	l.client = l.Client()
	l.Serve()
	said, code := l.Command("research", "anything")
	status, no := l.post("/api/v1/agent/trigger", `{"trigger_reason": "start_new_cycle"}`)
	if code == 0 || status != unprocessable {
		t.Errorf("without bars: exit %d and status %d", code, status)
	}
	for _, text := range []string{said, no.Error.Message} {
		if !strings.Contains(text, "there are no bars to research") || !strings.Contains(text, "ktrdr data synth") {
			t.Errorf("without bars it says: %s", text)
		}
	}
	if n := l.operations(); n != 0 {
		t.Errorf("%d operations were created by it", n)
	}
}

// A language model is asked for and there is no money for it: the built-in
// designer is named instead.
func TestBadInput_WithoutABudgetThereIsTheBuiltinModel(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve("KTRDR_MODELS=anthropic/claude-sonnet-5", "KTRDR_BUDGET_DAILY_USD=0")
		if b, err := l.client.Budget(t.Context()); err != nil || b.Remaining != 0 {
			t.Fatalf("budget %+v, %v, want none", b, err)
		}
		_, err := l.client.Trigger(t.Context(), research.Request{Model: "anthropic/claude-sonnet-5"}, "")
		if ktrdr.CodeOf(err) != ktrdr.CodeBudget || !strings.Contains(err.Error(), "raise the budget") ||
			!strings.Contains(err.Error(), "builtin") {
			t.Errorf("a model without a budget: %v", err)
		}
		if n := l.operations(); n != 0 {
			t.Errorf("%d operations were created by it", n)
		}
		l.Researcher()
		l.completes(l.ask(research.Request{Model: "builtin", BypassGates: true}), phases...)
	})
}

// What can only mean one thing is no mistake.
func TestInput_SymbolsAreSpelledAsTheLibraryDoes(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve()
		l.Researcher()
		id := l.ask(research.Request{Symbols: []string{"eurusd", "EURUSD"}, BypassGates: true})
		l.completes(id, phases...)
		spec := decode[research.Spec](t, l.Op(id).Spec)
		if len(spec.Bars) != 1 || spec.Bars[0].Symbol != "EURUSD" {
			t.Errorf("it researched %+v, want EURUSD once", spec.Bars)
		}
	})
}
