package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// madeUpOf reads the mark of every series that `data list` shows: "true", "false"
// or "null".
func (l *lab) madeUpMarks() map[string]string {
	l.t.Helper()
	marks := map[string]string{}
	for _, s := range decode[[]struct {
		Symbol    string          `json:"symbol"`
		Timeframe string          `json:"timeframe"`
		MadeUp    json.RawMessage `json:"made_up"`
	}](l.t, l.must("data", "list", "--json")) {
		marks[s.Symbol+" "+s.Timeframe] = string(s.MadeUp)
	}
	return marks
}

// marked requires that lines with a word show where prices come from.
func (l *lab) marked(word, prices string, args ...string) {
	l.t.Helper()
	for line := range strings.Lines(l.must(args...)) {
		if strings.Contains(line, word) && strings.Contains(line, prices) {
			return
		}
	}
	l.t.Errorf("ktrdr %s: no line with %q shows %q:\n%s", strings.Join(args, " "), word, prices, l.must(args...))
}

// What is made of made-up bars is made up: resampled, renamed, appended to,
// imported again, backed up and restored.
func TestMadeUp_SeriesStayMarked(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		l.must("data", "synth", "--symbol", "FAKE", "--bars", "400", "--seed", "3")
		l.must("data", "resample", "FAKE", "1h", "4h")
		l.must("data", "synth", "--symbol", "OLD", "--bars", "300", "--seed", "4")
		l.must("data", "rename", "OLD", "NEW")
		l.imports(market.Synth(market.SynthConfig{Symbol: "REAL", Timeframe: market.H1, Bars: 400, Seed: 5}))
		l.must("data", "resample", "REAL", "1h", "4h")

		all := market.Synth(market.SynthConfig{Symbol: "MIXED", Timeframe: market.H1, Bars: 500, Seed: 6})
		l.must("data", "synth", "--symbol", "MIXED", "--bars", "300", "--seed", "6")
		l.imports(all.Slice(200, 500), "--append")

		want := map[string]string{
			"FAKE 1h": "true", "FAKE 4h": "true", "NEW 1h": "true", "MIXED 1h": "true", "REAL 1h": "false", "REAL 4h": "false",
		}
		l.sameMarks("made", want)
		for name, prices := range map[string]string{"FAKE": "made up", "NEW": "made up", "MIXED": "made up", "REAL": "imported"} {
			l.marked(name, prices, "data", "list")
			l.marked("prices", prices, "data", "show", name, "1h")
		}

		file := filepath.Join(t.TempDir(), "fake.csv")
		l.must("data", "export", "FAKE", "1h", "--csv", file)
		l.must("data", "import", file, "--symbol", "FAKE", "--timeframe", "1h")
		l.sameMarks("imported again", want)

		archive := filepath.Join(t.TempDir(), "backup")
		l.must("backup", archive)
		other := newLab(t)
		other.must("restore", archive)
		other.sameMarks("restored", want)
	})
}

func (l *lab) sameMarks(when string, want map[string]string) {
	l.t.Helper()
	got := l.madeUpMarks()
	for name, mark := range want {
		if got[name] != mark {
			l.t.Errorf("%s: made_up of %s is %s, want %s", when, name, got[name], mark)
		}
	}
	if len(got) != len(want) {
		l.t.Errorf("%s: %v, want %v", when, got, want)
	}
}

// Every list and every verdict on made-up prices says so, also when the series
// has become another since.
func TestMadeUp_EveryListAndVerdictSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "FAKE", "--bars", "4000", "--seed", "7")
	l.serve("--workers", "2")
	said := l.must("research", "trend on FAKE 1h", "--symbol", "FAKE", "--seed", "3", "--bypass-gates", "--follow")
	if !strings.Contains(said, "made up") {
		t.Errorf("a followed research does not say that its prices are made up:\n%s", said)
	}
	training := string(l.ops("--type", "training")[0].ID)
	l.marked("on FAKE 1h", "prices made up", "predict", training)
	if out := l.must("predict", training, "--json"); !strings.Contains(out, `"made_up": true`) {
		t.Errorf("the JSON of a prediction has no made_up that is true:\n%s", out)
	}
	l.imports(market.Synth(market.SynthConfig{Symbol: "FAKE", Timeframe: market.H1, Bars: 3000, Seed: 70}), "--replace")
	l.sameMarks("replaced", map[string]string{"FAKE 1h": "false"})

	op := l.ops("--type", "agent_research")[0]
	id := op.ID.Tail()
	l.marked(id, "made up", "leaderboard")
	l.marked(id, "made up", "report")
	l.marked(id, "made up", "memory", "list")
	l.marked(id, "made up", "memory", "trials")
	l.marked(id, "prices made up", "status")
	l.marked("FAKE 1h, prices made up", "this one", "results", string(op.ID))
	l.marked("Verdict:", "prices made up", "results", string(op.ID))
	l.marked("prices", "made up", "status", op.Queue.Run)
	for _, kind := range []string{"agent_research", "agent_assessment", "training", "backtesting"} {
		l.marked("prices", "made up", "status", string(l.ops("--type", kind)[0].ID))
	}
	l.marked(op.Queue.Run, "made up", "memory", "hypotheses")
	l.marked(ktrdr.ShortRun(op.Queue.Run), "made up", "runs")
	l.marked("FAKE", "made up", "models")

	spec, err := ktrdr.ParseSpec[research.Spec](op.Spec)
	if err != nil || len(spec.Bars) != 1 || spec.Bars[0].MadeUp == nil || !*spec.Bars[0].MadeUp || spec.Holdout[0].MadeUp == nil {
		t.Errorf("the spec names bars %+v, %v: want them made up", spec.Bars, err)
	}
	for _, args := range [][]string{
		{"results", string(op.ID)},
		{"leaderboard"},
		{"report"},
		{"runs"},
		{"status"},
		{"memory", "trials"},
		{"memory", "list"},
		{"memory", "hypotheses"},
		{"models"},
	} {
		if out := l.must(append(args, "--json")...); !strings.Contains(strings.ReplaceAll(out, " ", ""), `"made_up":true`) {
			t.Errorf("the JSON of ktrdr %s has no made_up that is true:\n%s", strings.Join(args, " "), out)
		}
	}
}
