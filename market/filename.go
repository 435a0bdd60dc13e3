package market

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// namePatterns are forms of file names, with a group for the symbol, and for the timeframe
// where they tell it. They are tried in this order.
var namePatterns = []*regexp.Regexp{
	// HistData: DAT_ASCII_EURUSD_M1_2020, HISTDATA_COM_MT_EURUSD_M1202001
	regexp.MustCompile(`(?i)^(?:DAT|HISTDATA_COM)_(?:ASCII|MT|NT|XLSX)_(?P<symbol>[A-Z0-9]+)_(?P<tf>M1)_?[0-9]*$`),
	// ticks of HistData, Dukascopy and Binance: DAT_ASCII_EURUSD_T, EURUSD_Ticks, eurusd-tick, BTCUSDT-aggTrades
	regexp.MustCompile(`(?i)^(?:DAT|HISTDATA_COM)_(?:ASCII|NT)_(?P<symbol>[A-Z0-9]+)_T_?(?:LAST|BID|ASK)?_?[0-9]*$`),
	regexp.MustCompile(`(?i)^(?P<symbol>[A-Z0-9.]+)[_-](?:ticks?|trades|aggTrades)(?:_[0-9.-]+)?$`),
	// Dukascopy: EURUSD_Candlestick_1_Hour_BID_01.01.2020-31.01.2020
	regexp.MustCompile(`^(?P<symbol>[A-Za-z0-9.-]+)_Candlestick_(?P<n>[0-9]+)_(?P<unit>[A-Za-z]+)_(?:BID|ASK)`),
	// dukascopy-node: eurusd-m1-bid-2020-01-01-2020-02-01
	regexp.MustCompile(`^(?P<symbol>[a-z0-9]+)-(?P<tf>[a-z0-9]+)-(?:bid|ask)$`),
	// TradingView: FX_EURUSD, 60
	regexp.MustCompile(`^[A-Z0-9]+_(?P<symbol>[A-Z0-9.!]+), (?P<tf>[0-9]*[A-Z]?)(?:[ _].*)?$`),
	// Alpha Vantage: daily_AAPL, daily_adjusted_AAPL, intraday_5min_AAPL, fx_daily_EUR_USD
	regexp.MustCompile(`^(?:intraday_)?(?P<tf>daily|weekly|monthly|[0-9]+min)(?:_adjusted)?_(?P<symbol>[A-Z0-9.]+)$`),
	regexp.MustCompile(`^fx_(?:intraday_)?(?P<tf>daily|weekly|monthly|[0-9]+min)_(?P<symbol>[A-Z]{3}_[A-Z]{3})$`),
	// Stooq: aapl_us_d, eurusd_d, ^spx_m
	regexp.MustCompile(`^\^?(?P<symbol>[a-z0-9]+)(?:_(?P<country>us|uk|de|jp|hk|hu|pl))?_(?P<stooq>[dwm])$`),
	// Investing.com: EUR_USD Historical Data
	regexp.MustCompile(`^(?P<symbol>[A-Z0-9_]+) Historical Data$`),
	// NinjaTrader: EURUSD.Last, and the contract of a month: ES 03-20.Last
	regexp.MustCompile(`^(?P<symbol>[A-Z0-9]+(?: [0-9]{2}-[0-9]{2})?)\.(?:Last|Bid|Ask)$`),
	// CryptoDataDownload: Binance_BTCUSDT_1h
	regexp.MustCompile(`^[A-Z][a-z]+_(?P<symbol>[A-Z0-9]+)_(?P<tf>[A-Za-z0-9]+)$`),
	// EURUSD_1h, EURUSD-1h, EURUSD_H1_201201020000_202012312300, BTCUSDT-1h-2020-01
	regexp.MustCompile(`^(?P<symbol>[A-Za-z0-9][A-Za-z0-9.]*|[A-Z0-9]+-[A-Z0-9]+)[_-](?P<tf>[A-Za-z0-9]+)$`),
	// EURUSDh1
	regexp.MustCompile(`^(?P<symbol>[A-Za-z0-9][A-Za-z0-9.]+?)(?P<tf>[hHdDwW][0-9]|[mM][0-9]{1,2}|[mM][nN]1)$`),
	// MetaTrader 4: EURUSD60
	regexp.MustCompile(`^(?P<symbol>[A-Za-z]{6}[A-Za-z.]*?)(?P<tf>1|5|15|30|60|240|1440|10080|43200)$`),
	// EURUSD, AAPL, BTC-USD, EURUSD=X: the times tell the timeframe
	regexp.MustCompile(`^(?P<symbol>[A-Z][A-Z0-9]{1,11}(?:[.-][A-Z0-9]{1,6})?)(?:=X)?$`),
}

