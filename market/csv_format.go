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
}

// fileFormats are tried in this order. A format without a zone of its own is read as UTC, or as --zone says.
var fileFormats = []fileFormat{
	{name: "HistData", zone: "EST", file: regexp.MustCompile(`(?i)^DAT_(ASCII|MT|NT|XLSX)_`)},
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
	{name: "Stooq", head: "ticker per date time open high low close"},
	{name: "Stooq", head: "data otwarcie najwyzszy najnizszy zamkniecie"},
	{name: "Yahoo", head: "date open high low close adjclose volume"},
	{name: "yfinance", head: "date adjclose close high low open volume"},
	{name: "yfinance", head: "datetime open high low close volume dividends"},
	{name: "yfinance", head: "date open high low close volume dividends"},
	{name: "CryptoDataDownload", head: "unix date symbol open high low close", zone: "UTC"},
	{name: "Investing.com", head: "date price open high low vol"},
	{name: "TradingView export", head: "time open high low close"},
	{name: "NinjaTrader export", row: regexp.MustCompile(`^\d{8} \d{6};`)},
	{name: "Kraken OHLCVT", row: regexp.MustCompile(`^\d{10}(,[^,]*){6}$`), zone: "UTC"},
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
