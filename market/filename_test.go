package market

import (
	"slices"
	"testing"
)

// The names that services give their downloads tell the symbol and the timeframe.
func TestNamedSeries_ReadsTheNamesOfDownloads(t *testing.T) {
	for name, want := range map[string]struct {
		symbol string
		tf     Timeframe
	}{
		"aapl_us_d.csv":                {"AAPL.US", D1}, // Stooq
		"eurusd_w.csv":                 {"EURUSD", W1},
		"^spx_m.csv":                   {"SPX", Mo1},
		"NASDAQ_AAPL, 1D_a1b2c.csv":    {"AAPL", D1}, // TradingView, which makes each name different
		"BINANCE_BTCUSDT.P, 240.csv":   {"BTCUSDT.P", H4},
		"ES 03-20.Last.txt":            {"ES03-20", ""}, // NinjaTrader
		"EURUSD.Last.txt":              {"EURUSD", ""},
		"fx_daily_EUR_USD.csv":         {"EURUSD", D1}, // Alpha Vantage
		"fx_weekly_EUR_USD.csv":        {"EURUSD", W1},
		"fx_intraday_5min_EUR_USD.csv": {"EURUSD", M5},
		"weekly_adjusted_IBM.csv":      {"IBM", W1},
		"EURUSD_1h (1).csv":            {"EURUSD", H1}, // a browser's second download
		"BTCUSDT-1h-2020-01 (2).zip":   {"BTCUSDT", H1},
		"EURUSD_1m.csv":                {"EURUSD", M1},
		"eurusd_1M.csv":                {"EURUSD", Mo1},
	} {
		symbol, tf, ok := NamedSeries(name)
		if !ok || symbol != want.symbol || tf != want.tf {
			t.Errorf("%s: %q %q %v, want %q %q", name, symbol, tf, ok, want.symbol, want.tf)
		}
		if err := CheckSymbol(symbol); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of two downloads of a file the newer one has the larger number, and no number is the first.
func TestCompareNames_PutsTheNewerDownloadLast(t *testing.T) {
	want := []string{"EURUSD_1d.csv", "EURUSD_1h.csv", "EURUSD_1h (1).csv", "EURUSD_1h (2).csv", "EURUSD_1h (10).csv", "GBPUSD_1h.csv"}
	got := slices.Clone(want)
	slices.Sort(got)
	if slices.Equal(got, want) {
		t.Fatal("the names are in this order by their letters too")
	}
	if slices.SortFunc(got, CompareNames); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
