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
		"EURUSD.csv":          "",
		"prices.csv":          "",
		"h1.csv":              "",
		"_1h.csv":             "",
		".csv":                "",
		"":                    "",
		"EURUSD_3h.csv":       "",
		"../../etc/passwd_1h": "",
		"EURUSD_H1_201201020000_202012312300.csv": "EURUSD 1h",
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
