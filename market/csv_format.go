package market

import (
	"path"
	"regexp"
	"strings"
)

// fileFormat is a kind of file that a program or a service writes.
type fileFormat struct {
	name string
	zone string         // of its times, where the format has one of its own
	head string         // how its header begins, each name as heading reduces it
	file *regexp.Regexp // what its file name looks like, where only that tells it
	row  *regexp.Regexp // the first row, where there is no header
	tail string         // a name that its header must have

	columns []role // of the rows, where row alone does not show them
	zeros   bool   // where it knows no volumes, it writes 0 in every row
}

// Columns of ticks in files without a header.
var (
	quoteColumns = []role{timeRole, bidRole, askRole}
	tradeColumns = []role{timeRole, closeRole, volumeRole}
)

// fileFormats are tried in this order. A format without a zone of its own is read as UTC, or as --zone says.
var fileFormats = []fileFormat{
	{
		name: "HistData ticks", zone: "EST", row: regexp.MustCompile(`^\d{8} \d{9},[\d.]+,[\d.]+,\d+$`), columns: quoteColumns,
	},
	{
		name: "TrueFX ticks", zone: "UTC", row: regexp.MustCompile(`^[A-Z]{3}/[A-Z]{3},\d{8} \d\d:\d\d:\d\d\.\d+,[\d.]+,[\d.]+$`),
		columns: append([]role{symbolRole}, quoteColumns...),
	},
	{
		name: "NinjaTrader ticks", row: regexp.MustCompile(`^\d{8} \d{6} \d{7};[\d.]+;[\d.]+;[\d.]+;\d+$`),
		columns: []role{timeRole, ignored, bidRole, askRole},
	},
	{
		name: "Binance trades", zone: "UTC", row: regexp.MustCompile(`(?i)^\d+,[\d.]+,[\d.]+,[\d.]+,\d{13,16},(true|false),(true|false)$`),
		columns: []role{ignored, closeRole, volumeRole, ignored, timeRole},
	},
	{
		name: "Binance trades", zone: "UTC", row: regexp.MustCompile(`(?i)^\d+,[\d.]+,[\d.]+,\d+,\d+,\d{13,16},(true|false)(,(true|false))?$`),
		columns: []role{ignored, closeRole, volumeRole, ignored, ignored, timeRole},
	},
	{
		name: "Kraken trades", zone: "UTC", row: regexp.MustCompile(`^\d{10}(\.\d+)?,[\d.]+,[\d.]+$`), columns: tradeColumns,
	},
	{name: "MetaTrader 5 ticks", head: "date time bid ask last volume flags"},
	{name: "Dukascopy ticks", head: "gmttime ask bid askvolume bidvolume", zone: "UTC"},
	{name: "Dukascopy ticks", head: "timeutc ask bid askvolume bidvolume", zone: "UTC"},
	{name: "Dukascopy ticks", head: "timeeet ask bid askvolume bidvolume", zone: "EET"},
	{name: "Dukascopy ticks", head: "localtime ask bid askvolume bidvolume"},
	{name: "Dukascopy ticks", head: "timestamp askprice bidprice", zone: "UTC"},
	{name: "Binance trades", head: "id price qty quoteqty time", zone: "UTC"},
	{name: "Binance trades", head: "aggtradeid price quantity firsttradeid lasttradeid transacttime", zone: "UTC"},
	{name: "Polygon quotes", tail: "siptimestamp", zone: "UTC"},
	{name: "FXCM candles", head: "datetime bidopen bidhigh bidlow bidclose askopen askhigh asklow askclose", zone: "UTC"},
	{name: "HistData", zone: "EST", file: regexp.MustCompile(`(?i)^DAT_(ASCII|MT|NT|XLSX)_`), zeros: true},
	{name: "MetaTrader 5 export", head: "date time open high low close tickvol"},
	{name: "MetaTrader 5 export", head: "date open high low close tickvol"},
	{name: "MetaTrader 4 export", row: regexp.MustCompile(`^\d{4}\.\d\d\.\d\d,\d\d:\d\d,`)},
	{name: "JForex export", head: "gmttime open high low close", zone: "UTC"},
	{name: "JForex export", head: "timeutc open high low close", zone: "UTC"},
	{name: "JForex export", head: "timegmt open high low close", zone: "UTC"},
	{name: "JForex export", head: "timeeet open high low close", zone: "EET"},
	{name: "JForex export", head: "localtime open high low close"},
	{name: "Binance klines", head: "opentime open high low close volume closetime", zone: "UTC"},
	{name: "Binance klines", row: regexp.MustCompile(`^\d{13,16}(,[^,]*){11}$`), zone: "UTC"},
	{name: "Polygon", tail: "windowstart", zone: "UTC"},
	{name: "Polygon", head: "v vw o c h l t", zone: "UTC"},
	{name: "Alpha Vantage", head: "timestamp open high low close adjustedclose volume"},
	{name: "Stooq", head: "ticker per date time open high low close", zeros: true},
	{name: "Stooq", head: "data otwarcie najwyzszy najnizszy zamkniecie", zeros: true},
	{name: "Yahoo", head: "date open high low close adjclose volume", zeros: true},
	{name: "yfinance", head: "date adjclose close high low open volume", zeros: true},
	{name: "yfinance", head: "datetime open high low close volume dividends", zeros: true},
	{name: "yfinance", head: "date open high low close volume dividends", zeros: true},
	{name: "CryptoDataDownload", head: "unix date symbol open high low close", zone: "UTC"},
	{name: "Investing.com", head: "date price open high low vol"},
	{name: "TradingView export", head: "time open high low close"},
	{name: "NinjaTrader export", row: regexp.MustCompile(`^\d{8} \d{6};`)},
	{name: "Kraken OHLCVT", row: regexp.MustCompile(`^\d{10}(,[^,]*){6}$`), zone: "UTC"},
}

// columnsOf are those of the ticks of which line is the first, without a header; nil if it is not one.
func columnsOf(line []byte) []role {
	for i := range fileFormats {
		if f := &fileFormats[i]; f.columns != nil && f.row.Match(line) {
			return f.columns
		}
	}
	return nil
}

// formatOf is the format of a table; nil if none is known.
func formatOf(t *table, rows [][][]byte, source string) *fileFormat {
	names := make([]string, len(t.names))
	for i, n := range t.names {
		names[i] = heading(n)
	}
	header, row := strings.Join(names, " ")+" ", ""
	if t.names == nil && len(rows) > 0 {
		var b strings.Builder
		for i, cell := range rows[0] {
			if i > 0 {
				b.WriteByte(t.sep)
			}
			b.Write(unquoted(cell))
		}
		row = b.String()
	}
	for i := range fileFormats {
		f := &fileFormats[i]
		if f.head != "" && strings.HasPrefix(header, f.head+" ") ||
			f.tail != "" && strings.Contains(" "+header, " "+f.tail+" ") ||
			f.row != nil && row != "" && f.row.MatchString(row) ||
			f.file != nil && f.file.MatchString(path.Base(strings.ReplaceAll(source, `\`, "/"))) {
			return f
		}
	}
	return nil
}
