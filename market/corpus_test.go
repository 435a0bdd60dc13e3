package market

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
)

// corpusFile is a file as one program or service writes it.
type corpusFile struct {
	name   string // of the file; what it is stands in what
	what   string
	truth  *Bars
	text   []byte
	opt    ImportOptions
	format string // that must be recognised
	says   string // a part of what is printed of it
	refuse string // a part of the error, where it must be refused
}

// truthOf is the series that a file of the corpus is made of: round prices with five
// digits, volumes above a thousand, and times across a weekend and the end of a month.
func truthOf(tf Timeframe, bars int) *Bars {
	b := &Bars{Symbol: "EURUSD", Timeframe: tf}
	t := time.Date(2020, 1, 29, 0, 0, 0, 0, time.UTC)
	for i := range bars {
		for t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
			t = t.AddDate(0, 0, 1)
		}
		o := float64(110000+137*(i%29)) / 1e5
		c := float64(110000+211*(i%31)) / 1e5
		b.Append(Bar{
			Time: t.Unix(), Open: o, Close: c, High: math.Round(1e5*max(o, c)+25) / 1e5, Low: math.Round(1e5*min(o, c)-25) / 1e5,
			Volume: float64(1200 + 7*i),
		})
		t = t.Add(time.Duration(tf.seconds()) * time.Second)
	}
	return b
}

