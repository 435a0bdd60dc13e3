package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/strategy"
)

// example is the text of a strategy that comes with the program.
func example(t *testing.T, name string) string {
	t.Helper()
	for _, e := range strategy.Examples() {
		if e.Name == name {
			return string(e.Source)
		}
	}
	t.Fatalf("no example %s", name)
	return ""
}

// mistaken is an example with three mistakes in it.
func mistaken(t *testing.T) string {
	t.Helper()
	return strings.NewReplacer("rsi, period: 14", "rsi, perid: 14", "loss: focal", "loss: focl", "type: mlp",
		"type: mlpp").Replace(example(t, "rsi_mean_reversion"))
}

func TestValidate_ListsEveryProblemWithItsPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := file(t, "mine.yaml", mistaken(t))
	a := l.run("validate", path)
	if a.code != exitFailed {
		t.Errorf("exit %d, want %d", a.code, exitFailed)
	}
	for _, want := range []string{
		path + ":13:23: indicators.rsi_14.perid: indicator rsi has no parameter \"perid\"; did you mean period?\n",
		path + ":36:3: model.type: \"mlpp\" is not one of",
		path + ":48:3: training.loss: \"focl\" is not one of",
		"✗ " + path + ": not valid: 3 problems\n",
	} {
		if !strings.Contains(a.out, want) {
			t.Errorf("no %q in:\n%s", want, a.out)
		}
	}

	both := l.run("validate", "--json", path, file(t, "good.yaml", example(t, "lstm_momentum")))
	results := decode[[]validated](t, both.out)
	if both.code != exitFailed || len(results) != 2 || results[0].Valid || !results[1].Valid {
		t.Fatalf("two files: %v", both)
	}
	if p := results[0].Problems; len(p) != 3 || p[0].Line != 13 || p[0].Column != 23 || p[0].Path != "indicators.rsi_14.perid" {
		t.Errorf("problems: %+v", p)
	}
	if f := results[1].Strategy; f == nil || f.Name != "lstm_momentum" || len(f.Features) != 8 || f.Weights == 0 {
		t.Errorf("facts: %+v", f)
	}
}

func TestValidate_ReadsStandardInput(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	good := l.feed([]byte(example(t, "rsi_mean_reversion")), "validate", "-")
	if want := "✔ stdin: rsi_mean_reversion is valid: mlp, 7 features, 835 weights\n"; good.code != 0 || good.out != want {
		t.Errorf("%v\nwant %s", good, want)
	}
	if bad := l.feed([]byte(mistaken(t)), "validate", "-"); bad.code != exitFailed || !strings.Contains(bad.out, "stdin:13:23: ") {
		t.Errorf("%v", bad)
	}
}

func TestValidate_BoundsWhatItReads(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, tc := range []struct {
		name, says string
		text       []byte
		code       int
	}{
		{"more than a strategy", "larger than 1024 KB", make([]byte, 3<<20), exitUsage}, // it is not read
		{"a strategy too long", "which is the most for a strategy", bytes.Repeat([]byte("# \n"), 120<<10), exitFailed},
		{"nesting without end", "nested", []byte(strings.Repeat("[", 10_000)), exitFailed},
		{"bytes", "not text", []byte("name: \xff\xfe\x00"), exitFailed},
		{"nothing", "empty", nil, exitFailed},
		{"another version", "version 2", []byte("name: x\nindicators:\n  - {name: rsi}\n"), exitFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := *l
			l.t = t
			if a := l.feed(tc.text, "validate", "-"); a.code != tc.code || !strings.Contains(a.out, tc.says) {
				t.Errorf("%v\nwant exit %d and %q", a, tc.code, tc.says)
			}
		})
	}
	l.refused(exitUsage, "there is no strategy file none.yaml; name one that exists, or - for standard input", "validate", "none.yaml")
	l.refused(exitUsage, "is a directory", "validate", t.TempDir())
	l.refused(exitUsage, "takes at least one strategy FILE", "validate")
}

// keep writes a strategy into the lab's folder of strategies.
func (l *lab) keep(name, text string) {
	l.t.Helper()
	dir := filepath.Join(l.data, "strategies")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func TestStrategies_ListsFilesAndBuiltIns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	list := decode[[]listedStrategy](t, l.must("strategies", "--json"))
	if len(list) != len(strategy.Examples()) {
		t.Errorf("%d strategies, want the %d that come with the program", len(list), len(strategy.Examples()))
	}
	l.keep("mine.yaml", strings.Replace(example(t, "gru_breakout"), "name: gru_breakout", "name: mine", 1))
	l.keep("broken.yml", mistaken(t))
	l.keep("rsi_mean_reversion.yaml", example(t, "rsi_mean_reversion")) // wins over the one that comes with the program
	l.keep("notes.txt", "no strategy")
	out := l.must("strategies", "list")
	for _, want := range []string{"mine ", "broken ", "not valid: 3 problems: see `ktrdr validate ", "gru_breakout ", "built-in"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "notes") {
		t.Errorf("a file that is no strategy is listed:\n%s", out)
	}
	for _, s := range decode[[]listedStrategy](t, l.must("strategies", "list", "--json")) {
		if (s.From == "built-in") == (s.Name == "mine" || s.Name == "broken" || s.Name == "rsi_mean_reversion") {
			t.Errorf("%s is from %s", s.Name, s.From)
		}
	}
}

func TestStrategies_ShowsWhatAStrategyMeans(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out := l.must("strategies", "show", "trend_two_timeframes")
	for _, want := range []string{"bars of 1h 4h, decides at those of 1h", "15 inputs, 2019 weights", "    4h_strength_weak\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	full := file(t, "full.yaml", l.must("strategies", "show", "trend_two_timeframes", "--yaml"))
	type shown struct {
		Hash     string
		Strategy map[string]json.RawMessage
	}
	a := decode[shown](t, l.must("strategies", "show", "trend_two_timeframes", "--json"))
	b := decode[shown](t, l.must("strategies", "show", full, "--json"))
	if a.Hash != b.Hash || a.Hash == "" || len(a.Strategy) == 0 {
		t.Errorf("hash of the strategy %q, with everything spelled out %q", a.Hash, b.Hash)
	}
	l.refused(exitUsage, "did you mean rsi_mean_reversion?", "strategies", "show", "rsi_mean_revesion")
}

func TestStrategies_PrintsSchemaAndExamples(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	decode[map[string]json.RawMessage](t, l.must("strategies", "schema"))
	for _, e := range strategy.Examples() {
		if l.must("strategies", "example", e.Name) != string(e.Source) {
			t.Errorf("the example %s is not printed as it is", e.Name)
		}
	}
	l.refused(exitUsage, "there are gru_breakout", "strategies", "example", "moon")
	l.refused(exitUsage, "takes one NAME: gru_breakout", "strategies", "example")
	l.refused(exitUsage, "there is no command `ktrdr strategies burn`", "strategies", "burn")
}

func TestIndicators_ExplainsEachOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	list := decode[[]indicator.Description](t, l.must("indicators", "--json"))
	if got, want := len(list), len(indicator.Definitions()); got != want {
		t.Errorf("%d indicators, want %d", got, want)
	}
	if out := l.must("indicators"); strings.Count(out, "\n") != len(list)+2 {
		t.Errorf("the table has not a line for each indicator:\n%s", out)
	}
	out := l.must("indicators", "macd")
	for _, want := range []string{"fast_period", "12", "1 to", "histogram  price", "33 bars"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	l.refused(exitUsage, "did you mean macd?", "indicators", "mcad")
	l.refused(exitUsage, "at most one NAME", "indicators", "rsi", "macd")
}
