package research

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// The least and the greatest accepted value of each gate, and the first past it.
func TestGates_Bounds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Gates)
		ok     bool
	}{
		"shares of 0":          {func(g *Gates) { g.MinAccuracy, g.MinWinRate, g.MaxDrawdown = 0, 0, 0 }, true},
		"shares of 1":          {func(g *Gates) { g.MinAccuracy, g.MinWinRate, g.MaxDrawdown = 1, 1, 1 }, true},
		"a share below 0":      {func(g *Gates) { g.MinAccuracy = -0.01 }, false},
		"a share above 1":      {func(g *Gates) { g.MinAccuracy = 1.01 }, false},
		"no loss":              {func(g *Gates) { g.MaxLoss = 0 }, false},
		"most loss":            {func(g *Gates) { g.MaxLoss = 1e6 }, true},
		"too much loss":        {func(g *Gates) { g.MaxLoss = 1e6 + 1 }, false},
		"least decrease":       {func(g *Gates) { g.MinLossDecrease = -100 }, true},
		"less decrease":        {func(g *Gates) { g.MinLossDecrease = -101 }, false},
		"most decrease":        {func(g *Gates) { g.MinLossDecrease = 1 }, true},
		"more decrease":        {func(g *Gates) { g.MinLossDecrease = 1.01 }, false},
		"least ratio":          {func(g *Gates) { g.MinSharpe = -100 }, true},
		"less than the ratio":  {func(g *Gates) { g.MinSharpe = -101 }, false},
		"greatest ratio":       {func(g *Gates) { g.MinSharpe = 100 }, true},
		"more than the ratio":  {func(g *Gates) { g.MinSharpe = 101 }, false},
		"least return":         {func(g *Gates) { g.MinNetReturn = -1 }, true},
		"less than all":        {func(g *Gates) { g.MinNetReturn = -1.01 }, false},
		"greatest return":      {func(g *Gates) { g.MinNetReturn = 100 }, true},
		"more than that":       {func(g *Gates) { g.MinNetReturn = 101 }, false},
		"any number of trades": {func(g *Gates) { g.MinTrades = 0 }, true},
		"less than no trade":   {func(g *Gates) { g.MinTrades = -1 }, false},
	} {
		g := DefaultGates()
		c.change(&g)
		if err := g.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
}

// Limits that are met exactly pass.
func TestGates_MetExactly(t *testing.T) {
	figures := func(accuracy, loss float64) TrainingFigures {
		return TrainingFigures{Accuracy: &accuracy, Loss: &loss, Regression: true}
	}
	if r := DefaultGates().Training(figures(0.51, 0.8)); !r.Passed {
		t.Errorf("a loss of 0.8: %s", r.Reason)
	}
	two := figures(0.51, 0.8) // of two classes the limit is 0.8 too: 1.1 times ln 2 is less
	two.Regression, two.Classes = false, 2
	if r := DefaultGates().Training(two); !r.Passed {
		t.Errorf("a loss of 0.8 with two classes: %s", r.Reason)
	}
	g := DefaultGates()
	g.MinNetReturn, g.MinTrades = 0.25, 0
	m := &backtest.Metrics{TotalTrades: 1, MaxDrawdownPct: 40, InitialCapital: 1000, TotalReturn: 250}
	if r := g.Backtest(m, true); !r.Passed {
		t.Errorf("a quarter of 1,000 gained: %s", r.Reason)
	}
	m.TotalReturn, m.TotalReturnPct = 249, 24.9
	if r := g.Backtest(m, true); r.Reason != "net_return_negative (24.90% < 25.00%)" {
		t.Errorf("less than a quarter gained: %s", r.Reason)
	}
	m.TotalTrades = 0
	if r := g.Backtest(m, false); r.Reason != "too_few_trades (0 < 1)" {
		t.Errorf("no trade: %s", r.Reason)
	}
	if r := (GateResult{Reason: "why"}).bypass(false); r.Passed || r.Reason != "why" {
		t.Errorf("not bypassed: %+v", r)
	}
	if r := (GateResult{Passed: true, Reason: "passed"}).bypass(true); r.Bypassed || r.Reason != "passed" {
		t.Errorf("passed by itself: %+v", r)
	}
	for classes, want := range map[int]float64{0: 0.8, 1: 0.8, 2: 0.8, 3: 1.1 * math.Log(3)} {
		if got := DefaultGates().lossLimit(classes); math.Abs(got-want) > 1e-12 {
			t.Errorf("the loss of %d classes is limited to %v, want %v", classes, got, want)
		}
	}
}

