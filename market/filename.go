package market

import (
	"regexp"
	"strings"
)

// What a plain file name tells: EURUSD_1h.csv, EURUSD-1h.parquet,
// EURUSDh1.csv.gz, EURUSD_H1_201201020000_202012312300.csv.
var (
	nameDates    = regexp.MustCompile(`([_-][0-9]{6,14}){1,2}$`)
	nameApart    = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.]*)[_-]([A-Za-z0-9]+)$`)
	nameTogether = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.]+?)([hHdDwW][0-9]|[mM][0-9]{1,2}|[mM][nN]1)$`)
	nameSuffix   = regexp.MustCompile(`(?i)(\.(csv|txt|tsv|parquet|pq))?(\.gz)?$`)
)

// NamedSeries is the symbol and timeframe that a file's name tells, if it does.
// A name in small letters means the symbol in capitals, as symbols are written.
func NamedSeries(base string) (symbol string, tf Timeframe, ok bool) {
	base = base[:nameSuffix.FindStringIndex(base)[0]]
	base = nameDates.ReplaceAllString(base, "")
	parts := nameApart.FindStringSubmatch(base)
	if parts == nil {
		parts = nameTogether.FindStringSubmatch(base)
	}
	if parts == nil {
		return "", "", false
	}
	tf, ok = namedTimeframe(parts[2])
	symbol = parts[1]
	if symbol == strings.ToLower(symbol) {
		symbol = strings.ToUpper(symbol)
	}
	return symbol, tf, ok
}

// otherNames are timeframes as other programs call them. MetaTrader's M1 is a
// minute, and its month is MN1.
var otherNames = map[string]Timeframe{
	"m1": M1, "m5": M5, "m15": M15, "m30": M30,
	"h1": H1, "h2": H2, "h4": H4, "d1": D1, "w1": W1, "mn1": Mo1,
	"1min": M1, "5min": M5, "15min": M15, "30min": M30, "60min": H1, "1mo": Mo1,
	"hourly": H1, "daily": D1, "weekly": W1, "monthly": Mo1,
}

// namedTimeframe reads a timeframe as a file's name writes it. Only 1m and 1M
// are told apart by their capital.
func namedTimeframe(text string) (Timeframe, bool) {
	if tf, err := ParseTimeframe(text); err == nil {
		return tf, true
	}
	if tf, ok := otherNames[strings.ToLower(text)]; ok {
		return tf, true
	}
	if strings.HasSuffix(text, "M") {
		return "", false
	}
	tf, err := ParseTimeframe(strings.ToLower(text))
	return tf, err == nil
}
