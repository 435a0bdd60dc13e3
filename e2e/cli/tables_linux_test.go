package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

const (
	longSymbol   = "A_VERY_LONG_SYMBOL_OF_A_MARKET.X"
	longStrategy = "a_strategy_with_a_name_that_is_far_longer_than_any_column_of_a_table_can_ever_be_on_a_terminal"
	wideName     = "名前がとても長い作業者の名前 e\u0301e\u0301e\u0301 🚀🚀🚀 and even longer than that"
)

// furnished is a lab whose names are long, with one of everything that is listed.
func furnished(t *testing.T) (l *lab, research, training, backtest string) {
	t.Helper()
	l = newLab(t, "LANG=C.UTF-8", "KTRDR_AUTH=none")
	l.must("data", "synth", "--symbol", longSymbol, "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.keep(longStrategy+".yaml", strings.ReplaceAll(mine(t, longStrategy), "EURUSD", longSymbol))
	l.serve("--workers", "1")
	l.worker("--name", wideName)
	trained := l.finished("train", longStrategy, "--symbol", longSymbol)
	tested := l.finished("backtest", string(trained.ID))
	made := decode[researchTriggered](t, l.must("research", wideName+" trend", "--strategy", longStrategy, "--symbol", longSymbol,
		"--seed", "3", "--bypass-gates", "--ignore-unknown", "--count", "2", "--json"))
	l.run("follow", made.Run)
	l.must("pause")
	l.must("research", wideName+" trend", "--symbol", longSymbol, "--ignore-unknown", "--force") // one that waits
	l.must("token", "create", "a long name of a token, as people write it: notebook of the desk", "--scope", "read")
	return l, string(made.Operation), string(trained.ID), string(tested.ID)
}

type researchTriggered = research.Triggered

// headOf are the lines that begin a table, with the first of its columns.
var headOf = regexp.MustCompile(`^ *[A-Z][A-Z0-9-]*( [A-Z0-9-]+)* {2,}[A-Z]`)

// tableLines are the lines of tables: a head, and the lines whose second column begins
// where that of the head does.
func tableLines(text string) (lines []string) {
	second := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if head := headOf.FindString(line); head != "" {
			second = len(head) - 1
		} else if second > 0 && ansi.Cut(line, second-2, second) != "  " {
			second = 0
		}
		if second > 0 && !strings.HasPrefix(strings.TrimSpace(line), "…") { // a row that says that there are more
			lines = append(lines, line)
		}
	}
	return lines
}

// TestTables_FitATerminal runs every command that lists something in a lab with long
// names, on a terminal of 80 columns and in a pipe.
func TestTables_FitATerminal(t *testing.T) {
	t.Parallel()
	l, research, training, backtest := furnished(t)
	for _, args := range [][]string{
		{"ops"},
		{"runs"},
		{"status"},
		{"workers", "--all"},
		{"leaderboard"},
		{"report"},
		{"memory"},
		{"memory", "hypotheses"},
		{"memory", "trials"},
		{"models"},
		{"checkpoints", "list"},
		{"checkpoints", "show", training, "--history"},
		{"data", "list"},
		{"data", "show", longSymbol, "1h"},
		{"strategies"},
		{"indicators"},
		{"indicators", "macd"},
		{"token", "list"},
		{"breakers"},
		{"degradation"},
		{"results", research},
		{"results", backtest, "--include", "trades,equity,positions,returns"},
		{"predict", training},
	} {
		name := strings.Join(args, " ")
		x := labtest.OnTerminal(t, l.call(args...), 80, 24)
		x.Ended(time.Minute)
		lines := tableLines(x.Raw())
		if len(lines) < 2 && name != "breakers" {
			t.Errorf("ktrdr %s lists nothing:\n%s", name, x.Raw())
		}
		for _, line := range lines {
			if n := ansi.StringWidth(line); n > 80 {
				t.Errorf("ktrdr %s: %d columns in %q", name, n, line)
			}
		}
		piped := l.run(args...)
		if said := strings.Join(tableLines(piped.out), "\n"); strings.Contains(said, "…") || strings.Contains(piped.out, "lack of room") {
			t.Errorf("ktrdr %s cuts in a pipe:\n%s", name, piped.out)
		}
	}
}

// TestCurves_OnATerminalOrWhenAskedFor draws the curves of real results.
func TestCurves_OnATerminalOrWhenAskedFor(t *testing.T) {
	t.Parallel()
	l, research, training, backtest := furnished(t)
	const dots = "⠒"
	end := decode[jobs.BacktestResult](t, string(l.op(backtest).Result)).End.UTC().Format(time.DateOnly)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"results", backtest}, []string{"Equity of the backtest", "strategy", end}},
		{[]string{"results", training}, []string{"Training loss by epoch", "validation", "epoch 1"}},
		{[]string{"results", research}, []string{"Equity in the test part", "buy and hold", "Training loss"}},
		{[]string{"report"}, []string{"Best Sharpe ratio of the test part", "best so far", "expected best of luck alone", "trial 3"}},
	} {
		name := strings.Join(c.args, " ")
		shown := func(how string, text string, want bool) {
			for _, part := range c.says {
				if strings.Contains(text, part) != want && (want || part == c.says[0]) {
					t.Errorf("ktrdr %s %s: %q is there: %v, want %v\n%s", name, how, part, !want, want, text)
				}
			}
		}
		x := labtest.OnTerminal(t, l.call(c.args...), 80, 60)
		x.Ended(time.Minute)
		shown("on a terminal", x.Raw(), true)
		if !strings.Contains(x.Raw(), dots) {
			t.Errorf("ktrdr %s on a terminal draws no braille", name)
		}
		shown("in a pipe", l.must(c.args...), false)
		piped := l.must(append(c.args, "--curves")...)
		shown("in a pipe with --curves", piped, true)
		ascii := *l
		ascii.env = append(ascii.env, "LC_ALL=C")
		said := ascii.must(append(c.args, "--curves")...)
		shown("in another locale", said, true)
		if strings.Contains(said, dots) || !strings.Contains(said, "*") {
			t.Errorf("ktrdr %s in the locale C:\n%s", name, said)
		}
		x = labtest.OnTerminal(t, l.call(append(c.args, "--json")...), 80, 24)
		x.Ended(time.Minute)
		if strings.Contains(x.Raw(), c.says[0]) {
			t.Errorf("ktrdr %s --json on a terminal draws a curve", name)
		}
		l.refused(exitUsage, "give --curves or --json, not both", append(c.args, "--curves", "--json")...)
	}
	if op := l.op(research); op.Status != ktrdr.Completed {
		t.Errorf("the research is %s", op.Status)
	}
}