func TestTrainingFigures_ByHand(t *testing.T) {
	of := func(loss ...float64) *float64 {
		r := &jobs.TrainingResult{}
		r.Training.History.TrainLoss = loss
		return trainingFigures(r).LossDecrease
	}
	if got := of(4, 2, 1); got == nil || *got != 0.75 {
		t.Errorf("from 4 to 1 the loss falls by %v, want 0.75", got)
	}
	if of() != nil || of(0, 1) != nil {
		t.Error("no epoch, or a first loss of 0, has a decrease")
	}
	r := &jobs.TrainingResult{}
	if f := trainingFigures(r); f.Accuracy != nil || f.Loss != nil || f.Regression || f.Classes != 0 {
		t.Errorf("%+v without a test part, want nothing", f)
	}
}

func TestFigures_ByHand(t *testing.T) {
	hold := 30.0
	f := figuresOf(&backtest.Metrics{
		MaxDrawdownPct: 25, TotalReturnPct: 50, TotalTrades: 7, BuyAndHoldReturnPct: &hold, TotalReturn: 300, CostTotal: 100,
	})
	if f.MaxDrawdown != 0.25 || f.NetReturn != 0.5 || *f.BuyAndHold != 0.3 || f.Trades != 7 || f.CostShare != 0.25 {
		t.Errorf("%+v, want 0.25, 0.5, 0.3, 7 and 100 of 400", f)
	}
	for _, c := range []struct{ net, costs, want float64 }{
		{-1, 100, 1}, // costs ate more than all
		{0, 100, 1},  // and exactly all
		{300, 0, 0},
	} {
		if got := figuresOf(&backtest.Metrics{TotalReturn: c.net, CostTotal: c.costs}).CostShare; got != c.want {
			t.Errorf("a net of %v at costs of %v: share %v, want %v", c.net, c.costs, got, c.want)
		}
	}
	// A ratio of 0.5 a bar and 2 a year has 16 bars in a year.
	alpha, bar, year, zero := 0.25, 0.5, 2.0, 0.0
	v := &evidence.Figures{Test: evidence.Comparison{Alpha: &alpha, Sharpe: evidence.Sharpe{PerBar: &bar, Annualized: &year}}}
	if got := (&BacktestFigures{}).judged(v).Alpha; *got != 4 {
		t.Errorf("an alpha of a quarter a bar is %v a year, want 4", *got)
	}
	v.Test.Sharpe.PerBar = &zero
	if got := (&BacktestFigures{}).judged(v).Alpha; *got != 0.25 {
		t.Errorf("alpha %v without a ratio, want it per bar", *got)
	}
	if (*BacktestFigures)(nil).judged(v) != nil {
		t.Error("what was not traded has figures")
	}
}

func TestClip_ByHand(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aé", 2, "a…"}, // é has two bytes, of which one would be left
		{"é", 1, "…"},
		{"", 0, ""},
	} {
		if got := clip(c.text, c.most); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
	for n, want := range map[int]int{maxList: maxList, maxList + 1: maxList, 1: 1} {
		if got := len(clipAll(make([]string, n))); got != want {
			t.Errorf("%d texts are cut to %d, want %d", n, got, want)
		}
		if got := len(Assessment{Hypotheses: make([]Hypothesis, n)}.bounded().Hypotheses); got != want {
			t.Errorf("%d hypotheses are cut to %d, want %d", n, got, want)
		}
	}
}

func TestTrigger_Bounds(t *testing.T) {
	seed := func(n uint64) *uint64 { return &n }
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	for name, c := range map[string]struct {
		t    Request
		says string
	}{
		"one":                       {Request{Count: 1}, ""},
		"none":                      {Request{}, "count is 0"},
		"most":                      {Request{Count: MaxCount}, ""},
		"too many":                  {Request{Count: MaxCount + 1}, "count is"},
		"the longest brief":         {Request{Count: 1, Brief: strings.Repeat("a", MaxBrief)}, ""},
		"too long a brief":          {Request{Count: 1, Brief: strings.Repeat("a", MaxBrief+1)}, "the goal has"},
		"a NUL":                     {Request{Count: 1, Brief: "a\x00"}, "not text"},
		"the largest seed":          {Request{Count: 1, Seed: seed(maxSeed)}, ""},
		"too large a seed":          {Request{Count: 1, Seed: seed(maxSeed + 1)}, "seed is"},
		"the longest name":          {Request{Count: 1, Run: strings.Repeat("r", 64)}, ""},
		"too long a name":           {Request{Count: 1, Run: strings.Repeat("r", 65)}, "is no name"},
		"timeframe twice":           {Request{Count: 1, Timeframe: "1h", Timeframes: []string{"1h"}}, "given both"},
		"a timeframe":               {Request{Count: 1, Timeframe: "1h"}, ""},
		"strategy twice":            {Request{Count: 1, Strategy: "a", StrategyYAML: "b"}, "by name and by text"},
		"a strategy":                {Request{Count: 1, Strategy: "a"}, ""},
		"a text":                    {Request{Count: 1, StrategyYAML: "a"}, ""},
		"until soon":                {Request{Count: MaxGeneration, Until: in(time.Minute)}, ""},
		"too large a generation":    {Request{Count: MaxGeneration + 1, Until: in(time.Minute)}, "size of a generation"},
		"until then":                {Request{Count: 1, Until: in(-time.Minute)}, "no time within the next 7 days"},
		"until the end of a week":   {Request{Count: 1, Until: in(maxLasting - time.Minute)}, ""},
		"until after the end of it": {Request{Count: 1, Until: in(maxLasting + time.Minute)}, "no time within the next 7 days"},
	} {
		err := c.t.check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want %q", name, err, c.says)
		}
	}
}

