package designer_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

var library = designer.Known{Series: []designer.KnownSeries{
	{Symbol: "EURUSD", Timeframe: market.H1, Bars: 20_000},
	{Symbol: "EURUSD", Timeframe: market.D1, Bars: 2_000},
	{Symbol: "GBPUSD", Timeframe: market.H1, Bars: 30_000},
	{Symbol: "GBPUSD", Timeframe: market.H4, Bars: 5_000},
	{Symbol: "BTC-USD", Timeframe: market.M15, Bars: 9_000},
}}

func TestRead_UnderstandsGoals(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want designer.Brief
	}{
		"nothing said": {
			"", designer.Brief{Symbols: []string{"GBPUSD"}, Timeframe: market.H1},
		},
		"a symbol as traders write it, and a family": {
			"A mean-reversion idea for EUR/USD", designer.Brief{
				Symbols: []string{"EURUSD"}, Timeframe: market.H1,
				Families: []designer.Family{designer.Reversion},
			},
		},
		"symbol and timeframe": {
			"gbpusd on 4-hour bars, trend following",
			designer.Brief{Symbols: []string{"GBPUSD"}, Timeframe: market.H4, Families: []designer.Family{designer.Trend}},
		},
		"a timeframe in a word": {
			"daily EURUSD", designer.Brief{Symbols: []string{"EURUSD"}, Timeframe: market.D1},
		},
		"a holding time is no timeframe": {
			"GBPUSD, hold for 4 hours", designer.Brief{
				Symbols: []string{"GBPUSD"}, Timeframe: market.H1,
				NotUnderstood: []string{"hold", "4 hours"},
			},
		},
		"a symbol with a dash": {
			"scalping BTC-USD", designer.Brief{Symbols: []string{"BTC-USD"}, Timeframe: market.M15, Style: designer.Scalping},
		},
		"several symbols": {
			"EURUSD and GBPUSD swing trading", designer.Brief{Symbols: []string{"EURUSD", "GBPUSD"}, Timeframe: market.H1, Style: designer.Swing},
		},
		"indicators by name, alias and several words": {
			"use RSI, bollinger bands and Williams %R", designer.Brief{
				Symbols: []string{"GBPUSD"}, Timeframe: market.H1, Readings: []string{"rsi", "bandwidth", "distance", "williams"},
			},
		},
		"constraints": {
			"Simple, no shorts, max drawdown 10 %, at least 50 trades", designer.Brief{
				Symbols: []string{"GBPUSD"}, Timeframe: market.H1, LongOnly: true, MaxDrawdown: 0.1, MinTrades: 50, Simple: true,
			},
		},
		"a drawdown before its noun, as a fraction": {
			"keep a 0.15 drawdown; long only", designer.Brief{Symbols: []string{"GBPUSD"}, Timeframe: market.H1, LongOnly: true, MaxDrawdown: 0.15},
		},
		"an upper bound of trades is not a lower one": {
			"at most 50 trades", designer.Brief{
				Symbols: []string{"GBPUSD"}, Timeframe: market.H1, NotUnderstood: []string{"50 trades"},
				NothingUnderstood: true,
			},
		},
		"what to avoid": {
			"momentum without volume or macd. Use an LSTM but no GRU", designer.Brief{
				Symbols: []string{"GBPUSD"}, Timeframe: market.H1, Families: []designer.Family{designer.Momentum},
				AvoidFamilies: []designer.Family{designer.Volume}, AvoidReadings: []string{"macd"}, Models: []strategy.ModelType{strategy.LSTM},
			},
		},
		"a full stop ends a negation": {
			"no lookahead. trend please", designer.Brief{
				Symbols: []string{"GBPUSD"}, Timeframe: market.H1,
				Families: []designer.Family{designer.Trend},
			},
		},
		"everything avoided": {
			"no trend, no momentum, no reversion, no volume, no volatility, no breakout, no calendar",
			designer.Brief{Symbols: []string{"GBPUSD"}, Timeframe: market.H1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := designer.Chosen{}.Read(c.text, library)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(designer.Brief{}, "Understood"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(got.Understood) == 0 {
				t.Error("the user is told nothing")
			}
		})
	}
}

func TestRead_TellsWhatItUnderstood(t *testing.T) {
	got := strings.Join(designer.Chosen{}.Read("long only RSI on EURUSD 4h, max drawdown 12%", library).Understood, "\n")
	for _, want := range []string{
		"Research EURUSD on 1h bars.", "There is no 4h data of EURUSD; 1h is used.", "Look first at rsi.",
		"Never go short.", "below 12 %",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestRead_SaysWhenNoSymbolIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                "No symbol is named: EURUSD 1h, the longest series, is researched.",
		"trend":           "No symbol is named: EURUSD 1h, the longest series, is researched.",
		"trend 4h bars":   "No symbol is named: GBPUSD 4h, the longest series with such bars, is researched.",
		"trend on gold":   "Research XAUUSD on 1h bars.",
		"trend on EURUSD": "Research EURUSD on 1h bars.",
	} {
		if got := (designer.Chosen{}).Read(text, shelf).Understood; len(got) == 0 || got[0] != want {
			t.Errorf("%q: understood %q, want first %q", text, got, want)
		}
	}
	chosen := designer.Chosen{Symbols: []string{"EURUSD"}}
	if got := chosen.Read("trend", shelf).Understood; got[0] != "Research EURUSD on 1h bars." {
		t.Errorf("a chosen symbol: %q", got)
	}
}

func TestNearest_SuggestsNoWordForItself(t *testing.T) {
	for word, want := range map[string]string{"short": "", "Short": "", "trailing": "", "momentom": "momentum", "tren": "trend"} {
		if got := designer.Nearest(word); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestRead_ReadsNoMoreThanItsLimit(t *testing.T) {
	text := strings.Repeat("lorem ipsum ", 6000) + "long only"
	if b := (designer.Chosen{}).Read(text, library); b.LongOnly || !strings.Contains(strings.Join(b.Understood, " "), "first 65536 bytes") {
		t.Errorf("a text of %d bytes was read to its end, or that is not told: %+v", len(text), b)
	}
}

func TestRead_WithoutData(t *testing.T) {
	b := designer.Chosen{}.Read("trend", designer.Known{})
	if len(b.Symbols) != 0 || !strings.Contains(strings.Join(b.Understood, " "), "no data") {
		t.Errorf("%+v", b)
	}
	if _, err := designer.Design(b, 1, 0, 0, nil, instrument.Costs{}); err == nil || !strings.Contains(err.Error(), "import") {
		t.Errorf("err = %v, want a sentence that says to import data", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("A mean-reversion idea for EUR/USD, max drawdown 10 %, at least 50 trades, no shorts")
	f.Add("\xff\xfe drawdown % trades > 4")
	f.Fuzz(func(t *testing.T, text string) {
		b := designer.Chosen{}.Read(text, library)
		if len(b.Symbols) == 0 || b.Timeframe == "" || b.MaxDrawdown < 0 || b.MaxDrawdown >= 1 || b.MinTrades < 0 {
			t.Errorf("%+v", b)
		}
		for _, s := range b.Understood {
			if !utf8.ValidString(s) {
				t.Errorf("%q is not text", s)
			}
		}
	})
}
