package local

import (
	"regexp"
	"strings"

	"github.com/ktrdr/ktrdr/market"
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
func NamedSeries(base string) (Name, bool) {
	base = base[:nameSuffix.FindStringIndex(base)[0]]
	base = nameDates.ReplaceAllString(base, "")
	parts := nameApart.FindStringSubmatch(base)
	if parts == nil {
		parts = nameTogether.FindStringSubmatch(base)
	}
	if parts == nil {
		return Name{}, false
	}
	tf, ok := namedTimeframe(parts[2])
	symbol := parts[1]
	if symbol == strings.ToLower(symbol) {
		symbol = strings.ToUpper(symbol)
	}
	return Name{symbol, tf}, ok
}

// otherNames are timeframes as other programs call them. MetaTrader's M1 is a
// minute, and its month is MN1.
var otherNames = map[string]market.Timeframe{
	"m1": market.M1, "m5": market.M5, "m15": market.M15, "m30": market.M30,
	"h1": market.H1, "h2": market.H2, "h4": market.H4, "d1": market.D1, "w1": market.W1, "mn1": market.Mo1,
	"1min": market.M1, "5min": market.M5, "15min": market.M15, "30min": market.M30, "60min": market.H1, "1mo": market.Mo1,
	"hourly": market.H1, "daily": market.D1, "weekly": market.W1, "monthly": market.Mo1,
}

// namedTimeframe reads a timeframe as a file's name writes it. Only 1m and 1M
// are told apart by their capital.
func namedTimeframe(text string) (market.Timeframe, bool) {
	if tf, err := market.ParseTimeframe(text); err == nil {
		return tf, true
	}
	if tf, ok := otherNames[strings.ToLower(text)]; ok {
		return tf, true
	}
	if strings.HasSuffix(text, "M") {
		return "", false
	}
	tf, err := market.ParseTimeframe(strings.ToLower(text))
	return tf, err == nil
}
