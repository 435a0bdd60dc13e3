package local

import "testing"

func TestNamedSeries_ReadsPlainNames(t *testing.T) {
	for name, want := range map[string]string{
		"EURUSD_1h.csv":       "EURUSD 1h",
		"EURUSDh1.csv.gz":     "EURUSD 1h",
		"EURUSD-1h.parquet":   "EURUSD 1h",
		"EURUSDH4.CSV":        "EURUSD 4h",
		"EURUSDM1.csv":        "EURUSD 1m",
		"EURUSD_M15.txt":      "EURUSD 15m",
		"EURUSD_1M.csv":       "EURUSD 1M",
		"EURUSD_1m.csv":       "EURUSD 1m",
		"EURUSDMN1.csv":       "EURUSD 1M",
		"vix-daily.csv":       "VIX 1d",
		"btc.usd_30min.csv":   "BTC.USD 30m",
		"US500_D1.csv":        "US500 1d",
		"GER40h1.csv":         "GER40 1h",
		"EURUSD_H1_2012.csv":  "",
		"EURUSD_5M.csv":       "",
		"EURUSD.csv":          "EURUSD",
		"BTC-USD.csv":         "BTC-USD",
		"prices.csv":          "",
		"h1.csv":              "",
		"_1h.csv":             "",
		".csv":                "",
		"":                    "",
		"EURUSD_3h.csv":       "",
		"../../etc/passwd_1h": "",
		"EURUSD_H1_201201020000_202012312300.csv":                 "EURUSD 1h",
		"DAT_ASCII_EURUSD_M1_2020.csv":                            "EURUSD 1m",
		"HISTDATA_COM_MT_EURUSD_M1202001.zip":                     "EURUSD 1m",
		"EURUSD_Candlestick_1_Hour_BID_01.01.2020-31.01.2020.csv": "EURUSD 1h",
		"EURUSD_Candlestick_5_M_ASK_01.01.2020-31.01.2020.csv":    "EURUSD 5m",
		"FX_EURUSD, 60.csv":                                       "EURUSD 1h",
		"BATS_SPY, 1D.csv":                                        "SPY 1d",
		"EUR_USD Historical Data.csv":                             "EURUSD",
		"EURUSD.Last.txt":                                         "EURUSD",
		"Binance_BTCUSDT_1h.csv":                                  "BTCUSDT 1h",
		"Bitstamp_BTCUSD_d.csv":                                   "BTCUSD 1d",
		"BTCUSDT-1h-2020-01.zip":                                  "BTCUSDT 1h",
		"BTCUSDT-1h-2020-01-31.csv":                               "BTCUSDT 1h",
		"EURUSD60.csv":                                            "EURUSD 1h",
		"XBTUSD_1440.csv":                                         "XBTUSD 1d",
		"eurusd_d.csv":                                            "EURUSD 1d",
		"BTC-USD_1h.csv.zst":                                      "BTC-USD 1h",
		"DAT_ASCII_EURUSD_T_202001.csv":                           "EURUSD",
		"HISTDATA_COM_ASCII_EURUSD_T202001.zip":                   "EURUSD",
		"EURUSD_Ticks_01.01.2020-31.01.2020.csv":                  "EURUSD",
		"eurusd-tick-2020-01-01-2020-02-01.csv":                   "EURUSD",
		"eurusd-m1-bid-2020-01-01-2020-02-01.csv":                 "EURUSD 1m",
		"daily_adjusted_AAPL.csv":                                 "AAPL 1d",
		"intraday_5min_AAPL.csv":                                  "AAPL 5m",
		"BTCUSDT-aggTrades-2020-01-01.zip":                        "BTCUSDT",
		"BTCUSDT-trades-2020-01.zip":                              "BTCUSDT",
		"EURUSD-2020-01.zip":                                      "EURUSD",
		"EURUSD_202001020000_202001312359.csv":                    "EURUSD",
		"notes.csv":                                               "",
	} {
		s, ok := NamedSeries(name)
		got := ""
		if ok {
			got = s.String()
		}
		if got != want {
			t.Errorf("%q tells %q, want %q", name, got, want)
		}
	}
}
