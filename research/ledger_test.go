package research

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
)

// ended is an operation of its own that completed.
func ended(t *testing.T, typ ktrdr.Type, n int, spec, result any) ktrdr.Operation {
	t.Helper()
	op := ktrdr.Operation{ID: ktrdr.OperationID(fmt.Sprintf("op_%s_20260101_000000_%08d", typ, n)), Type: typ, Status: ktrdr.Completed}
	var err error
	if op.Spec, err = json.Marshal(spec); err != nil {
		t.Fatal(err)
	}
	if op.Result, err = json.Marshal(result); err != nil {
		t.Fatal(err)
	}
	return op
}

func TestStandalone_AModelOnASymbolIsOneTrial(t *testing.T) {
	one, two := ktrdr.Artifact{Name: jobs.ModelFile, SHA256: ktrdr.Hash{1}}, ktrdr.Artifact{Name: jobs.ModelFile, SHA256: ktrdr.Hash{2}}
	bars := []jobs.Bars{{Symbol: "EURUSD"}}
	trainingOf := func(n int, m ktrdr.Artifact) ktrdr.Operation {
		return ended(t, ktrdr.Training, n, jobs.TrainingSpec{Bars: bars}, jobs.TrainingResult{Strategy: "mine", Model: m})
	}
	backtestOf := func(n int, m ktrdr.Artifact, symbol string) ktrdr.Operation {
		return ended(t, ktrdr.Backtesting, n, jobs.BacktestSpec{Model: m, Symbol: symbol}, jobs.BacktestResult{Strategy: "mine", ResultHash: ktrdr.Hash{9}})
	}
	unread := trainingOf(9, one)
	unread.Result = json.RawMessage(`{"model": 1}`)
	for name, c := range map[string]struct {
		ops  []ktrdr.Operation
		want int
	}{
		"a training":                            {[]ktrdr.Operation{trainingOf(1, one)}, 1},
		"a training and its backtest":           {[]ktrdr.Operation{trainingOf(1, one), backtestOf(2, one, "EURUSD")}, 1},
		"the same backtest twice":               {[]ktrdr.Operation{backtestOf(1, one, "EURUSD"), backtestOf(2, one, "EURUSD")}, 1},
		"another symbol":                        {[]ktrdr.Operation{trainingOf(1, one), backtestOf(2, one, "GBPUSD")}, 2},
		"another model":                         {[]ktrdr.Operation{trainingOf(1, one), trainingOf(2, two)}, 2},
		"one whose result nobody can read":      {[]ktrdr.Operation{trainingOf(1, one), unread}, 2},
		"a strategy with a name beyond measure": {[]ktrdr.Operation{ended(t, ktrdr.Training, 1, jobs.TrainingSpec{}, jobs.TrainingResult{Strategy: strings.Repeat("x", 1<<17)})}, 1},
	} {
		keys := map[string]bool{}
		for _, op := range c.ops {
			for _, n := range Standalone()[op.Type](op)[:1] {
				if n.Kind != NoteTrial || len(n.Data) > ktrdr.InlineState || !json.Valid(n.Data) {
					t.Errorf("%s: noted %s %.80s, want a trial that can be stored", name, n.Kind, n.Data)
				}
				keys[n.Key] = true
			}
		}
		if len(keys) != c.want {
			t.Errorf("%s: %d trials, want %d", name, len(keys), c.want)
		}
	}

	var noted Trial
	n := Standalone()[ktrdr.Backtesting](backtestOf(1, one, "EURUSD"))
	if err := json.Unmarshal(n[0].Data, &noted); err != nil || noted.Strategy != "mine" || noted.ResultHash != (ktrdr.Hash{9}).String() {
		t.Errorf("noted %s (%v), want the strategy and what the backtest came to", n[0].Data, err)
	}
}

