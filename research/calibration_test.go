package research

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
)

// calibrated is the result of a calibration: of 99 copies without an edge some have a claim,
// and of 33 with an edge of a strength that the rule turns into a Sharpe ratio.
func calibrated(t *testing.T, claimed int, planted map[float64]int) *Calibration {
	t.Helper()
	s := CalibrationSpec{
		Search: Spec{Bars: []jobs.Bars{{Symbol: "EURUSD", Timeframe: "1h"}}, Markets: []SymbolMarket{{Symbol: "EURUSD", Market: "mkt_a"}}},
		Worlds: 99, Planted: 33, Researches: 8, Version: FactoryVersion, Size: 16_000, MarketBars: 20_000,
	}
	s.Search.Costs = instrument.Costs{Commission: 0.5e-4, Slippage: 0.5e-4, Spread: 1e-4}
	var all []SearchedWorld
	add := func(sharpe float64, n, found int) {
		for i := range n {
			w := SearchedWorld{World: len(all), Sharpe: new(float64(i) / 100)}
			if sharpe > 0 {
				w.Known = &sharpe
			}
			if i < found {
				w.Claims, w.Finalists = 1, 1
			}
			all = append(all, w)
		}
	}
	add(0, 99, claimed)
	for _, sharpe := range []float64{2, 4} {
		if found, ok := planted[sharpe]; ok {
			s.Strengths = append(s.Strengths, sharpe/10)
			add(sharpe, 33, found)
		}
	}
	c, err := s.result(all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The worked example of docs/research.md is computed here.
func TestCalibration_ExampleOfTheDocumentationIsRecomputed(t *testing.T) {
	page, err := os.ReadFile("../docs/research.md")
	if err != nil {
		t.Fatal(err)
	}
	c := calibrated(t, 2, map[float64]int{2: 9, 4: 31})
	for _, want := range []string{
		fmt.Sprintf("%d of %d copies have a claim. The rate is 2 / 99 = %.1f %%, the interval %.1f to %.1f %%.", c.Claimed, c.Worlds, 100*c.Rate,
			100*c.Low, 100*c.High),
		fmt.Sprintf("%d of %d copies with a planted edge of net Sharpe ratio %.1f are found, and %d of %d with %.1f", c.Power[0].Found,
			c.Power[0].Worlds, *c.Power[0].Sharpe, c.Power[1].Found, c.Power[1].Worlds, *c.Power[1].Sharpe),
		fmt.Sprintf("of the way: 2.0 + 0.79 × 2.0 = %.1f.", *c.Least),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/research.md does not say %q", want)
		}
	}
	none := calibrated(t, 0, nil)
	if want := fmt.Sprintf("With 0 claims on 99 copies the interval is 0 to %.1f %%.", 100*none.High); !strings.Contains(string(page), want) {
		t.Errorf("docs/research.md does not say %q", want)
	}
}

func TestCalibration_SaysWhenNoEdgeOrEveryEdgeIsFound(t *testing.T) {
	c := calibrated(t, 0, map[float64]int{2: 3, 4: 9})
	if c.Least != nil || !strings.Contains(c.Summary, "no planted edge was found with 80 %") {
		t.Errorf("too weak: %v, %s", c.Least, c.Summary)
	}
	if c := calibrated(t, 0, nil); c.Least != nil || c.Power != nil {
		t.Errorf("without --power: %v, %+v", c.Least, c.Power)
	}
	a, b := calibrated(t, 1, nil), calibrated(t, 2, nil)
	if half := a.Luckiest(0.5); half == nil || *half != 0.49 {
		t.Errorf("the median of the luckiest Sharpe ratios is %v, want 0.49", half)
	}
	if a.Hash == b.Hash {
		t.Error("other worlds have the same hash")
	}
}

func TestCalibration_IsStaleWithAnotherSearchOrManyMoreBars(t *testing.T) {
	c := calibrated(t, 1, nil)
	older := *c
	const measured = "This lab claimed an edge on 1 of 99 copies of this market without one: 1.0 % (95 % interval 0.0 to 5.5 %)."
	older.Version = "0"
	for name, x := range map[string]struct {
		c    *Calibration
		bars int
		want string
	}{
		"as many bars":       {c, 20_000, ""},
		"25 % more":          {c, 25_000, ""},
		"a bar more":         {c, 25_001, "the market had 20000 bars then and has 25001 now"},
		"not known":          {c, 0, ""},
		"another search":     {&older, 20_000, "it measured version 0 of the search, and this program has version " + FactoryVersion},
		"both: search first": {&older, 99_999, "it measured version 0"},
	} {
		why, quote := x.c.Stale(x.bars), x.c.Quote(x.bars)
		if !strings.HasPrefix(why, x.want) || x.want == "" && why != "" {
			t.Errorf("%s: stale because %q, want %q", name, why, x.want)
		}
		if !strings.HasPrefix(quote, measured) ||
			strings.Contains(quote, "This calibration is stale: "+why) != (why != "") ||
			strings.Contains(quote, "Repeat it with `ktrdr calibrate EURUSD 1h`") != (why != "") {
			t.Errorf("%s: %q", name, quote)
		}
	}
}

// What a quote says beside the rate is what a sceptic asks first: how large was the search, at which costs,
// what does luck alone look like, and how weak an edge would have been found.
func TestCalibrationQuote_SaysHowItWasMeasuredAndWhatIsHeard(t *testing.T) {
	c := calibrated(t, 2, map[float64]int{2: 9, 4: 31})
	const want = "This lab claimed an edge on 2 of 99 copies of this market without one: 2.0 % (95 % interval 0.2 to 7.1 %). " +
		"Each copy was searched with 8 researches of EURUSD 1h, at costs of 1.5 basis points per side. " +
		"On at least 95 % of the copies the luckiest Sharpe ratio was at most 0.94. " +
		"A planted edge with a net Sharpe ratio of 3.58 was found with 80 % probability."
	if got := c.Quote(20_000); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.CostPerSide, c.Least, c.Sharpes = nil, nil, nil // of an earlier version, and without --power
	if got := c.Quote(0); !strings.HasSuffix(got, "searched with 8 researches of EURUSD 1h.") {
		t.Errorf("of an earlier version: %s", got)
	}
}

// The least Sharpe ratio lies on a straight line between the two strengths whose shares enclose 80 %.
// Shares that fall with the strength are chance: they are made rising before.
func TestCalibration_LeastSharpeIsReadBetweenTwoStrengths(t *testing.T) {
	point := func(sharpe float64, found int) PowerPoint {
		return PowerPoint{Sharpe: &sharpe, Worlds: 10, Found: found}
	}
	unknown := PowerPoint{Worlds: 10, Found: 9} // no copy tells the Sharpe ratio of its rule
	for _, c := range []struct {
		name   string
		points []PowerPoint
		want   float64 // NaN: none
	}{
		{"between two", []PowerPoint{point(1, 2), point(2, 6), point(4, 10)}, 3},
		{"just at one", []PowerPoint{point(1, 4), point(3, 8), point(5, 10)}, 3},
		{"the weakest is found", []PowerPoint{point(1, 9), point(2, 10)}, 1},
		{"a dip changes nothing", []PowerPoint{point(1, 6), point(2, 4), point(4, 10)}, 3},
		{"unknown strengths are left out", []PowerPoint{point(1, 6), unknown, point(3, 10)}, 2},
		{"too weak", []PowerPoint{point(1, 2), point(2, 7)}, math.NaN()},
	} {
		got, why := leastFound(c.points)
		switch {
		case got == nil:
			if !math.IsNaN(c.want) || !strings.Contains(why, "the strongest has a net Sharpe ratio of 2.00") {
				t.Errorf("%s: none, %q", c.name, why)
			}
		case math.Abs(*got-c.want) > 1e-12 || why != "":
			t.Errorf("%s: %v (%q), want %v", c.name, *got, why, c.want)
		}
	}
}

// Without this, a calibration would be repeated until luck makes its rate 0.
func TestCalibrationQuote_NamesAnEarlierOneWithAHigherRate(t *testing.T) {
	s := calibrationShelf{bars: 20_000}
	for i, claimed := range []int{0, 7, 3, 9} { // newest first; the last is of another search
		c := calibrated(t, claimed, nil)
		if i == 3 {
			c.Version = "0"
		}
		s.ops = append(s.ops, ktrdr.Operation{ID: "op_c", Result: mustJSON(t, c)})
	}
	said, err := CalibrationQuote(t.Context(), s, "", "mkt_a")
	const want = " Of 2 earlier calibrations on this market the highest rate is 7.1 % (7 of 99 copies)."
	if err != nil || !strings.Contains(said, "on 0 of 99 copies") || !strings.HasSuffix(said, want) {
		t.Errorf("%q, %v", said, err)
	}
	s.ops = s.ops[1:]
	if said, err = CalibrationQuote(t.Context(), s, "", "mkt_a"); err != nil || strings.Contains(said, "earlier") {
		t.Errorf("the newest has the highest rate: %q, %v", said, err)
	}
}

// calibrationShelf is a store with calibrations that completed, the newest first.
type calibrationShelf struct {
	ops    []ktrdr.Operation
	bars   int
	also   []ktrdr.MarketSeries // of each market, before EURUSD
	merged map[string]string    // markets, and those that they were merged into
}

func (s calibrationShelf) List(context.Context, ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	return ktrdr.OperationPage{Operations: s.ops}, nil
}

func (s calibrationShelf) Market(_ context.Context, id string) (ktrdr.Market, error) {
	m := ktrdr.Market{ID: cmp.Or(s.merged[id], id), Series: slices.Clone(s.also)}
	m.Series = append(m.Series, ktrdr.MarketSeries{Symbol: "EURUSD", Timeframe: "1h", Bars: s.bars})
	return m, nil
}

func TestCalibrationQuote_IsOfTheNewestOfTheMarket(t *testing.T) {
	s := calibrationShelf{bars: 20_000}
	for _, claimed := range []int{3, 1} {
		s.ops = append(s.ops, ktrdr.Operation{ID: "op_c", Result: mustJSON(t, calibrated(t, claimed, nil))})
	}
	said, err := CalibrationQuote(t.Context(), s, "", "mkt_a")
	if err != nil || !strings.Contains(said, "on 3 of 99 copies") || strings.Contains(said, "stale") {
		t.Errorf("%q, %v", said, err)
	}
	if said, err = CalibrationQuote(t.Context(), s, "", "mkt_b"); err != nil || !strings.Contains(said, "`ktrdr calibrate EURUSD 1h`") {
		t.Errorf("another market: %q, %v", said, err)
	}
	s.bars = 30_000
	if said, err = CalibrationQuote(t.Context(), s, "", "mkt_b", "mkt_a"); err != nil ||
		!strings.Contains(said, "stale: the market had 20000") {
		t.Errorf("with more bars: %q, %v", said, err)
	}
}

// Markets that are found to be one are merged. A calibration of either was of the prices of both.
// The first series of a market may be one of a few bars, or one that is refused.
func TestCalibrationQuote_NamesTheSeriesOfTheClaim(t *testing.T) {
	s := calibrationShelf{bars: 20_000, also: []ktrdr.MarketSeries{{Symbol: "BAD", Timeframe: "1h", Bars: 6000}}}
	for of, want := range map[string]string{"SPLT 1h": "`ktrdr calibrate SPLT 1h`", "": "`ktrdr calibrate EURUSD 1h`"} {
		if said, err := CalibrationQuote(t.Context(), s, of, "mkt_a"); err != nil || !strings.Contains(said, want) {
			t.Errorf("a claim on %q: %q, %v; want %s", of, said, err, want)
		}
	}
}

func TestCalibrationQuote_OfAMergedMarketIsOfTheOneThatStays(t *testing.T) {
	s := calibrationShelf{bars: 20_000, merged: map[string]string{"mkt_b": "mkt_c", "mkt_a": "mkt_c"}}
	for i, claimed := range []int{0, 7} { // newest first
		c := calibrated(t, claimed, nil)
		c.Market = []string{"mkt_a", "mkt_b"}[i]
		s.ops = append(s.ops, ktrdr.Operation{ID: "op_c", Result: mustJSON(t, c)})
	}
	for _, m := range []string{"mkt_a", "mkt_b", "mkt_c", "eurusd"} {
		rows, err := calibrations(t.Context(), s, m)
		if err != nil || len(rows) != 2 || rows[0].Market != "mkt_c" || rows[1].Market != "mkt_c" || rows[0].Stale != "" {
			t.Errorf("of %s: %+v, %v; want both, as those of the market that stays", m, rows, err)
		} else if !strings.Contains(rows[0].Quote, "Of 1 earlier calibration on this market the highest rate is 7.1 %") {
			t.Errorf("the higher rate of the other market is left out: %s", rows[0].Quote)
		}
	}
	s.bars = 30_000
	if said, err := CalibrationQuote(t.Context(), s, "", "mkt_c"); err != nil || !strings.Contains(said, "on 0 of 99 copies") ||
		!strings.Contains(said, "stale: the market had 20000 bars then and has 30000 now") {
		t.Errorf("with more bars: %q, %v", said, err)
	}
}

// A calibration is stale by the number of bars, and its quote names it: it is counted, and not guessed from
// the size of a file.
func TestDesk_ACalibrationCountsTheBarsOfItsMarket(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 3000, "SHORT": 2400})
	made, err := d.Calibrate(t.Context(), CalibrationRequest{Symbol: "EURUSD", Timeframe: "1h", Worlds: 5, Power: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ktrdr.ParseSpec[CalibrationSpec](made.Operation.Spec)
	if err != nil || s.Size != 2400 || s.MarketBars != 3000 || len(s.Search.Holdout) != 0 {
		t.Errorf("%d bars before the holdout of %d, %d series of the holdout (%v); want 2400 of 3000 and none", s.Size, s.MarketBars,
			len(s.Search.Holdout), err)
	}
	if made.Operation.Priority >= 0 || s.All() != 5+len(plantedStrengths)*10 {
		t.Errorf("priority %d, %d worlds", made.Operation.Priority, s.All())
	}
	if _, err = d.Calibrate(t.Context(), CalibrationRequest{Symbol: "SHORT", Timeframe: "1h"}); err == nil ||
		!strings.Contains(err.Error(), "has 1920 bars") {
		t.Errorf("too few bars: %v", err)
	}
}
