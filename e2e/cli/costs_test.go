package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// describe writes the file of instruments of a lab.
func (l *lab) describe(text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.data, instrument.FileName), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// A strategy that would trade for nothing, given through the binary, pays what
// its symbol costs, and every view says so.
func TestCosts_AGivenStrategyPaysTheFloor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.serve("--workers", "1")
	text := regexp.MustCompile(`(?m)^backtest:.*\n(?:[ \t].*\n)*`).ReplaceAllString(l.must("strategies", "example", "rsi_mean_reversion"), "")
	text = regexp.MustCompile(`\n  epochs: \d+`).ReplaceAllString(text, "\n  epochs: 3") +
		"\nbacktest: {commission: 0.00000001, slippage: 0, spread: 0}\n"
	file := filepath.Join(t.TempDir(), "free.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := l.run("research", "--strategy", file, "--bypass-gates", "--seed", "1", "--follow")
	if a.code != exitOK {
		t.Fatal(a)
	}
	for _, want := range []string{
		"warning: No costs are set for EURUSD, so it pays the default for major FX: 1.5 basis points a side. " +
			"Set its costs with --costs EURUSD=0.5/0.5/1,",
		"warning: The strategy's backtest section (0.0001 basis points a side) is below the cost floor of EURUSD, " +
			"so it is traded at the floor: 1.5 basis points a side (default: major FX).",
	} {
		if !strings.Contains(a.err, want) {
			t.Errorf("the start does not say %q:\n%s", want, a.err)
		}
	}
	tests := l.ops("--type", "backtesting")
	if len(tests) != 1 {
		t.Fatalf("%d backtests, want one", len(tests))
	}
	run := decode[jobs.BacktestResult](t, string(l.op(string(tests[0].ID)).Result))
	if c := run.Config; c.Commission != 0.00005 || c.Slippage != 0.00005 || c.Spread != 0.0001 {
		t.Errorf("the backtest paid %v/%v/%v, want the default of major FX", c.Commission, c.Slippage, c.Spread)
	}
	op := l.ops("--type", "agent_research")[0]
	out := l.must("results", string(op.ID))
	for _, want := range []string{
		"so it was traded at the floor: 1.5 basis points a side (default: major FX).",
		"warning: No costs are set for EURUSD, so it paid the default for major FX: 1.5 basis points a side.",
		"PER SIDE", "default", "0.0001bp", "cost per side",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("results do not say %q:\n%s", want, out)
		}
	}
	var r research.Result
	if err := json.Unmarshal(l.op(string(op.ID)).Result, &r); err != nil || len(r.Costs) != 1 || r.Costs[0].Overruled == nil ||
		r.Figures.CostBelowDefault {
		t.Errorf("the result says %+v, %v", r.Costs, err)
	}
	// By hand nothing is overruled.
	training := l.ops("--type", "training")[0]
	hand := l.finished("backtest", string(training.ID))
	if own := decode[jobs.BacktestResult](t, string(hand.Result)); own.Config.Commission != 1e-8 || own.Config.Spread != 0 {
		t.Errorf("a backtest by hand paid %+v, want what the strategy says", own.Config)
	}
	if strings.Contains(l.must("leaderboard"), report.CostLegend) {
		t.Error("the leaderboard marks a cost that is the default")
	}
}

func TestCosts_TheFileIsReadWithoutARestart(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_COSTS=EURUSD=9/0/0")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000")
	l.serve("--workers", "0", "--agents", "0")
	pinned := func(args ...string) research.SymbolCosts {
		t.Helper()
		made := decode[research.Triggered](t, l.must(append([]string{"research", "--force", "--json"}, args...)...))
		return decode[research.Spec](t, string(l.op(string(made.Operation)).Spec)).SymbolCosts[0]
	}
	check := func(got research.SymbolCosts, source research.CostSource, costs string) {
		t.Helper()
		if got.Symbol != "EURUSD" || got.Source != source || got.Costs.String() != costs {
			t.Errorf("pinned %s of %s for %s, want %s of %s", got.Costs, got.Source, got.Symbol, costs, source)
		}
	}
	check(pinned(), research.CostsOfSettings, "9/0/0")
	l.describe("instruments:\n  EURUSD:\n    costs: {commission: 2, slippage: 1, spread: 2}\n")
	check(pinned(), research.CostsOfFile, "2/1/2")
	l.describe("instruments:\n  eurusd:\n    class: index\n    costs: {commission: 3, slippage: 0, spread: 0}\n")
	if got := pinned(); got.Class != instrument.Index || got.ClassSource != research.ClassOfFile {
		t.Errorf("the class is %s of %s, want that of the file", got.Class, got.ClassSource)
	}
	check(pinned(), research.CostsOfFile, "3/0/0")
	check(pinned("--costs", "EURUSD=4/0/0"), research.CostsOfRun, "4/0/0")
	l.refused(exitUsage, "costs: there are no bars of EURUDS; did you mean EURUSD?", "research", "--costs", "EURUDS=4/0/0")

	l.describe("instruments:\n  EURUSD:\n    cost: {commission: 3, slippage: 0, spread: 0}\n")
	l.refused(exitUsage, `instruments.yaml:3:5: instruments.EURUSD: there is no key "cost"; did you mean costs?`, "research", "--force")
	l.refused(exitFailed, "instruments.yaml:3:5", "doctor")
	l.describe("# nothing\n")
	check(pinned(), research.CostsOfSettings, "9/0/0")
}

func TestCosts_BelowTheDefaultIsMarkedInEveryTable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.serve("--workers", "1")
	a := l.run("research", "trend on EURUSD 1h", "--seed", "3", "--bypass-gates", "--follow", "--costs", "EURUSD=0.01/0/0")
	if a.code != exitOK ||
		!strings.Contains(a.err,
			"are below the default for major FX: 0.01 basis points a side, where the default is 1.5. Its results are marked.") {
		t.Fatal(a)
	}
	op := l.ops("--type", "agent_research")[0]
	for name, out := range map[string]string{
		"research --follow": a.out, "leaderboard": l.must("leaderboard"), "memory": l.must("memory"), "report": l.must("report"),
		"results": l.must("results", string(op.ID)),
	} {
		mark := "0.01bp*"
		if name == "leaderboard" || name == "research --follow" || name == "report" {
			mark = " *\n"
		}
		if !strings.Contains(out, mark) || !strings.Contains(out, report.CostLegend) {
			t.Errorf("%s does not mark the cost:\n%s", name, out)
		}
	}
	board := decode[report.Leaderboard](t, l.must("leaderboard", "--symbol", "eurusd", "--json")).Rows // in other capitals
	if len(board) != 1 || !board[0].CheapCosts {
		t.Errorf("the leaderboard says %+v", board)
	}
}

func TestDemo_TakesCosts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.env = append(l.env, "TMPDIR="+t.TempDir())
	l.refused(exitUsage, "leave out --researches, --seed, --edge, --costs and --open", "demo", "--kill", "--costs", "SYNTH=1/1/1")
	l.refused(exitUsage, "costs: there are no bars of EURUSD", "demo", "--exit", "--costs", "EURUSD=1/1/1")
}