func TestStandalone_NotesEveryOpeningOfAHoldout(t *testing.T) {
	opens := &jobs.Opening{Research: "op_agent_research_1", From: time.Unix(3600, 0).UTC(), Holdout: []ktrdr.Hash{{7}}}
	keys := map[string]bool{}
	for i := range 2 { // the same look twice is two looks: nobody can unsee
		op := ended(t, ktrdr.Backtesting, i, jobs.BacktestSpec{Symbol: "EURUSD", Opens: opens}, jobs.BacktestResult{})
		notes := Standalone()[ktrdr.Backtesting](op)
		var o Opening
		if len(notes) != 2 || notes[1].Kind != NoteOpening || json.Unmarshal(notes[1].Data, &o) != nil {
			t.Fatalf("notes %+v, want a trial and an opening", notes)
		}
		if o.By != op.ID || o.Of != opens.Research || len(o.Holdout) != 1 || o.Holdout[0] != opens.Holdout[0] {
			t.Errorf("noted %+v, want whose holdout it was and who read it", o)
		}
		keys[notes[1].Key] = true
	}
	if len(keys) != 2 {
		t.Errorf("%d openings, want 2", len(keys))
	}
}

func TestStandalone_LooksByHandCountAgainstAStrategyThatIsGiven(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
	spec := Spec{Strategy: "given", Sealed: []Span{{Symbol: "EURUSD", Timeframe: market.H1, From: day(20), To: day(30), Hash: ktrdr.Hash{5}}}}
	trained := func(n int, until time.Time) ktrdr.Operation {
		r := jobs.TrainingResult{Model: ktrdr.Artifact{SHA256: ktrdr.Hash{byte(n)}}}
		r.Data.Sources = []train.Source{{Symbol: "EURUSD", Timeframe: market.H1, First: day(1).Unix(), Last: day(30).Unix()}}
		r.Data.Split = train.Split{Test: day(10).Unix(), End: until.Unix()}
		return ended(t, ktrdr.Training, n, jobs.TrainingSpec{Bars: []jobs.Bars{{Symbol: "EURUSD"}}}, r)
	}
	traded := func(n int, symbol string, until time.Time, opens *jobs.Opening) ktrdr.Operation {
		return ended(t, ktrdr.Backtesting, 10+n, jobs.BacktestSpec{Model: ktrdr.Artifact{SHA256: ktrdr.Hash{byte(n)}}, Symbol: symbol, Opens: opens},
			jobs.BacktestResult{Timeframe: market.H1, Start: day(10), End: until})
	}
	holdout := &jobs.Opening{Research: "op_agent_research_1", From: day(20), Holdout: []ktrdr.Hash{{5}}}
	for name, c := range map[string]struct {
		ops             []ktrdr.Operation
		given, designed int
	}{
		"nothing":                            {nil, 0, 0},
		"trained on bars before it":          {[]ktrdr.Operation{trained(1, day(19))}, 0, 0},
		"trained on bars of it":              {[]ktrdr.Operation{trained(1, day(29))}, 1, 0},
		"trained and backtested on them":     {[]ktrdr.Operation{trained(1, day(29)), traded(1, "EURUSD", day(29), nil)}, 1, 0},
		"trained before, backtested in it":   {[]ktrdr.Operation{trained(1, day(19)), traded(1, "EURUSD", day(29), nil)}, 1, 0},
		"two models":                         {[]ktrdr.Operation{trained(1, day(29)), trained(2, day(29))}, 2, 0},
		"another symbol":                     {[]ktrdr.Operation{traded(1, "GBPUSD", day(29), nil)}, 0, 0},
		"opened by name":                     {[]ktrdr.Operation{traded(1, "EURUSD", day(29), holdout)}, 1, 1},
		"opened by name after it was looked": {[]ktrdr.Operation{trained(1, day(29)), traded(1, "EURUSD", day(29), holdout)}, 2, 1},
	} {
		notes := shelf{}
		for _, op := range c.ops {
			for _, n := range Standalone()[op.Type](op) {
				if at := n.Kind + " " + n.Key; notes[at].Key == "" { // the first is kept
					notes[at] = n
				}
			}
		}
		for strategy, want := range map[string]int{"given": c.given, "": c.designed} {
			spec.Strategy = strategy
			if got, err := NewMemory(notes).known(t.Context(), &spec, ktrdr.NoteQuery{}, ""); err != nil || got != want {
				t.Errorf("%s: %d looks count against strategy %q (%v), want %d", name, got, strategy, err, want)
			}
		}
	}
}