// writer makes the text of a file, row by row.
type writer struct {
	strings.Builder

	number func(float64) string
	volume func(float64) string
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func commaNumber(v float64) string { return strings.Replace(plainNumber(v), ".", ",", 1) }

// lines writes a row for each bar: row is a template of {o} {h} {l} {c} {v}, and of a time by its Go layout in {}.
func lines(b *Bars, head, row string, opt ...func(*writer)) []byte {
	w := writer{number: plainNumber, volume: plainNumber}
	for _, o := range opt {
		o(&w)
	}
	w.WriteString(head)
	for i := range b.Len() {
		x := b.At(i)
		at := time.Unix(x.Time, 0).UTC()
		s := strings.NewReplacer("{o}", w.number(x.Open), "{h}", w.number(x.High), "{l}", w.number(x.Low), "{c}", w.number(x.Close),
			"{ask}", w.number(math.Round(1e5*x.Close+7)/1e5),
			"{v}", w.volume(x.Volume), "{s}", strconv.FormatInt(x.Time, 10), "{ms}", strconv.FormatInt(1000*x.Time, 10),
			"{ns}", strconv.FormatInt(1e9*x.Time, 10), "{end}", strconv.FormatInt(1000*(x.Time+3600)-1, 10),
			"{excel}", strconv.FormatFloat(float64(x.Time)/86400+25569, 'f', 8, 64)).Replace(row)
		for {
			from, to := strings.IndexByte(s, '['), strings.IndexByte(s, ']')
			if from < 0 {
				break
			}
			s = s[:from] + at.Format(s[from+1:to]) + s[to+1:]
		}
		w.WriteString(s)
	}
	return []byte(w.String())
}

func decimalComma(w *writer) { w.number = commaNumber }

// inGroups writes volumes in groups of three with a mark between.
func inGroups(mark string) func(*writer) {
	return func(w *writer) {
		w.volume = func(v float64) string {
			s := plainNumber(v)
			return s[:len(s)-3] + mark + s[len(s)-3:]
		}
	}
}

// inZone moves a series, so that its times written as UTC are those of a clock there.
func inZone(b *Bars, zone *time.Location) *Bars {
	moved := *b
	moved.Time = make([]int64, len(b.Time))
	for i, t := range b.Time {
		_, offset := time.Unix(t, 0).In(zone).Zone()
		moved.Time[i] = t + int64(offset)
	}
	return &moved
}

func reversed(text []byte, head int) []byte {
	rows := strings.SplitAfter(string(text), "\n")
	rows = rows[:len(rows)-1]
	slices.Reverse(rows[head:])
	return []byte(strings.Join(rows, ""))
}

func inUTF16(text []byte, mark string, big bool) []byte {
	out := []byte(mark)
	for _, c := range utf16.Encode([]rune(string(text))) {
		if big {
			out = append(out, byte(c>>8), byte(c))
		} else {
			out = append(out, byte(c), byte(c>>8))
		}
	}
	return out
}

func inZip(t *testing.T, files map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(mapsKeys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mapsKeys(m map[string][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func inZstd(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err == nil {
		_, err = z.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// spread is a series with a spread of 7 points of 0.00001.
func spread(b *Bars) *Bars {
	with := *b
	with.Spread = slices.Repeat([]float64{7e-5}, b.Len())
	return &with
}

// withoutVolume is a series whose volumes are not known.
func withoutVolume(b *Bars) *Bars {
	without := *b
	without.Volume = slices.Repeat([]float64{math.NaN()}, b.Len())
	return &without
}

// tickLines writes four quotes for each bar: its open, high, low and close as bids, with
// asks 7 points above, and parts of seconds. What they make has volumes of 4.
func tickLines(b *Bars, head, row string) (truth *Bars, text []byte) {
	truth = spread(b)
	truth.Volume = slices.Repeat([]float64{4}, b.Len())
	out := []byte(head)
	for i := range b.Len() {
		x := b.At(i)
		for k, bid := range []float64{x.Open, x.High, x.Low, x.Close} {
			at := time.Unix(x.Time, 0).UTC().Add(time.Duration(k)*14*time.Second + 123*time.Millisecond)
			s := strings.NewReplacer("{bid}", plainNumber(bid), "{ask}", plainNumber(math.Round(1e5*bid+7)/1e5),
				"{ms}", strconv.FormatInt(at.UnixMilli(), 10), "{us}", strconv.FormatInt(at.UnixMicro(), 10),
				"{ns}", strconv.FormatInt(at.UnixNano(), 10),
				"{s}", strconv.FormatInt(at.Unix(), 10), "{size}", plainNumber(x.Volume/4)).Replace(row)
			from, to := strings.IndexByte(s, '['), strings.IndexByte(s, ']')
			if from >= 0 {
				s = s[:from] + at.Format(s[from+1:to]) + s[to+1:]
			}
			out = append(out, s...)
		}
	}
	return truth, out
}

// quotesOf is a corpus file of quotes.
func quotesOf(what, name, format string, b *Bars, head, row string) corpusFile {
	truth, text := tickLines(b, head, row)
	const says = "bars of bids; the spread is the mean of ask less bid"
	return corpusFile{what: what, name: name, format: format, truth: truth, text: text, says: says}
}

// tradesOf is a corpus file of trades, whose volumes add up to those of the bars.
func tradesOf(what, name, format string, b *Bars, head, row string) corpusFile {
	_, text := tickLines(b, head, row)
	return corpusFile{what: what, name: name, format: format, truth: b, text: text, says: "made into 1m bars of trades"}
}

// tickCorpus are the files of quotes and trades.
func tickCorpus(est, eet *time.Location) []corpusFile {
	m1 := truthOf(M1, 60)
	compact := func(zone *time.Location, row string) []byte { // HistData writes the time in one number behind the date
		_, text := tickLines(inZone(m1, zone), "", row)
		return bytes.ReplaceAll(text, []byte("~."), nil)
	}
	hist := quotesOf("HistData ticks", "DAT_ASCII_EURUSD_T_202001.csv", "HistData ticks", m1, "", "")
	hist.text = compact(est, "[20060102 150405~.000],{bid},{ask},0\n")
	inEET := quotesOf("Dukascopy ticks, EET", "EURUSD_Ticks_29.01.2020-29.01.2020.csv", "Dukascopy ticks", m1, "", "")
	_, inEET.text = tickLines(inZone(m1, eet), "Time (EET),Ask,Bid,AskVolume,BidVolume \n", "[2006.01.02 15:04:05.000],{ask},{bid},1.5,0.75\n")
	ninja := quotesOf("NinjaTrader ticks", "EURUSD.Last.txt", "NinjaTrader ticks", m1, "", "")
	ninja.text = bytes.ReplaceAll(compact(time.UTC, "[20060102 150405~.0000000];{bid};{bid};{ask};1\n"),
		[]byte("1230000;"), []byte(" 1230000;"))
	newest := quotesOf("quotes, newest first", "EURUSD.csv", "table of quotes with a header", m1, "time,bid,ask\n",
		"[2006-01-02T15:04:05.000Z],{bid},{ask}\n")
	newest.text = reversed(newest.text, 1)
	hourly := quotesOf("quotes into bars of an hour", "EURUSD_1h.csv", "table of quotes with a header", truthOf(H1, 60),
		"timestamp,bid,ask\n", "{ms},{bid},{ask}\n")
	hourly.opt.Timeframe = H1
	half := quotesOf("MetaTrader 5 ticks", "EURUSD_202001290000_202001292359.csv", "MetaTrader 5 ticks", m1, "", "")
	_, half.text = tickLines(m1, "<DATE>\t<TIME>\t<BID>\t<ASK>\t<LAST>\t<VOLUME>\t<FLAGS>\n",
		"[2006.01.02\t15:04:05.000]\t{bid}\t{ask}\t\t\t6\n")
	return []corpusFile{
		half, hist, inEET, ninja, newest, hourly,
		quotesOf("Dukascopy ticks", "EURUSD_Ticks_29.01.2020-29.01.2020.csv", "Dukascopy ticks", m1,
			"Gmt time,Ask,Bid,AskVolume,BidVolume\n", "[02.01.2006 15:04:05.000],{ask},{bid},1.5,0.75\n"),
		quotesOf("Dukascopy ticks by dukascopy-node", "eurusd-tick-2020-01-29-2020-01-30.csv", "Dukascopy ticks", m1,
			"timestamp,askPrice,bidPrice,askVolume,bidVolume\n", "{ms},{ask},{bid},1.5,0.75\n"),
		quotesOf("TrueFX ticks", "EURUSD-2020-01.csv", "TrueFX ticks", m1, "", "EUR/USD,[20060102 15:04:05.000],{bid},{ask}\n"),
		quotesOf("quotes of any program", "EURUSD.csv", "table of quotes with a header", m1,
			"time,bid,ask,bid_size,ask_size\n", "[2006-01-02 15:04:05.000],{bid},{ask},1,2\n"),
		quotesOf("Polygon quotes", "EURUSD.csv", "Polygon quotes", m1,
			"ticker,ask_price,ask_size,bid_price,bid_size,sip_timestamp\n", "C:EURUSD,{ask},1,{bid},1,{ns}\n"),
		tradesOf("Binance trades", "BTCUSDT-trades-2020-01.csv", "Binance trades", m1, "", "17,{bid},{size},1.5,{ms},true,true\n"),
		tradesOf("Binance trades in millionths", "BTCUSDT-trades-2025-01.csv", "Binance trades", m1, "", "17,{bid},{size},1.5,{us},true,true\n"),
		tradesOf("Binance trades with a header", "BTCUSDT-trades-2020-01.csv", "Binance trades", m1,
			"id,price,qty,quote_qty,time,is_buyer_maker\n", "17,{bid},{size},1.5,{ms},true\n"),
		tradesOf("Binance aggregate trades", "BTCUSDT-aggTrades-2020-01.csv", "Binance trades", m1, "", "17,{bid},{size},1,2,{ms},True,True\n"),
		tradesOf("Kraken trades", "XBTUSD.csv", "Kraken trades", m1, "", "{s},{bid},{size}\n"),
		tradesOf("trades of any program", "EURUSD.csv", "table of trades with a header", m1, "time,price,size\n", "{s}.123,{bid},{size}\n"),
		{
			what: "bars of bids with asks", name: "EURUSD_1h.csv", truth: spread(truthOf(H1, 60)), format: "FXCM candles",
			says: "spread is ask less bid",
			text: lines(truthOf(H1, 60), "DateTime,BidOpen,BidHigh,BidLow,BidClose,AskOpen,AskHigh,AskLow,AskClose,TickQty\n",
				"[01/02/2006 15:04:05.000],{o},{h},{l},{c},1,1,1,{ask},{v}\n"),
		},
		{
			what: "a quote in the wrong place", name: "EURUSD.csv",
			refuse: "EURUSD.csv:4: out-of-order: 2020-01-02 00:00:05 comes after 2020-01-02 00:01:00",
			text:   []byte("time,bid,ask\n2020-01-02 00:00:00,1,2\n2020-01-02 00:01:00,1,2\n2020-01-02 00:00:05,1,2\n"),
		},
		{
			what: "a crossed quote", name: "EURUSD.csv", refuse: "EURUSD.csv:3: negative-spread: ",
			text: []byte("time,bid,ask\n2020-01-02 00:00:00,1,2\n2020-01-02 00:01:00,2,1\n"),
		},
		{
			what: "daily closes are no trades", name: "EURUSD.csv", refuse: `has no column for open`,
			text: []byte("date,close,volume\n2020-01-02,1,2\n2020-01-03,2,1\n"),
		},
		{
			what: "prices of days in place of trades", name: "EURUSD.csv", refuse: "bars are mostly 24h apart",
			text: []byte("date,price,volume\n2020-01-02,1,2\n2020-01-03,2,1\n2020-01-04,2,1\n"),
		},
	}
}

const ohlcv = "{o},{h},{l},{c},{v}\n"

func corpus(t *testing.T) []corpusFile {
	h1, d1, m1 := truthOf(H1, 200), truthOf(D1, 60), truthOf(M1, 300)
	est := time.FixedZone("EST", -5*3600)
	eet, err := time.LoadLocation("EET")
	if err != nil {
		t.Fatal(err)
	}
	mt5 := "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n"
	binance := "{ms},{o},{h},{l},{c},{v},{end},1.5,10,0.5,0.5,0\n"
	german := "Datum;Uhrzeit;Eröffnung;Hoch;Tief;Schluss;Volumen\n"
	germanRow := "[02.01.2006];[15:04];{o};{h};{l};{c};{v}\n"
	early := truthOf(H1, 30) // the 29th of January decides the order of its dates in its first row
	undecided := &Bars{Symbol: "EURUSD", Timeframe: D1}
	for i := range 12 { // 1 to 12 March: each of these dates is one with the month first too
		x := d1.At(i)
		x.Time = time.Date(2020, 3, 1+i, 0, 0, 0, 0, time.UTC).Unix()
		undecided.Append(x)
	}
	return append(append(tickCorpus(est, eet), parquetCorpus(t)...), []corpusFile{
		{
			what: "MetaTrader 5", name: "EURUSD_H1.csv", truth: spread(h1), format: "MetaTrader 5 export",
			text: lines(h1, mt5, "[2006.01.02]\t[15:04:05]\t{o}\t{h}\t{l}\t{c}\t{v}\t0\t7\n"),
		},
		{
			what: "MetaTrader 5, daily", name: "EURUSD_D1.csv", truth: spread(d1), format: "MetaTrader 5 export",
			text: lines(d1, strings.Replace(mt5, "<TIME>\t", "", 1), "[2006.01.02]\t{o}\t{h}\t{l}\t{c}\t{v}\t0\t7\n"),
		},
		{
			what: "MetaTrader 5, UTF-16", name: "EURUSD_H1.csv", truth: spread(h1), format: "MetaTrader 5 export",
			text: inUTF16(lines(h1, mt5, "[2006.01.02]\t[15:04:05]\t{o}\t{h}\t{l}\t{c}\t{v}\t0\t7\r\n"), "\xff\xfe", false),
		},
		{
			what: "MetaTrader 4", name: "EURUSD60.csv", truth: h1, format: "MetaTrader 4 export",
			text: lines(h1, "", "[2006.01.02],[15:04],"+ohlcv),
		},
		{
			what: "Dukascopy", name: "EURUSD_1h.csv", truth: h1, format: "JForex export", says: "times are UTC",
			text: lines(h1, "Gmt time,Open,High,Low,Close,Volume\n", "[02.01.2006 15:04:05.000],"+ohlcv),
		},
		{
			what: "Dukascopy, local time", name: "EURUSD_1h.csv", truth: h1, format: "JForex export", says: "name their zone",
			text: lines(inZone(h1, time.FixedZone("",
				3600)), "Local time,Open,High,Low,Close,Volume\n", "[02.01.2006 15:04:05.000] GMT+0100,"+ohlcv),
		},
		{
			what: "JForex, EET", name: "EURUSD_1h.csv", truth: h1, format: "JForex export", says: "times are EET",
			text: lines(inZone(h1, eet), "Time (EET),Open,High,Low,Close,Volume \n", "[2006.01.02 15:04:05],"+ohlcv),
		},
		{
			what: "HistData ASCII", name: "DAT_ASCII_EURUSD_M1_202001.csv", truth: m1,
			format: "HistData", says: "EST without daylight saving time",
			text: lines(inZone(m1, est), "", "[20060102 150405];{o};{h};{l};{c};{v}\n"),
		},
		{
			what: "HistData for MetaTrader", name: "DAT_MT_EURUSD_M1_202001.csv", truth: m1,
			format: "HistData", says: "EST without daylight saving time",
			text: lines(inZone(m1, est), "", "[2006.01.02],[15:04],"+ohlcv),
		},
		{
			what: "HistData zip", name: "HISTDATA_COM_ASCII_EURUSD_M1_202001.zip", truth: m1, format: "HistData", says: "EST",
			text: inZip(t, map[string][]byte{
				"DAT_ASCII_EURUSD_M1_202001.csv": lines(inZone(m1, est), "", "[20060102 150405];{o};{h};{l};{c};{v}\n"),
				"DAT_ASCII_EURUSD_M1_202001.txt": []byte("Gap of 60s found\n"),
			}),
		},
		{what: "Binance klines", name: "BTCUSDT-1h-2020-01.csv", truth: h1, format: "Binance klines", text: lines(h1, "", binance)},
		{
			what: "Binance klines with a header", name: "BTCUSDT-1h-2020-01.csv", truth: h1, format: "Binance klines",
			text: lines(h1, "open_time,open,high,low,close,volume,close_time,quote_volume,count,"+
				"taker_buy_volume,taker_buy_quote_volume,ignore\n", binance),
		},
		{
			what: "Binance klines in millionths", name: "BTCUSDT-1h-2025-01.csv", truth: h1, format: "Binance klines",
			text: lines(h1, "", strings.Replace(binance, "{ms}", "{s}000000", 1)),
		},
		{
			what: "Binance klines that change their unit", name: "BTCUSDT-1h.csv", truth: h1, format: "Binance klines",
			text: append(lines(h1.Slice(0, 100), "",
				binance), lines(h1.Slice(100, 200), "", strings.Replace(binance, "{ms}", "{s}000000", 1))...),
		},
		{
			what: "Binance zip", name: "BTCUSDT-1h-2020-01.zip", truth: h1, format: "Binance klines",
			text: inZip(t, map[string][]byte{"BTCUSDT-1h-2020-01.csv": lines(h1, "", binance)}),
		},
		{
			what: "TradingView, Unix seconds", name: "FX_EURUSD, 60.csv", truth: h1, format: "TradingView export", says: "Unix times",
			text: lines(h1, "time,open,high,low,close,Volume,Volume MA\n", "{s},{o},{h},{l},{c},{v},NaN\n"),
		},
		{
			what: "TradingView, ISO", name: "FX_EURUSD, 60.csv", truth: h1, format: "TradingView export",
			text: lines(h1, "time,open,high,low,close,Volume\n", "[2006-01-02T15:04:05Z],"+ohlcv),
		},
		{what: "Stooq", name: "eurusd_d.csv", truth: d1, format: "table with a header", text: lines(d1, "Date,Open,High,Low,Close,Volume\r\n",
			"[2006-01-02],{o},{h},{l},{c},{v}\r\n")},
		{
			what: "Stooq in Polish", name: "eurusd_d.csv", truth: d1, format: "Stooq",
			text: lines(d1, "Data,Otwarcie,Najwyzszy,Najnizszy,Zamkniecie,Wolumen\n", "[2006-01-02],"+ohlcv),
		},
		{
			what: "Stooq in bulk", name: "eurusd.txt", truth: h1, format: "Stooq",
			text: lines(h1, "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n",
				"EURUSD,60,[20060102],[150405],{o},{h},{l},{c},{v},0\n"),
		},
		{
			what: "Yahoo", name: "EURUSD.csv", truth: d1, format: "Yahoo", says: "adjusted close is not used",
			text: lines(d1, "Date,Open,High,Low,Close,Adj Close,Volume\n", "[2006-01-02],{o},{h},{l},{c},0.5,{v}\n"),
		},
		{
			what: "yfinance, one line of header", name: "EURUSD.csv", truth: d1, format: "yfinance",
			text: lines(d1, "Date,Adj Close,Close,High,Low,Open,Volume\n", "[2006-01-02],{c},{c},{h},{l},{o},{v}\n"),
		},
		{
			what: "yfinance, three lines of header", name: "EURUSD.csv", truth: d1, format: "yfinance",
			text: lines(d1, "Price,Close,High,Low,Open,Volume\nTicker,EURUSD=X,EURUSD=X,EURUSD=X,EURUSD=X,EURUSD=X\nDate,,,,,\n",
				"[2006-01-02],{c},{h},{l},{o},{v}\n"),
		},
		{
			what: "yfinance, two lines of header", name: "EURUSD.csv", truth: d1, format: "yfinance",
			text: lines(d1, "Price,Close,High,Low,Open,Volume\nDate,,,,,\n", "[2006-01-02],{c},{h},{l},{o},{v}\n"),
		},
		{
			what: "yfinance history with dividends", name: "EURUSD.csv", truth: d1, format: "yfinance",
			text: lines(d1, "Date,Open,High,Low,Close,Volume,Dividends,Stock Splits\n",
				"[2006-01-02] 00:00:00+00:00,{o},{h},{l},{c},{v},0.0,0.0\n"),
		},
		{
			what: "Alpha Vantage, newest first", name: "daily_EURUSD.csv", truth: d1, format: "Alpha Vantage", says: "newest row first",
			text: reversed(lines(d1, "timestamp,open,high,low,close,adjusted_close,volume,dividend_amount,split_coefficient\n",
				"[2006-01-02],{o},{h},{l},{c},{c},{v},0.0,1.0\n"), 1),
		},
		{
			what: "Polygon flat file", name: "EURUSD_1h.csv", truth: h1, format: "Polygon",
			text: lines(h1, "ticker,volume,open,close,high,low,window_start,transactions\n", "C:EURUSD,{v},{o},{c},{h},{l},{ns},12\n"),
		},
		{
			what: "Polygon aggregates", name: "EURUSD_1h.csv", truth: h1, format: "Polygon",
			text: lines(h1, "v,vw,o,c,h,l,t,n\n", "{v},1.1,{o},{c},{h},{l},{ms},12\n"),
		},
		{
			what: "NinjaTrader", name: "EURUSD.Last.txt", truth: m1, format: "NinjaTrader export",
			text: lines(m1, "", "[20060102 150405];{o};{h};{l};{c};{v}\n"),
		},
		{
			what: "Kraken", name: "XBTUSD_60.csv", truth: h1, format: "Kraken OHLCVT",
			text: lines(h1, "", "{s},{o},{h},{l},{c},{v},17\n"),
		},
		{
			what: "Coinbase", name: "BTC-USD_1h.csv", truth: h1, format: "Coinbase candles",
			text: lines(h1, "", "{s},{l},{h},{o},{c},{v}\n"),
		},
		{
			what: "CryptoDataDownload", name: "Binance_BTCUSDT_1h.csv", truth: h1, format: "CryptoDataDownload", says: "newest row first",
			text: reversed(lines(h1, "https://www.CryptoDataDownload.com\nunix,date,symbol,open,high,low,close,Volume BTC,Volume USDT,tradecount\n",
				"{ms},[2006-01-02 15:04:05],BTC/USDT,{o},{h},{l},{c},{v},5.5,3\n"), 2),
		},
		{
			what: "Investing.com", name: "EUR_USD Historical Data.csv", truth: d1, format: "Investing.com", says: "dates are month-first",
			text: reversed(lines(d1, "\ufeff\"Date\",\"Price\",\"Open\",\"High\",\"Low\",\"Vol.\",\"Change %\"\n",
				"\"[01/02/2006]\",\"{c}\",\"{o}\",\"{h}\",\"{l}\",\"{v}\",\"0.10%\"\n"), 1),
		},
		{
			what: "Excel, German", name: "EURUSD_1h.csv", truth: h1, format: "table with a header", says: "decimal comma",
			text: lines(h1, german, germanRow, decimalComma, inGroups(".")),
		},
		{
			what: "Excel, German, in Windows-1252", name: "EURUSD_1h.csv", truth: h1, format: "table with a header",
			text: bytes.ReplaceAll(lines(h1, german, germanRow, decimalComma), []byte("ö"), []byte{0xf6}),
		},
		{
			what: "Excel, French", name: "EURUSD_1h.csv", truth: h1, format: "table with a header", says: "dates are day-first",
			text: lines(h1, "Date;Heure;Ouverture;Plus haut;Plus bas;Clôture;Volume\r\n", "[02/01/2006];[15:04];{o};{h};{l};{c};{v}\r\n",
				decimalComma, inGroups("\u202f")),
		},
		{
			what: "Excel, Spanish", name: "EURUSD_1h.csv", truth: h1, format: "table with a header",
			text: lines(h1, "Fecha;Hora;Apertura;Máximo;Mínimo;Cierre;Volumen\n",
				"[02/01/2006];[15:04];{o};{h};{l};{c};{v}\n", decimalComma, inGroups(".")),
		},
		{
			what: "Excel, American", name: "EURUSD_1h.csv", truth: h1, format: "table with a header", says: "dates are month-first",
			text: lines(h1, "Date,Open,High,Low,Close,Volume\n", "[1/2/2006 3:04 PM],{o},{h},{l},{c},\"{v}\"\n", inGroups(",")),
		},
		{
			what: "Excel, sep line", name: "EURUSD_1h.csv", truth: h1, format: "spreadsheet export",
			text: lines(h1, "sep=;\nDate;Open;High;Low;Close;Volume\n", "[02/01/2006 15:04];{o};{h};{l};{c};{v}\n", decimalComma),
		},
		{
			what: "Excel, days as numbers", name: "EURUSD_1h.csv", truth: h1, format: "table with a header", says: "days of a spreadsheet",
			text: lines(h1, "Date,Open,High,Low,Close,Volume\n", "{excel},"+ohlcv),
		},
		{
			what: "Excel, Swiss groups", name: "EURUSD_1h.csv", truth: h1, format: "table with a header",
			text: lines(h1, "Datum;Eröffnung;Hoch;Tief;Schluss;Volumen\n", "[02.01.2006 15:04];{o};{h};{l};{c};{v}\n", inGroups("'")),
		},
		{
			what: "months by name", name: "EURUSD_1d.csv", truth: d1, format: "table with a header",
			text: lines(d1, "Date,Open,High,Low,Close,Volume\n", "[02-Jan-2006],"+ohlcv),
		},
		{
			what: "months by name, American", name: "EURUSD_1d.csv", truth: d1, format: "table with a header",
			text: lines(d1, "Date,Open,High,Low,Close,Volume\n", "\"[Jan 02, 2006]\","+ohlcv),
		},
		{
			what: "years of two digits", name: "EURUSD_1d.csv", truth: d1, format: "table with a header", says: "month-first",
			text: lines(d1, "Date,Open,High,Low,Close,Volume\n", "[01/02/06],"+ohlcv),
		},
		{
			what: "the first date decides the order", name: "EURUSD_1h.csv", truth: early,
			format: "table with a header", says: "day-first",
			text: lines(early, "Date,Open,High,Low,Close,Volume\n", "[02/01/2006 15:04],"+ohlcv),
		},
		{
			what: "only the order of the rows decides day-first", name: "EURUSD_1d.csv", truth: undecided,
			format: "table with a header", says: "day-first",
			text: lines(undecided, "Date,Open,High,Low,Close,Volume\n", "[02/01/2006],"+ohlcv), opt: ImportOptions{Timeframe: D1},
		},
		{
			what: "the order of dates is given", name: "EURUSD_1d.csv", truth: undecided.Slice(3, 4),
			format: "table with a header", says: "month-first",
			text: lines(undecided.Slice(3, 4), "Date,Open,High,Low,Close,Volume\n",
				"[01/02/2006],"+ohlcv), opt: ImportOptions{Dates: MonthFirst, Timeframe: D1},
		},
		{
			what: "UTF-16, big end first", name: "EURUSD_1h.csv", truth: h1, format: "table with a header",
			text: inUTF16(lines(h1, "Date,Open,High,Low,Close,Volume\n", "[2006-01-02 15:04],"+ohlcv), "\xfe\xff", true),
		},
		{
			what: "UTF-16 without a mark", name: "EURUSD_1h.csv", truth: h1, format: "table with a header",
			text: inUTF16(lines(h1, "Date,Open,High,Low,Close,Volume\n", "[2006-01-02 15:04],"+ohlcv), "", false),
		},
		{
			what: "Zstandard", name: "EURUSD_1h.csv.zst", truth: h1, format: "table with a header",
			text: inZstd(t, lines(h1, "Date,Open,High,Low,Close,Volume\n", "[2006-01-02 15:04],"+ohlcv)),
		},
		{
			what: "comments before the header", name: "EURUSD_1h.csv", truth: h1, format: "table with a header",
			text: lines(h1, "# exported by a script\n# 2020\n\nDate\tOpen\tHigh\tLow\tClose\tVolume\n",
				"[2006-01-02 15:04]\t{o}\t{h}\t{l}\t{c}\t{v}\n"),
		},

		{
			what: "a date that nothing decides", name: "EURUSD_1d.csv", refuse: "give --dates day-first or --dates month-first",
			text: lines(undecided.Slice(3, 4), "Date,Open,High,Low,Close,Volume\n",
				"[02/01/2006],"+ohlcv), opt: ImportOptions{Timeframe: D1},
		},
		{
			what: "a comma that nothing decides", name: "X_1d.csv", refuse: "give --decimal comma or --decimal point",
			text: []byte("Date;Open;High;Low;Close\n2020-01-02;1,234;1,240;1,230;1,235\n2020-01-03;1,234;1,240;1,230;1,235\n"),
		},
		{
			what: "both decimal marks", name: "X_1d.csv", refuse: "some numbers have a decimal comma and others a decimal point",
			text: []byte("Date;Open;High;Low;Close\n2020-01-02;1,2;1.25;1.1;1.2\n"),
		},
		{
			what: "a web page", name: "EURUSD.csv", refuse: "this is a web page, not prices",
			text: []byte("<!DOCTYPE html>\n<html><body>Not found</body></html>\n"),
		},
		{
			what: "an Excel workbook", name: "EURUSD.xlsx", refuse: "this is an Excel workbook: save the sheet with the prices as CSV",
			text: inZip(t, map[string][]byte{"xl/workbook.xml": []byte("<workbook/>"), "xl/worksheets/sheet1.xml": []byte("<x/>")}),
		},
		{
			what: "an old Excel workbook", name: "EURUSD.xls", refuse: "this is an Excel workbook, not a table of prices: save the prices as CSV",
			text: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00\x00\n"),
		},
		{
			what: "a Feather file", name: "EURUSD.feather", refuse: "this is an Arrow (Feather) file, not a table of prices: save the prices as CSV",
			text: []byte("ARROW1\x00\x00\xff\xff\xff\xff\n"),
		},
		{
			what: "no volume", name: "EURUSD_1h.csv", truth: withoutVolume(h1), format: "table with a header", says: "no volume",
			text: lines(h1, "Date,Open,High,Low,Close\n", "[2006-01-02 15:04],{o},{h},{l},{c}\n"),
		},
		{
			what: "empty volumes", name: "EURUSD_1h.csv", truth: withoutVolume(h1), format: "table with a header",
			text: lines(h1, "Date,Open,High,Low,Close,Volume\n", "[2006-01-02 15:04],{o},{h},{l},{c},\n"),
		},
		{
			what: "HistData volumes, which are all 0", name: "DAT_ASCII_EURUSD_M1_202001.csv", truth: withoutVolume(m1), format: "HistData",
			says: "its volumes of 0 are not known",
			text: lines(inZone(m1, est), "", "[20060102 150405];{o};{h};{l};{c};0\n"),
		},
		{
			what: "Yahoo volumes of a currency, which are all 0", name: "EURUSD=X.csv", truth: withoutVolume(d1), format: "Yahoo",
			says: "its volumes of 0 are not known",
			text: lines(d1, "Date,Open,High,Low,Close,Adj Close,Volume\n", "[2006-01-02],{o},{h},{l},{c},{c},0\n"),
		},
		{what: "JSON", name: "EURUSD.csv", refuse: "this is JSON", text: []byte(`{"error": "Rate limit"}` + "\n")},
		{
			what: "several symbols", name: "all.csv", refuse: "line 4: the file has rows of AAPL and of MSFT",
			text: []byte("ticker,date,open,high,low,close\nAAPL,2020-01-02,1,1,1,1\nAAPL,2020-01-03,1,1,1,1\nMSFT,2020-01-02,1,1,1,1\n"),
		},
		{
			what: "a zip of several symbols", name: "months.zip",
			refuse: "the archive holds EURUSD 1h (EURUSD_1h.csv) and GBPUSD 1h (GBPUSD_1h.csv): import it with `ktrdr data import` " +
				"and without --symbol",
			text: inZip(t, map[string][]byte{"EURUSD_1h.csv": []byte("x"), "GBPUSD_1h.csv": []byte("x")}),
		},
		{
			what: "a zip with an error in its second file", name: "months.zip",
			refuse: "months.zip/BTCUSDT-1h-2020-02.csv:1: unreadable: ",
			text: inZip(t, map[string][]byte{
				"BTCUSDT-1h-2020-01.csv": lines(h1.Slice(0, 100), "", binance),
				"BTCUSDT-1h-2020-02.csv": bytes.Replace(lines(h1.Slice(100, 200), "", binance), []byte("1."), []byte("no"), 1),
			}),
		},
		{
			what: "a zip whose files contradict each other", name: "months.zip",
			refuse: "BTCUSDT-1h-2020-02.csv has 10 bars at times of earlier files of the archive, with other prices",
			text: inZip(t, map[string][]byte{
				"BTCUSDT-1h-2020-01.csv": lines(h1.Slice(0, 100), "", binance),
				"BTCUSDT-1h-2020-02.csv": bytes.ReplaceAll(lines(h1.Slice(90, 200), "", binance), []byte(",1."), []byte(",2.")),
			}),
		},
		{
			what: "Binance zip of months, thousandths and then millionths", name: "BTCUSDT-1h.zip", truth: h1, format: "Binance klines",
			says: "2 files of the archive are put together",
			text: inZip(t, map[string][]byte{
				"BTCUSDT-1h-2024-12.csv": lines(h1.Slice(0, 100), "", binance),
				"BTCUSDT-1h-2025-01.csv": lines(h1.Slice(100, 200), "", strings.Replace(binance, "{ms}", "{s}000000", 1)),
			}),
		},
		{
			what: "HistData zip of two years", name: "EURUSD.zip", truth: m1, format: "HistData", says: "2 files of the archive are put together",
			text: inZip(t, map[string][]byte{
				"DAT_ASCII_EURUSD_M1_2019.csv": lines(inZone(m1.Slice(0, 200), est), "", "[20060102 150405];{o};{h};{l};{c};{v}\n"),
				"DAT_ASCII_EURUSD_M1_2020.csv": lines(inZone(m1.Slice(200, 300), est), "", "[20060102 150405];{o};{h};{l};{c};{v}\n"),
				"DAT_ASCII_EURUSD_M1_2020.txt": []byte("Gap of 60s found\n"),
			}),
		},
		{
			what: "an archive without prices", name: "x.zip", refuse: "there is no CSV or text file in the archive",
			text: inZip(t, map[string][]byte{"a.exe": []byte("x")}),
		},
		{
			what: "a damaged archive", name: "x.zip", refuse: "the end of the archive is missing: copy or download the file again",
			text: []byte(zipMagic + "garbage"),
		},
		{
			what: "a header with a name that is not known", name: "X_1d.csv",
			refuse: `line 1: the header "Data,Chiusura,Massimo,Minimo,Apertura,Volume" has no column for high`,
			text:   lines(d1, "Data,Chiusura,Massimo,Minimo,Apertura,Volume\n", "[2006-01-02],{c},{h},{l},{o},{v}\n"),
		},
		{
			what: "a date in another order than before", name: "X_1d.csv", refuse: `x.csv:4: unreadable: time "02/13/2020" is not in a known form`,
			text: []byte("Date,Open,High,Low,Close\n13/01/2020,1,1,1,1\n14/01/2020,1,1,1,1\n02/13/2020,1,1,1,1\n"),
			opt:  ImportOptions{Source: "x.csv"},
		},
	}...)
}

var update = flag.Bool("update", false, "rewrite the table of docs/files.md")

// TestCorpus_IsTheTableOfTheDocs holds the page of price files to the corpus.
func TestCorpus_IsTheTableOfTheDocs(t *testing.T) {
	const page = "../docs/files.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files := corpus(t)
	if len(files) < 80 {
		t.Errorf("the corpus has %d files, want at least 80", len(files))
	}
	var read, refused strings.Builder
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.what] {
			t.Errorf("two files are %q", f.what)
		}
		seen[f.what] = true
		if f.refuse != "" {
			fmt.Fprintf(&refused, "| %s | `%s` | %s |\n", f.what, f.name, strings.ReplaceAll(f.refuse, "`", ""))
			continue
		}
		said := f.format
		if f.says != "" {
			said += "; … " + f.says
		}
		fmt.Fprintf(&read, "| %s | `%s` | %s |\n", f.what, f.name, said)
	}
	want := withTable(withTable(string(text), "| file | name, such as | recognised as |", read.String()),
		"| file | name, such as | the refusal has the words |", refused.String())
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s does not list what the corpus has: run `go test ./market -run TheTableOfTheDocs -update` and look at the difference", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // a page of the documentation
		t.Fatal(err)
	}
}

// withTable is text with other rows below the head of a table.
func withTable(text, head, rows string) string {
	before, after, _ := strings.Cut(text, head+"\n|---|---|---|\n")
	rest := ""
	if i := strings.Index("\n"+after, "\n\n"); i >= 0 {
		rest = ("\n" + after)[i+1:]
	}
	return before + head + "\n|---|---|---|\n" + rows + rest
}

func TestCorpus_IsRecognisedOrRefused(t *testing.T) {
	dir := t.TempDir()
	for i, f := range corpus(t) {
		t.Run(f.what, func(t *testing.T) {
			name := filepath.Join(dir, strconv.Itoa(i), f.name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, f.text, 0o600); err != nil {
				t.Fatal(err)
			}
			f.opt.Symbol = "EURUSD"
			if _, _, ok := NamedSeries(f.name); !ok && f.refuse == "" {
				if symbol, _, _ := Peek(t.Context(), name, "", f.opt); symbol == "" {
					t.Errorf("neither the name %q nor the rows tell the symbol", f.name)
				}
			}
			got, rep, err := ReadFile(t.Context(), name, f.opt)
			if f.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), f.refuse) {
					t.Fatalf("err = %v, want %q in it", err, f.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if why := differ(f.truth, got); why != "" {
				t.Error(why)
			}
			if said := rep.Recognised.String(); rep.Recognised.Format != f.format || !strings.Contains(said, f.says) {
				t.Errorf("recognised %q, want %q with %q", said, f.format, f.says)
			}
		})
	}
}

// differ says where two series differ.
func differ(want, got *Bars) string {
	if want.Len() != got.Len() || want.Timeframe != got.Timeframe {
		return fmt.Sprintf("got %d bars of %s, want %d of %s", got.Len(), got.Timeframe, want.Len(), want.Timeframe)
	}
	for i := range want.Len() {
		if !want.At(i).Same(got.At(i)) {
			return fmt.Sprintf("bar %d is %+v, want %+v", i, got.At(i), want.At(i))
		}
	}
	return ""
}

func TestReadCSV_ScalesToTheAdjustedCloseWhereAsked(t *testing.T) {
	text := "Date,Open,High,Low,Close,Adj Close,Volume\n2020-01-02,10,12,8,10,5,100\n2020-01-03,10,12,8,10,10,100\n"
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{Adjusted: true})
	if err != nil {
		t.Fatal(err)
	}
	if b.At(0) != (Bar{b.Time[0], 5, 6, 4, 5, 100, 0}) || b.At(1) != (Bar{b.Time[1], 10, 12, 8, 10, 100, 0}) {
		t.Errorf("got %+v and %+v", b.At(0), b.At(1))
	}
	if !strings.Contains(rep.Recognised.String(), "scaled to the adjusted close") {
		t.Errorf("recognised %q", rep.Recognised)
	}
}

func TestReadCSV_RefusesAdjustingWithoutAnAdjustedClose(t *testing.T) {
	_, _, err := ReadCSV(strings.NewReader("Date,Open,High,Low,Close\n2020-01-02,1,1,1,1\n2020-01-03,1,1,1,1\n"),
		ImportOptions{Adjusted: true})
	if err == nil || !strings.Contains(err.Error(), "has no column of adjusted closes") {
		t.Errorf("err = %v", err)
	}
}

func TestUTF16_IsReadAtAnySizeOfBuffer(t *testing.T) {
	want := strings.Repeat("aé€😀\n", 300)
	for _, size := range []int{1, 2, 3, 7, 4096} {
		r, err := plain(bytes.NewReader(inUTF16([]byte(want), "\xff\xfe", false)))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if _, err := io.CopyBuffer(&got, struct{ io.Reader }{r}, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if strings.TrimPrefix(got.String(), "\ufeff") != want {
			t.Errorf("with a buffer of %d bytes the text differs", size)
		}
	}
}