func TestNewDesk_Bounds(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 10})
	for name, c := range map[string]struct {
		holdout    float64
		generation int
		ok         bool
	}{
		"least":            {0.05, 1, true},
		"most":             {0.5, 64, true},
		"too short":        {0.049, 1, false},
		"too long":         {0.51, 1, false},
		"less than none":   {0.2, -1, false},
		"too many at once": {0.2, 65, false},
	} {
		cfg := d.cfg
		cfg.Holdout, cfg.Generation = c.holdout, c.generation
		if _, err := NewDesk(cfg); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
	cfg := d.cfg
	cfg.Holdout, cfg.Generation, cfg.Library = 0, 0, nil
	if _, err := NewDesk(cfg); err == nil {
		t.Error("a desk without a library is made")
	}
}

func TestSpec_CountsFromZero(t *testing.T) {
	for _, c := range []struct {
		place RunPosition
		ok    bool
	}{{RunPosition{"r", 0, 0}, true}, {RunPosition{"r", -1, 0}, false}, {RunPosition{"r", 0, -1}, false}, {RunPosition{"", 0, 0}, false}} {
		if err := c.place.check(); (err == nil) != c.ok {
			t.Errorf("%+v: error is %v, want it accepted: %v", c.place, err, c.ok)
		}
	}
}

func TestOnlyFailures_ByHand(t *testing.T) {
	g := func(n, failed int) ktrdr.GenerationTally {
		return ktrdr.GenerationTally{Generation: 4, Researches: n, Failed: failed}
	}
	for name, c := range map[string]struct {
		tallies []ktrdr.GenerationTally
		over    bool
	}{
		"nothing yet":          {nil, false},
		"seven at once":        {[]ktrdr.GenerationTally{g(7, 7)}, false},
		"eight at once":        {[]ktrdr.GenerationTally{g(8, 8)}, true},
		"two twice":            {[]ktrdr.GenerationTally{g(2, 2), g(2, 2)}, true},
		"two after a success":  {[]ktrdr.GenerationTally{g(2, 1), g(2, 2)}, false},
		"a success at the end": {[]ktrdr.GenerationTally{g(8, 8), g(8, 7)}, false},
		"an empty generation":  {[]ktrdr.GenerationTally{g(8, 8), g(0, 0)}, false},
		"an empty one before":  {[]ktrdr.GenerationTally{g(0, 0), g(2, 2)}, false},
	} {
		if got := onlyFailures(c.tallies); (got != "") != c.over {
			t.Errorf("%s: %q, want it given up: %v", name, got, c.over)
		}
	}
}

func TestBarsCounts_ByHand(t *testing.T) {
	of := func(symbol string, tf market.Timeframe, bars int64) jobs.Bars {
		return jobs.Bars{Symbol: symbol, Timeframe: tf, Artifact: ktrdr.Artifact{Size: 48 * bars}}
	}
	bars := []jobs.Bars{of("A", market.H1, 700), of("B", market.H1, 500), of("B", market.D1, 20), of("C", market.H1, 300)}
	if got := mostBars(bars); got != 700 {
		t.Errorf("the longest has %d bars, want 700", got)
	}
	s := &strategy.Strategy{}
	s.Data.Base, s.Data.Symbols = market.H1, []string{"A", "B"}
	if got := leastBars(s, bars); got != 500 {
		t.Errorf("the shortest that it decides at has %d bars, want 500", got)
	}
	if got := symbolsOf(bars); !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("symbols %v, want each once", got)
	}
}

