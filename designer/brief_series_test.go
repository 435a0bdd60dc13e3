package designer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
)

var crosses = designer.Known{Series: []designer.KnownSeries{
	{Symbol: "EURGBP", Timeframe: market.H1, Bars: 20_000},
	{Symbol: "EURGBP", Timeframe: market.H4, Bars: 5_000},
	{Symbol: "EURGBP", Timeframe: market.D1, Bars: 900},
	{Symbol: "USDCAD", Timeframe: market.H1, Bars: 15_000},
	{Symbol: "USDCAD", Timeframe: market.H4, Bars: 4_000},
	{Symbol: "AUDNZD", Timeframe: market.H1, Bars: 40_000},
	{Symbol: "AAPL", Timeframe: market.D1, Bars: 60_000},
}}

func TestRead_SeveralSymbolsAndTimeframes(t *testing.T) {
	hour, four, day := market.H1, market.H4, market.D1
	for text, want := range map[string]struct {
		symbols string
		base    market.Timeframe
		longer  []market.Timeframe
	}{
		"mean reversion on EURGBP or USDCAD":               {"EURGBP USDCAD", hour, nil},
		"EURGBP, USDCAD and AUDNZD":                        {"EURGBP USDCAD AUDNZD", hour, nil},
		"usd/cad and eur-gbp":                              {"USDCAD EURGBP", hour, nil},
		"EURGBP using 1h and 4h":                           {"EURGBP", hour, []market.Timeframe{four}},
		"EURGBP on 4h with 1h entries":                     {"EURGBP", hour, []market.Timeframe{four}},
		"EURGBP or USDCAD on 4h and 1h bars":               {"EURGBP USDCAD", hour, []market.Timeframe{four}},
		"using 1h and 4h":                                  {"EURGBP", hour, []market.Timeframe{four}}, // AUDNZD has more bars, and none of 4h
		"EURGBP, 1d, 4h and 1h":                            {"EURGBP", hour, []market.Timeframe{four, day}},
		"EURGBP on hourly and daily bars":                  {"EURGBP", hour, []market.Timeframe{day}},
		"EURGBP on 1 hour, or 4 hour candles":              {"EURGBP", hour, []market.Timeframe{four}},
		"EURGBP hourly and daily":                          {"EURGBP", hour, []market.Timeframe{day}},
		"a 4 hour EURGBP strategy with a 1d trend filter":  {"EURGBP", four, []market.Timeframe{day}},
		"EURGBP 1h, look 4h ahead":                         {"EURGBP", hour, nil},
		"EURGBP 1h, hold for 4h":                           {"EURGBP", hour, nil},
		"EURGBP 1h, no 4h filter":                          {"EURGBP", hour, nil},
		"EURGBP 1h, don't use the 4h":                      {"EURGBP", hour, nil},
		"EURGBP 1h and again 1h bars":                      {"EURGBP", hour, nil},
		"daily AAPL":                                       {"AAPL", day, nil},
		"EURGBP 4h":                                        {"EURGBP", four, nil},
		"USDCAD, check it daily":                           {"USDCAD", hour, nil},
		"EURGBP and USDCAD on 1d bars":                     {"EURGBP USDCAD", hour, nil}, // refused by CheckBrief
		"no shorts on EURGBP 4h":                           {"EURGBP", four, nil},
		"EURGBP without shorts on 1h bars, with 4h bars":   {"EURGBP", hour, []market.Timeframe{four}},
		"EURGBP with entries at M60 and a filter at H4":    {"EURGBP", four, nil}, // there is no M60
		"EURGBP with entries at H1 and a filter at the D1": {"EURGBP", hour, []market.Timeframe{day}},
	} {
		b := designer.Chosen{}.Read(text, crosses)
		if got := strings.Join(b.Symbols, " "); got != want.symbols || b.Timeframe != want.base || !slices.Equal(b.Longer, want.longer) {
			t.Errorf("%q: %s on %s and %v, want %s on %s and %v", text, got, b.Timeframe, b.Longer, want.symbols, want.base, want.longer)
		}
	}
}

func TestRead_SaysWhatSeveralMean(t *testing.T) {
	got := strings.Join(designer.Chosen{}.Read("mean reversion on EURGBP or USDCAD using 1h and 4h", crosses).Understood, "\n")
	for _, want := range []string{
		"Research EURGBP and USDCAD together on 1h bars: one account each with 1/2 of the capital, judged on the sum.",
		"Decide at 1h bars; designs may also read 4h bars.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestChosen_WinsOverTheText(t *testing.T) {
	b := designer.Chosen{
		Symbols:    []string{"USDCAD", "EURGBP"},
		Timeframes: []market.Timeframe{market.H4, market.H1},
	}.Read("momentum on AUDNZD daily", crosses)
	if !slices.Equal(b.Symbols, []string{"USDCAD", "EURGBP"}) || b.Timeframe != market.H1 ||
		!slices.Equal(b.Longer, []market.Timeframe{market.H4}) {
		t.Errorf("%v on %s and %v, want what was chosen, the shortest timeframe first", b.Symbols, b.Timeframe, b.Longer)
	}
	if !strings.HasPrefix(b.Understood[0], "Research USDCAD and EURGBP together") {
		t.Errorf("understood %q, want what was chosen", b.Understood)
	}
	if b := (designer.Chosen{Symbols: []string{"EURGBP", "USDCAD"}}).Read("on 4h bars", crosses); b.Timeframe != market.H4 ||
		len(b.Symbols) != 2 {
		t.Errorf("%v on %s, want the timeframe of the text", b.Symbols, b.Timeframe)
	}
}
