package designer_test

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
)

func TestCheckBrief_RefusesWhatTheLibraryDoesNotHave(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a share": {
			"trade TSLA on 5m bars", "the goal names TSLA, and the library has no such bars; it has EURUSD 1h, EURUSD 1d, GBPUSD 1h",
		},
		"a share in a sentence":   {"Find a mean reversion edge in AAPL's mornings.", "names AAPL"},
		"with a dollar sign":      {"momentum for $NVDA", "names NVDA"},
		"two":                     {"TSLA and AAPL, trend", "names TSLA, AAPL"},
		"two, parted by a slash":  {"TSLA/AAPL trend", "names TSLA, AAPL"},
		"alone":                   {"TSLA", "names TSLA"},
		"a pair":                  {"trade USD/JPY", "names USDJPY"},
		"a pair in small letters": {"trade usdjpy please", "names USDJPY"},
		"a pair with a dash":      {"ETH-USD breakout", "names ETHUSD"},
		"a coin for a tether":     {"BTCUSDT breakout", "names BTCUSDT"},
		"a coin alone":            {"momentum on BTC", "names BTC"},
		"a coin's future":         {"momentum on BTC-PERP", "names BTC-PERP"},
		"an index":                {"US30 and nothing else", "names US30"},
		"a timeframe": {
			"trend on 5m bars", "the goal names 5m bars, and the library has no symbol with them; it has EURUSD 1h",
		},
		"a timeframe of the named symbol":   {"EURUSD 4h", "names 4h bars"},
		"a timeframe in words":              {"EURUSD on 15 minute candles", "names 15m bars"},
		"a timeframe that does not exist":   {"3-minute bars", "names 3m bars"},
		"a timeframe as other programs say": {"EURUSD on M5", "the goal names 5m bars, and the library has no 5m bars of EURUSD"},
		"one of two pairs":                  {"mean reversion on EURUSD or USDCAD", "names USDCAD, and the library has no such bars"},
		"one of two shares":                 {"EURUSD or TSLA", "names TSLA"},
		"one of three":                      {"trend on EURUSD, TSLA and GBPUSD", "names TSLA"},
		"one before the others":             {"TSLA and EURUSD", "names TSLA"},
		"one of two timeframes": {
			"GBPUSD with 1h and 5m bars", "the goal names 1h and 5m bars, and the library has no 5m bars of GBPUSD",
		},
		"another of two timeframes":         {"GBPUSD on 5m bars, or 4h bars", "no 5m bars of GBPUSD"},
		"a timeframe of one of two symbols": {"EURUSD and GBPUSD on 4h bars", "no 4h bars of EURUSD"},
		"a list with one in doubt":          {"GBPUSD on daily and hourly bars", "no 1d bars of GBPUSD"},
		"a longer list":                     {"GBPUSD on 15 minute, 1 hour, or 4 hour candles", "no 15m bars of GBPUSD"},
		"a pair elsewhere":                  {"EURUSD as I trade USDJPY", "names USDJPY"},
		"no symbol with both timeframes":    {"trend using 4h and 1d", "names 4h and 1d bars, and the library has no symbol with them"},
		"no timeframe in common": {
			"EURUSD and BTC-USD", "EURUSD and BTC-USD have no timeframe in common, and only EURUSD has 1h bars",
		},
	} {
		_, err := designer.CheckBrief(c.text, library, designer.Chosen{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q: %v, want a sentence with %q", name, c.text, err, c.says)
		}
	}
}

