package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/lookahead"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

func TestCheckLookahead_PassesHonestStrategies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, name := range []string{"rsi_mean_reversion", "return_regression", "trend_two_timeframes"} {
		out := l.must("check", "lookahead", name)
		if !strings.HasSuffix(out, "No use of future prices was found.\n") || strings.Count(out, "✔") != 3 {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

func TestCheckLookahead_FindsEveryPlantedCheat(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, tc := range []struct{ cheat, check, says string }{
		{"same-bar-fill", "fills", "became"},
		{"centred-window", "signals", "the answer changed"},
		{"whole-sample-scaling", "preparation", "an input of a training sample changed"},
		{"label-overlap", "preparation", "the label of a training sample changed"},
	} {
		for _, name := range []string{"rsi_mean_reversion", "return_regression", "trend_two_timeframes"} {
			a := l.run("check", "lookahead", name, "--plant", tc.cheat, "--json")
			r := decode[lookahead.Audit](t, a.out)
			if a.code != exitFailed || !r.Found || r.Planted != tc.cheat {
				t.Errorf("%s in %s: %v, want it found", tc.cheat, name, a)
			}
			for _, c := range r.Checks {
				if c.Check == tc.check && (c.OK || !strings.Contains(c.Finding, tc.says)) {
					t.Errorf("%s in %s: %+v, want a finding that says %q", tc.cheat, name, c, tc.says)
				}
				if tc.check == "preparation" && c.Check != tc.check && !c.OK {
					t.Errorf("%s in %s: %+v, and nothing was planted there", tc.cheat, name, c)
				}
			}
		}
	}
	l.refused(exitFailed, "The planted same-bar-fill was found.", "check", "lookahead", "rsi_mean_reversion", "--plant", "same-bar-fill")
}

func TestCheckLookahead_ReadsTheLibrary(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "AAA", "--bars", "4000", "--seed", "3")
	out := l.must("check", "lookahead", "rsi_mean_reversion", "--symbol", "AAA", "--bars", "2500")
	if !strings.Contains(out, "2000 bars of AAA 1h (the library's)") { // the first half, without the holdout
		t.Errorf("got:\n%s", out)
	}
	const two = "trend_two_timeframes"
	l.refused(exitFailed, "make them of shorter ones with --timeframe", "check", "lookahead", two, "--symbol", "AAA")
	if out := l.must("check", "lookahead", two, "--symbol", "AAA", "--timeframe", "1h"); !strings.Contains(out, "bars of AAA 4h") {
		t.Errorf("got:\n%s", out)
	}
	l.refused(exitUsage, "there are no bars of BBB 1h", "check", "lookahead", two, "--symbol", "AAA,BBB", "--timeframe", "1h")
}

// modelFile trains a model of an example and writes it to a file.
func modelFile(t *testing.T, name string) string {
	t.Helper()
	s, _, err := strategy.Parse([]byte(example(t, name)), name)
	if err != nil {
		t.Fatal(err)
	}
	s.Training.Epochs = 2
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 3000, Seed: 1, Edge: 0.2})
	ds, _, err := train.Prepare(s, []train.Series{{Symbol: "EURUSD", Bars: []*market.Bars{bars}}}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.Start(ds, s, 1, neural.Best())
	if err != nil {
		t.Fatal(err)
	}
	for !run.Done() {
		if err := run.Epoch(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := m.Encode(f); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheckLookahead_AsksAGivenModel(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	model := modelFile(t, "rsi_mean_reversion")
	mine := file(t, "mine.yaml", strings.Replace(example(t, "rsi_mean_reversion"), "epochs: 40", "epochs: 2", 1))
	r := decode[lookahead.Audit](t, l.must("check", "lookahead", mine, "--model", model, "--json"))
	if r.Found || r.Model != model || len(r.Checks) != 3 {
		t.Errorf("%+v", r)
	}
	l.refused(exitUsage, "was trained for another strategy", "check", "lookahead", "return_regression", "--model", model)
	l.refused(exitUsage, "--model "+mine, "check", "lookahead", mine, "--model", mine)
	l.refused(exitUsage, "there is no model file none.safetensors", "check", "lookahead", mine, "--model", "none.safetensors")
}

func TestCheckLookahead_SaysWhatIsWrongWithTheCommandLine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const name = "rsi_mean_reversion"
	for _, tc := range []struct {
		name, says string
		code       int
		args       []string
	}{
		{"no strategy", "takes one STRATEGY", exitUsage, nil},
		{"a cheat we do not know", "--plant bribe: there are same-bar-fill, ", exitUsage, []string{name, "--plant", "bribe"}},
		{"too few bars", "--bars must be 100 to", exitUsage, []string{name, "--bars", "5"}},
		{"a timeframe of a synthetic market", "name them with --symbol", exitUsage, []string{name, "--timeframe", "1h"}},
		{"an invalid timeframe", "--timeframe: ", exitUsage, []string{name, "--symbol", "A", "--timeframe", "x"}},
		{"a strategy that is not there", "there is no strategy", exitUsage, []string{"moon"}},
		{"bars that give no samples", "more --bars may help", exitFailed, []string{name, "--bars", "150"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := *l
			l.t = t
			l.refused(tc.code, tc.says, append([]string{"check", "lookahead"}, tc.args...)...)
		})
	}
	l.refused(exitUsage, "there is no command `ktrdr check mate`", "check", "mate")
}