// 1,000 bars less 50 of history and 50 ahead are 900 samples. A tenth of them
// are 90, of which the 50 ahead and an embargo of a hundredth, 10, leave 30.
func TestTrainable_ByHand(t *testing.T) {
	made := func(horizon int) *strategy.Strategy {
		s := &strategy.Strategy{}
		s.Data.History = 50
		s.Training.Labels.Source = strategy.ForwardReturn
		s.Training.Labels.ForwardReturn.Horizon = horizon
		s.Training.Embargo = 0.01
		s.Training.Split.Train, s.Training.Split.Validation, s.Training.Split.Test = 0.9, 0.1, 0
		return s
	}
	if err := trainable(made(50), 1000); err != nil {
		t.Errorf("30 samples left: %v", err)
	}
	if err := trainable(made(51), 1000); err == nil || !strings.Contains(err.Error(), "about 28 samples left in its validation part") {
		t.Errorf("error is %v, want 28 left: a tenth of 899 is 89, less 51 and 10", err)
	}
	if err := trainable(made(60), 499); err != nil {
		t.Errorf("fewer bars than any research has: %v", err)
	}
	if err := trainable(made(60), 500); err == nil {
		t.Error("500 bars with 60 ahead are trainable")
	}
}

func TestProgress_ByPhase(t *testing.T) {
	last := -1.0
	for i, p := range Phases {
		got := p.progress()
		if want := max(0, i-1); got.StepsCompleted != int64(want) || got.Percentage != 100*float64(want)/float64(steps) {
			t.Errorf("%s: %d steps, %v %%; want %d", p, got.StepsCompleted, got.Percentage, want)
		}
		if got.Percentage < last {
			t.Errorf("%s goes back from %v to %v", p, last, got.Percentage)
		}
		last = got.Percentage
	}
	if got := Phase("none").done(); got != 0 {
		t.Errorf("an unknown phase has done %d steps", got)
	}
}

func TestParseAction_BoundsOfADelay(t *testing.T) {
	for text, ok := range map[string]bool{"delay=1ns": true, "delay=0s": false, "delay=-1s": false, "delay=1h": true, "delay=1h0m1s": false} {
		if _, err := ParseAction(text); (err == nil) != ok {
			t.Errorf("%s: error is %v, want it accepted: %v", text, err, ok)
		}
	}
}

func TestRecent_KeepsTheLongestText(t *testing.T) {
	var known recent[int]
	reads := 0
	for range 2 {
		if _, err := known.read(make([]byte, recentBytes), func() (int, error) { reads++; return 1, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("a text of %d bytes was read %d times, want once", recentBytes, reads)
	}
	if _, err := known.read([]byte("x"), func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("what cannot be read is read")
	}
}

func TestSlots_BusyIsAtMostTheTotal(t *testing.T) {
	types := []ktrdr.Type{ktrdr.Training}
	got := slots([]ktrdr.Worker{{Live: true, Slots: 2, Running: 5, Types: types}, {Live: true, Slots: 3, Running: 1, Types: types}},
		ktrdr.Training)
	if want := (ktrdr.WorkerSlots{Total: 5, Busy: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A name of four letters may differ in two of them.
func TestNearestSymbol_ByHand(t *testing.T) {
	known := designer.Known{Series: []designer.KnownSeries{{Symbol: "ABXY"}, {Symbol: "ABCX"}, {Symbol: "ABCY"}}}
	long := strings.Repeat("A", 60)
	for name, c := range map[string]struct {
		name  string
		known designer.Known
		want  string
	}{
		"the nearest, and the first of two": {"ABCD", known, "; did you mean ABCX?"},
		"two letters off":                   {"ABCD", designer.Known{Series: known.Series[:1]}, "; did you mean ABXY?"},
		"three letters off":                 {"WBCD", designer.Known{Series: known.Series[:1]}, ": `ktrdr data list` shows the symbols"},
		"the longest": {
			long, designer.Known{Series: []designer.KnownSeries{{Symbol: long + "B"}}}, "; did you mean " + long + "B?",
		},
		"one that is too long": {
			long + "A", designer.Known{Series: []designer.KnownSeries{{Symbol: long + "B"}}}, ": `ktrdr data list` shows the symbols",
		},
	} {
		if got := nearestSymbol(c.name, c.known); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSpecs_NeedBarsAndSymbols(t *testing.T) {
	const none = "it names 0 series of bars and 0 of the holdout"
	for _, c := range []struct {
		err  error
		says string
	}{
		{ConfirmSpec{}.Validate(), "there are no symbols"},
		{ConfirmSpec{}.Validate(), none},
		{Spec{}.Validate(), none},
		{DesignSpec{}.Validate(), "there are no bars"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("error is %v, want %q", c.err, c.says)
		}
	}
}