func TestCheckBrief_TakesWhatIsNoSymbol(t *testing.T) {
	for _, text := range []string{
		"", "anything that works", "trend on EURUSD 1h", "EUR/USD and GBP-USD", "btc-usd scalping", "BTC/USD, 15m",
		"RSI and MACD, EMA or SMA crossover, ATR stops", "ADX above 25, BB squeeze, VWAP", "RSI/MACD divergence", "use an LSTM or a GRU, no MLP",
		"FX majors in US and EU sessions, UTC", "ML with OHLCV, no HFT, SL and TP at 2R", "USD strength", "NFP days excluded, CPI too",
		"do NOT go short, ONLY long, and it MUST be robust", "FIND AN EDGE THAT IS LEFT AFTER COSTS", "FIND A TREND ON TSLA AND NOTHING ELSE",
		"LONG-SHORT, AND/OR filters", "a B-grade idea", "B INJECT_FAILURE", "INJECT_PANIC", "max DD 10 %", "Sharpe above 1 OOS, Q3 2024",
		"GBPUSD, hold for 4 hours", "at least 6 months of data", "no daily loss above 2 %", "a 20d SMA", "exit after 30m", "risk 1R a trade",
		"ETFs and MAs", "U.S. hours", "GBPUSD with 1h and 4h bars", "EURUSD and GBPUSD, RSI and MACD", "EURUSD, look 30m ahead",
		"GBPUSD, no 5m bars",
		"not on 5m charts please", "EURUSD 1h, horizon of 5m later", "EURUSD, trend, TREND and nothing else",
	} {
		if _, err := designer.CheckBrief(text, library, designer.Chosen{}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCheckBrief_WarnsWhereSomethingOfItIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		chosen designer.Chosen
		says   []string // one each
	}{
		"another symbol":        {"EURUSD against TSLA", designer.Chosen{}, []string{"names TSLA"}},
		"the symbol was chosen": {"as I do with TSLA", designer.Chosen{Symbols: []string{"EURUSD"}}, []string{"names TSLA"}},
		"another was chosen": {
			"EURUSD or GBPUSD", designer.Chosen{Symbols: []string{"EURUSD"}}, []string{"names GBPUSD, and the request chooses EURUSD"},
		},
		"what is ruled out was chosen": {
			"trend, not EURUSD", designer.Chosen{Symbols: []string{"EURUSD"}}, []string{"rules out EURUSD, and the request chooses it"},
		},
		"the timeframe was chosen": {
			"EURUSD on 5m bars", designer.Chosen{Timeframes: []market.Timeframe{market.H1}}, []string{"names 5m bars, and the request chooses 1h"},
		},
		"both": {
			"TSLA on 5m bars",
			designer.Chosen{Symbols: []string{"EURUSD"}, Timeframes: []market.Timeframe{market.H1}},
			[]string{"names TSLA", "names 5m"},
		},
		"nothing is odd": {"EURUSD 1h", designer.Chosen{}, nil},
	} {
		got, err := designer.CheckBrief(c.text, library, c.chosen)
		if err != nil || len(got) != len(c.says) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.says)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.says[i]) {
				t.Errorf("%s: %q, want %q", name, got[i], c.says[i])
			}
		}
	}
	if b := (designer.Chosen{}).Read("GBPUSD on 5m bars, or 4h bars", library); b.Timeframe != market.H4 || len(b.Longer) != 0 {
		t.Errorf("of two timeframes %s is read, want the one that there is", b.Timeframe)
	}
}

func TestCheckBrief_RefusesWhatWasChosenAndIsNotThere(t *testing.T) {
	many := make([]string, designer.MaxSymbols+1)
	for i := range many {
		many[i] = string(rune('A' + i))
	}
	for says, chosen := range map[string]designer.Chosen{
		"the request names 1h and 4h bars, and the library has no 4h bars of EURUSD": {
			Symbols: []string{"EURUSD", "GBPUSD"}, Timeframes: []market.Timeframe{market.H1, market.H4},
		},
		"EURUSD and BTC-USD have no timeframe in common":                     {Symbols: []string{"EURUSD", "BTC-USD"}},
		"the request names 5m bars, and the library has no symbol with them": {Timeframes: []market.Timeframe{market.M5}},
		"17 symbols are named; at most 16 are researched together":           {Symbols: many},
	} {
		if _, err := designer.CheckBrief("trend", library, chosen); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want a sentence with %q", chosen, err, says)
		}
	}
	if _, err := designer.CheckBrief("trend", library, designer.Chosen{
		Symbols: []string{"GBPUSD"}, Timeframes: []market.Timeframe{market.H4, market.H1},
	}); err != nil {
		t.Errorf("what there is was refused: %v", err)
	}
}