var (
	nameDates  = regexp.MustCompile(`([_-][0-9]{6,14}){1,2}$|(-[0-9]{4}-[0-9]{2}(-[0-9]{2})?){1,2}$`)
	nameSuffix = regexp.MustCompile(`(?i)( \([0-9]+\))?(\.(csv|txt|tsv|parquet|pq))?(\.(gz|zst|zip))?$`)
)

// NamedSeries is the symbol that the name of a file tells, and the timeframe where it
// tells that too. A name in small letters means the symbol in capitals, as symbols are
// written.
func NamedSeries(base string) (symbol string, tf Timeframe, ok bool) {
	base = base[:nameSuffix.FindStringIndex(base)[0]]
	base = nameDates.ReplaceAllString(base, "")
	for _, p := range namePatterns {
		parts := p.FindStringSubmatch(base)
		if parts == nil {
			continue
		}
		part := func(name string) string {
			if i := p.SubexpIndex(name); i >= 0 {
				return parts[i]
			}
			return ""
		}
		symbol = strings.NewReplacer("_", "", " ", "").Replace(part("symbol"))
		if country := part("country"); country != "" {
			symbol += "." + country
		}
		if symbol == strings.ToLower(symbol) {
			symbol = strings.ToUpper(symbol)
		}
		named := part("tf") + stooqNames[part("stooq")] + part("n") + unitNames[strings.ToLower(part("unit"))]
		if named == "" {
			return symbol, "", true
		}
		if tf, ok = namedTimeframe(named); ok {
			return symbol, tf, true
		}
	}
	return "", "", false
}

// copyNumber is what a browser adds to the name of a second download: EURUSD_1h (1).csv.
var copyNumber = regexp.MustCompile(` \(([0-9]+)\)`)

// CompareNames orders the names of files: of two that differ in the copy number of a browser, the
// newer download is the later one.
func CompareNames(a, b string) int {
	part := func(name string) (string, int) {
		at := copyNumber.FindStringSubmatchIndex(name)
		if at == nil {
			return name, 0
		}
		n, _ := strconv.Atoi(name[at[2]:at[3]]) // too large a number is the largest
		return name[:at[0]] + name[at[1]:], n
	}
	first, i := part(a)
	second, k := part(b)
	return cmp.Or(strings.Compare(first, second), i-k)
}

// stooqNames are the timeframes of Stooq's file names. Elsewhere m means minutes.
var stooqNames = map[string]string{"d": "1d", "w": "1w", "m": "1M"}

// unitNames are the units of Dukascopy's file names.
var unitNames = map[string]string{
	"min": "m", "m": "m", "minute": "m", "hour": "h", "h": "h", "day": "d", "d": "d", "week": "w", "month": "M",
}

// otherNames are timeframes as other programs call them. MetaTrader's M1 is a
// minute, and its month is MN1. A number alone counts minutes.
var otherNames = map[string]Timeframe{
	"m1": M1, "m5": M5, "m15": M15, "m30": M30,
	"h1": H1, "h2": H2, "h4": H4, "d1": D1, "w1": W1, "mn1": Mo1,
	"1min": M1, "5min": M5, "15min": M15, "30min": M30, "60min": H1, "1mo": Mo1,
	"hourly": H1, "daily": D1, "weekly": W1, "monthly": Mo1, "d": D1, "w": W1,
	"1": M1, "5": M5, "15": M15, "30": M30, "60": H1, "120": H2, "240": H4, "1440": D1, "10080": W1, "43200": Mo1,
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

// priceNames are the endings of price files.
var priceNames = regexp.MustCompile(`(?i)\.(csv|txt|tsv|parquet|pq|zip)(\.(gz|zst))?$`)

// IsPriceName says whether a file in a folder is read as prices, by its name.
func IsPriceName(name string) bool { return priceNames.MatchString(name) }
