package designer_test

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
)

func TestCheckBrief_RefusesWhatTheLibraryDoesNotHave(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"a share":                           {"trade TSLA on 5m bars", "the brief names TSLA, and the library has no such bars; it has EURUSD 1h, EURUSD 1d, GBPUSD 1h"},
		"a share in a sentence":             {"Find a mean reversion edge in AAPL's mornings.", "names AAPL"},
		"with a dollar sign":                {"momentum for $NVDA", "names NVDA"},
		"two":                               {"TSLA and AAPL, trend", "names TSLA, AAPL"},
		"two, parted by a slash":            {"TSLA/AAPL trend", "names TSLA, AAPL"},
		"alone":                             {"TSLA", "names TSLA"},
		"a pair":                            {"trade USD/JPY", "names USDJPY"},
		"a pair in small letters":           {"trade usdjpy please", "names USDJPY"},
		"a pair with a dash":                {"ETH-USD breakout", "names ETHUSD"},
		"a coin for a tether":               {"BTCUSDT breakout", "names BTCUSDT"},
		"a coin alone":                      {"momentum on BTC", "names BTC"},
		"a coin's future":                   {"momentum on BTC-PERP", "names BTC-PERP"},
		"an index":                          {"US30 and nothing else", "names US30"},
		"a timeframe":                       {"trend on 5m bars", "names 5m bars, and the library has none that fit"},
		"a timeframe of the named symbol":   {"EURUSD 4h", "names 4h bars"},
		"a timeframe in words":              {"EURUSD on 15 minute candles", "names 15m bars"},
		"a timeframe that nobody has":       {"3-minute bars", "names 3m bars"},
		"a timeframe as other programs say": {"EURUSD on M5", "names 5m bars"},
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
		"ETFs and MAs", "U.S. hours", "GBPUSD with 1h and 5m bars",
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
		"another symbol":           {"EURUSD against TSLA", designer.Chosen{}, []string{"names TSLA"}},
		"the symbol was chosen":    {"as I do with TSLA", designer.Chosen{Symbols: []string{"EURUSD"}}, []string{"names TSLA"}},
		"another timeframe":        {"GBPUSD on 5m bars, or 4h bars", designer.Chosen{}, []string{"names 5m bars"}},
		"the timeframe was chosen": {"EURUSD on 5m bars", designer.Chosen{Timeframe: market.H1}, []string{"names 5m bars"}},
		"both":                     {"TSLA on 5m bars", designer.Chosen{Symbols: []string{"EURUSD"}, Timeframe: market.H1}, []string{"names TSLA", "names 5m"}},
		"nothing is odd":           {"EURUSD 1h", designer.Chosen{}, nil},
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
	if b := designer.ReadBrief("GBPUSD on 5m bars, or 4h bars", library); b.Timeframe != market.H4 {
		t.Errorf("of two timeframes %s is read, want the one that there is", b.Timeframe)
	}
}
