package research

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// pairs is a desk whose library has EURGBP and USDCAD in hourly bars, in those of
// four hours made of them, and in daily ones of EURGBP.
func pairs(t *testing.T) (*Desk, *attic) {
	t.Helper()
	d, a := newDesk(t, map[string]int{"EURGBP": 3000, "USDCAD": 3000, "SHORT": 900})
	for _, s := range []struct {
		symbol string
		tf     market.Timeframe
	}{{"EURGBP", market.H4}, {"USDCAD", market.H4}, {"EURGBP", market.D1}} {
		b, err := d.cfg.Library.Get(t.Context(), s.symbol, market.H1)
		if err != nil {
			t.Fatal(err)
		}
		longer, err := market.Resample(b, s.tf)
		if err == nil {
			added(t, d.cfg.Library, longer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return d, a
}

func TestDesk_ResearchesAllThatIsNamed(t *testing.T) {
	both := []string{"EURGBP 1h", "EURGBP 4h", "USDCAD 1h", "USDCAD 4h"}
	for name, c := range map[string]struct {
		trigger Request
		bars    []string
		says    string
	}{
		"symbols in the brief": {
			Request{Brief: "mean reversion on EURGBP or USDCAD"},
			[]string{"EURGBP 1h", "USDCAD 1h"},
			"Research EURGBP and USDCAD together on 1h bars: one account each with 1/2 of the capital, judged on the sum.",
		},
		"both in the brief": {
			Request{Brief: "EURGBP and USDCAD using 1h and 4h"}, both, "Decide at 1h bars; designs may also read 4h bars.",
		},
		"both in the request": {
			Request{Symbols: []string{"EURGBP", "USDCAD"}, Timeframes: []string{"4h", "1h"}}, both, "designs may also read 4h bars",
		},
		"one timeframe of several": {Request{Symbols: []string{"USDCAD"}, Timeframes: []string{"4h"}, Brief: "trend"}, nil, ""},
		"a single timeframe":       {Request{Symbols: []string{"USDCAD"}, Timeframe: "1h"}, []string{"USDCAD 1h"}, "Research USDCAD on 1h bars."},
		"a symbol twice, misspelt": {
			Request{Symbols: []string{"usdcad", "USDCAD"}, Timeframes: []string{"1h", "1h"}}, []string{"USDCAD 1h"}, "Research USDCAD on 1h bars.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := pairs(t)
			order, err := d.Trigger(t.Context(), c.trigger)
			if c.bars == nil { // 750 bars of four hours
				if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "4h bars of USDCAD, and a research needs 1000") {
					t.Fatalf("err = %v, want too few bars", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := specOf(t, order.Operations[0])
			var got []string
			for _, b := range s.Bars {
				got = append(got, b.Symbol+" "+string(b.Timeframe))
			}
			if !slices.Equal(got, c.bars) || len(s.Holdout) != len(c.bars) {
				t.Errorf("bars of %q and %d in the holdout, want %q", got, len(s.Holdout), c.bars)
			}
			if told := strings.Join(order.Understood, " "); !strings.Contains(told, c.says) {
				t.Errorf("understood %q, want %q", told, c.says)
			}
		})
	}
}

func TestDesk_RefusesWhatCannotBeDoneTogether(t *testing.T) {
	two := strategytest.Small("{mode: single, symbol: EURUSD}", "{mode: multi_symbol, symbols: [EURGBP, USDCAD]}")
	mixed := strings.Replace(two, "{mode: single, timeframe: 1h}", "{mode: multi_timeframe, timeframes: [1h, 4h], base_timeframe: 1h}", 1)
	d, a := pairs(t)
	for name, c := range map[string]struct {
		trigger Request
		says    string
	}{
		"a timeframe of one symbol": {
			Request{Symbols: []string{"EURGBP", "USDCAD"}, Timeframes: []string{"1h", "1d"}},
			"there are no 1d bars of USDCAD: make them with `ktrdr data resample USDCAD 1h 1d`",
		},
		"a symbol without bars":        {Request{Symbols: []string{"EURGBP", "USDJPY"}}, "bars of USDJPY: import some"},
		"both ways to say a timeframe": {Request{Timeframe: "1h", Timeframes: []string{"4h"}}, "timeframe and timeframes are given both"},
		"an unknown timeframe":         {Request{Timeframes: []string{"1h", "often"}}, `timeframe "often" is not one of`},
		"a short second symbol": {
			Request{Symbols: []string{"EURGBP", "SHORT"}}, "there are only 900 1h bars of SHORT, and a research needs 1000",
		},
		"too few longer bars": {
			Request{Symbols: []string{"EURGBP"}, Timeframes: []string{"1h", "1d"}},
			"1d bars of EURGBP before the holdout, and a design needs 300 to read them",
		},
		"a timeframe in the brief": {Request{Brief: "EURGBP or USDCAD on 1h and 1d"}, "no 1d bars of USDCAD"},
		"a symbol in the brief":    {Request{Brief: "EURGBP or USDJPY"}, "the goal names USDJPY"},
		"one symbol of a strategy": {
			Request{StrategyYAML: two, Symbols: []string{"EURGBP"}}, "is written for EURGBP, USDCAD together, and the request names only EURGBP",
		},
		"a longer timeframe of it alone": {Request{StrategyYAML: mixed, Timeframes: []string{"4h"}}, "name 1h alone, all of them, or none"},
		"another timeframe than it has":  {Request{StrategyYAML: two, Timeframes: []string{"1h", "4h"}}, "is not written for 4h bars"},
	} {
		t.Run(name, func(t *testing.T) {
			order, err := d.Trigger(t.Context(), c.trigger)
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || len(order.Operations) > 0 || len(a.blobs) > 0 || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, %d operations and %d blobs; want a sentence with %q and nothing made", err, len(order.Operations),
					len(a.blobs), c.says)
			}
		})
	}
	for _, trigger := range []Request{
		{StrategyYAML: two},
		{StrategyYAML: two, Symbols: []string{"USDCAD", "EURGBP"}},
		{StrategyYAML: mixed, Timeframes: []string{"1h"}},
		{StrategyYAML: mixed, Timeframes: []string{"4h", "1h"}},
	} {
		order, err := d.Trigger(t.Context(), trigger)
		if err != nil || !strings.HasPrefix(order.Understood[0], "Research EURGBP and USDCAD together") {
			t.Errorf("%v, %v: %q, %v; want what the strategy names", trigger.Symbols, trigger.Timeframes, order.Understood, err)
		}
	}
}

// Bars of four hours that are of another market, or of another time.
func TestDesk_RefusesLongerBarsThatDoNotBelong(t *testing.T) {
	for says, change := range map[string]func(*market.Bars) *market.Bars{
		"the 1h and the 4h bars are not the same market": func(b *market.Bars) *market.Bars {
			for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
				for i := range column {
					column[i] *= 2
				}
			}
			return b
		},
		"have no 4h bar that is up to date": func(b *market.Bars) *market.Bars { return b.Slice(b.Len()/2, b.Len()) },
	} {
		d, _ := newDesk(t, map[string]int{"EURGBP": 6000})
		b, err := d.cfg.Library.Get(t.Context(), "EURGBP", market.H1)
		if err != nil {
			t.Fatal(err)
		}
		longer, err := market.Resample(b, market.H4)
		if err == nil {
			added(t, d.cfg.Library, change(longer))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Trigger(t.Context(), Request{Brief: "EURGBP using 1h and 4h"}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, want a sentence with %q", err, says)
		}
	}
}

func TestCheckDesign_RefusesADesignForSomeOfTheSymbols(t *testing.T) {
	text, _ := simple(t)
	bars := someSpec(t).Bars
	other := bars[0]
	other.Symbol = "GBPUSD"
	if _, err := checkDesign(text, bars); err != nil {
		t.Fatal(err)
	}
	if _, err := checkDesign(text, append(slices.Clone(bars), other)); err == nil ||
		!strings.Contains(err.Error(), "the research trades EURUSD, GBPUSD together: name all of them") {
		t.Errorf("err = %v, want all symbols named", err)
	}
}
