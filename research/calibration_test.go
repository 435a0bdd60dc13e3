package research

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
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

// calibrationShelf is a store with calibrations that completed, the newest first.
type calibrationShelf struct {
	ops  []ktrdr.Operation
	bars int
}

func (s calibrationShelf) List(context.Context, ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	return ktrdr.OperationPage{Operations: s.ops}, nil
}

func (s calibrationShelf) Market(_ context.Context, id string) (ktrdr.Market, error) {
	m := ktrdr.Market{ID: id}
	m.Series = append(m.Series, ktrdr.MarketSeries{Symbol: "EURUSD", Timeframe: "1h", Bars: s.bars})
	return m, nil
}

func TestCalibrationQuote_IsOfTheNewestOfTheMarket(t *testing.T) {
	s := calibrationShelf{bars: 20_000}
	for _, claimed := range []int{3, 1} {
		s.ops = append(s.ops, ktrdr.Operation{ID: "op_c", Result: mustJSON(t, calibrated(t, claimed, nil))})
	}
	said, err := CalibrationQuote(t.Context(), s, "mkt_a")
	if err != nil || !strings.Contains(said, "on 3 of 99 copies") || strings.Contains(said, "stale") {
		t.Errorf("%q, %v", said, err)
	}
	if said, err = CalibrationQuote(t.Context(), s, "mkt_b"); err != nil || !strings.Contains(said, "`ktrdr calibrate EURUSD 1h`") {
		t.Errorf("another market: %q, %v", said, err)
	}
	s.bars = 30_000
	if said, err = CalibrationQuote(t.Context(), s, "mkt_b", "mkt_a"); err != nil || !strings.Contains(said, "stale: the market had 20000") {
		t.Errorf("with more bars: %q, %v", said, err)
	}
}
