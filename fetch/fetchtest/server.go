// Package fetchtest holds a server that speaks the formats of the sources of package
// fetch, with the defects of the real ones. Its prices follow from the time alone, so
// that a test knows what must arrive.
package fetchtest

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ulikunitz/xz/lzma"

	"github.com/ktrdr/ktrdr/market"
)

// Points are how many make a unit of the prices.
const Points = 100_000

const (
	tick   = 1200 // seconds between two prices
	spread = 12   // points
)

// price is that of an instant, in points.
func price(t int64) int64 {
	i := t / tick
	return 110_000 + (i*7919)%1009 + (i/50)%400
}

// Bar is the true bar that opens at t.
func Bar(tf market.Timeframe, t int64) market.Bar {
	unit := func(points int64) float64 { return float64(points) / Points }
	first := price(t)
	high, low, last, n := first, first, first, 0
	for at := t; at < tf.End(t); at += tick {
		last = price(at)
		high, low = max(high, last), min(low, last)
		n++
	}
	return market.Bar{Time: t, Open: unit(first), High: unit(high), Low: unit(low), Close: unit(last), Volume: float64(n)}
}

// Bars are the true bars that open in [from, to).
func Bars(tf market.Timeframe, from, to int64) []market.Bar {
	var all []market.Bar
	for t := from; t < to; t = tf.End(t) {
		all = append(all, Bar(tf, t))
	}
	return all
}

// Server answers as the sources do. Before answers a request instead of it, and says
// that it did; n counts the requests for one address, from 0.
type Server struct {
	Before func(w http.ResponseWriter, r *http.Request, n int) bool
	Now    func() time.Time // nil: time.Now
	Late   time.Duration    // until files are published
	Revise func(market.Bar) market.Bar

	mu    sync.Mutex
	asked map[string]int
	total int
}

// Asked tells how often each address was asked for.
func (s *Server) Asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

// Total is the number of requests.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

func (s *Server) now() int64 {
	if s.Now != nil {
		return s.Now().Unix()
	}
	return time.Now().Unix()
}

func (s *Server) bar(tf market.Timeframe, t int64) market.Bar {
	b := Bar(tf, t)
	if s.Revise != nil {
		b = s.Revise(b)
	}
	return b
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	n := s.asked[r.URL.String()]
	s.asked[r.URL.String()]++
	s.total++
	s.mu.Unlock()
	if s.Before != nil && s.Before(w, r, n) {
		return
	}
	p := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case p[0] == "data" && len(p) == 7:
		s.binance(w, r, p)
	case p[0] == "datafeed" && len(p) == 6:
		s.dukascopy(w, p[1:])
	case p[0] == "v8":
		s.yahoo(w, r, p[3])
	case p[0] == "0":
		s.kraken(w, r)
	case p[0] == "products":
		s.coinbase(w, r, p[1])
	case p[0] == "graph":
		s.fred(w, r)
	case p[0] == "files":
		s.file(w, r, p[1:])
	default:
		http.NotFound(w, r)
	}
}

func frame(name string) market.Timeframe {
	tf, err := market.ParseTimeframe(name)
	if err != nil {
		panic(err)
	}
	return tf
}

// binance: /data/spot/monthly/klines/BTCUSDT/1h/BTCUSDT-1h-2024-12.zip
func (s *Server) binance(w http.ResponseWriter, r *http.Request, p []string) {
	name, sum := strings.CutSuffix(p[6], ".CHECKSUM")
	name = strings.TrimSuffix(name, ".zip")
	tf := frame(p[5])
	date := strings.TrimPrefix(name, p[4]+"-"+p[5]+"-")
	layout, end := "2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }
	if p[2] == "daily" {
		layout, end = time.DateOnly, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }
	}
	from, err := time.Parse(layout, date)
	if err != nil || p[4] != "BTCUSDT" || end(from).Add(s.Late).Unix() > s.now() {
		http.Error(w, "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		return
	}
	var text bytes.Buffer
	scale := int64(1000)
	if from.Year() >= 2025 {
		scale = 1_000_000
		text.WriteString("open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n")
	}
	for t := from.Unix(); t < end(from).Unix(); t = tf.End(t) {
		b := s.bar(tf, t)
		fmt.Fprintf(&text, "%d,%.8f,%.8f,%.8f,%.8f,%.8f,%d,0,1,0,0,0\n", t*scale, b.Open, b.High, b.Low, b.Close, b.Volume, tf.End(t)*scale-1)
	}
	archive := Zip(name+".csv", text.Bytes())
	if sum {
		fmt.Fprintf(w, "%x  %s.zip\n", sha256.Sum256(archive), name)
		return
	}
	http.ServeContent(tagged(w, archive), r, "", time.Time{}, bytes.NewReader(archive))
}

func tagged(w http.ResponseWriter, data []byte) http.ResponseWriter {
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
	w.Header().Set("Content-Type", "application/octet-stream")
	return w
}

// Zip is an archive of one file.
func Zip(name string, data []byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// LZMA packs bytes as Dukascopy does.
func LZMA(data []byte) []byte {
	var b bytes.Buffer
	z, err := lzma.WriterConfig{DictCap: 1 << 16}.NewWriter(&b)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Closed tells whether the currency market is closed at an instant.
func Closed(t int64) bool {
	at := time.Unix(t, 0).UTC()
	switch at.Weekday() {
	case time.Friday:
		return at.Hour() >= 22
	case time.Saturday:
		return true
	case time.Sunday:
		return at.Hour() < 22
	}
	return false
}

// dukascopy: /datafeed/EURUSD/2024/00/05/13h_ticks.bi5, where the month is January
func (s *Server) dukascopy(w http.ResponseWriter, p []string) {
	var n [4]int
	for i := range n {
		n[i], _ = strconv.Atoi(strings.TrimSuffix(p[i+1], "h_ticks.bi5"))
	}
	from := time.Date(n[0], time.Month(n[1]+1), n[2], n[3], 0, 0, 0, time.UTC).Unix()
	if p[0] != "EURUSD" || from+3600+int64(s.Late/time.Second) > s.now() || time.Unix(from, 0).UTC().Weekday() == time.Saturday {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if Closed(from) {
		return // an empty file
	}
	var b []byte
	for t := from; t < from+3600; t += tick {
		bid := price(t)
		b = binary.BigEndian.AppendUint32(b, uint32((t-from)*1000))
		b = binary.BigEndian.AppendUint32(b, uint32(bid+spread))
		b = binary.BigEndian.AppendUint32(b, uint32(bid))
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(1.5))
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(1))
	}
	_, _ = w.Write(LZMA(b))
}

func number(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s of %s is no number", name, r.URL))
	}
	return n
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// yahoo has days of an exchange in New York: rows at its opening, one without prices on
// 25 December, and one more of the moment at the end.
func (s *Server) yahoo(w http.ResponseWriter, r *http.Request, symbol string) {
	if symbol != "AAPL" {
		reply(w, http.StatusNotFound, map[string]any{"chart": map[string]any{"result": nil, "error": map[string]string{
			"code": "Not Found", "description": "No data found, symbol may be delisted",
		}}})
		return
	}
	ny, _ := time.LoadLocation("America/New_York")
	from, to := number(r, "period1"), min(number(r, "period2"), s.now())
	var times []int64
	var columns [5][]*float64
	add := func(at int64, b *market.Bar) {
		times = append(times, at)
		for i := range columns {
			var v *float64
			if b != nil {
				v = &[]float64{b.Open, b.High, b.Low, b.Close, b.Volume}[i]
			}
			columns[i] = append(columns[i], v)
		}
	}
	for d := market.D1.Start(from); d <= to; d += 24 * 3600 {
		date := time.Unix(d, 0).UTC()
		y, m, dd := date.Date()
		open := time.Date(y, m, dd, 9, 30, 0, 0, ny).Unix()
		b := s.bar(market.D1, d)
		switch {
		case open < from || open >= to || date.Weekday() == time.Saturday || date.Weekday() == time.Sunday:
		case m == time.December && dd == 25:
			add(open, nil)
		default:
			add(open, &b)
		}
	}
	if to == s.now() {
		now := s.bar(market.D1, market.D1.Start(to))
		add(to, &now)
	}
	quote := map[string]any{"open": columns[0], "high": columns[1], "low": columns[2], "close": columns[3], "volume": columns[4]}
	reply(w, http.StatusOK, map[string]any{"chart": map[string]any{"error": nil, "result": []any{map[string]any{
		"meta":      map[string]any{"exchangeTimezoneName": "America/New_York", "dataGranularity": r.URL.Query().Get("interval")},
		"timestamp": times, "indicators": map[string]any{"quote": []any{quote}},
	}}}})
}

// kraken gives the newest 720 bars, with the unfinished one, whatever it is asked for.
func (s *Server) kraken(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("pair") != "XBTUSD" {
		reply(w, http.StatusOK, map[string]any{"error": []string{"EQuery:Unknown asset pair"}})
		return
	}
	tf := market.H1
	step := 60 * number(r, "interval")
	last := s.now() - s.now()%step
	var rows [][]any
	for t := max(last-719*step, number(r, "since")); t <= last; t += step {
		if t%step != 0 {
			t += step - t%step
		}
		b := s.bar(tf, t)
		text := func(v float64) string { return strconv.FormatFloat(v, 'f', 5, 64) }
		rows = append(rows, []any{t, text(b.Open), text(b.High), text(b.Low), text(b.Close), "0", text(b.Volume), 3})
	}
	reply(w, http.StatusOK, map[string]any{"error": []string{}, "result": map[string]any{"XXBTZUSD": rows, "last": last - step}})
}

// coinbase gives at most 300 candles, newest first, with those at both ends.
func (s *Server) coinbase(w http.ResponseWriter, r *http.Request, product string) {
	if product != "BTC-USD" {
		reply(w, http.StatusNotFound, map[string]string{"message": "NotFound"})
		return
	}
	step := number(r, "granularity")
	at := func(name string) int64 {
		t, err := time.Parse(time.RFC3339, r.URL.Query().Get(name))
		if err != nil {
			panic(err)
		}
		return t.Unix()
	}
	from, to := at("start"), at("end")
	if (to-from)/step >= 300 {
		reply(w, http.StatusBadRequest,
			map[string]string{"message": "granularity too small for the requested time range. Count of aggregations requested exceeds 300"})
		return
	}
	rows := [][]float64{}
	for t := to - to%step; t >= from-step; t -= step { // one more than was asked for
		if t > s.now() {
			continue
		}
		b := s.bar(market.H1, t)
		rows = append(rows, []float64{float64(t), b.Low, b.High, b.Open, b.Close, b.Volume})
	}
	reply(w, http.StatusOK, rows)
}

// fred has a value for each weekday, "." on the 25th.
func (s *Server) fred(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("id") != "SP500" {
		fmt.Fprint(w, "<!DOCTYPE html>\n<html><title>Error - St. Louis Fed</title></html>")
		return
	}
	from, err := time.Parse(time.DateOnly, q.Get("cosd"))
	to, err2 := time.Parse(time.DateOnly, q.Get("coed"))
	if cmp.Or(err, err2) != nil {
		panic("dates of " + r.URL.String())
	}
	fmt.Fprint(w, "observation_date,SP500\n")
	for d := from; !d.After(to) && d.Unix()+24*3600 < s.now(); d = d.AddDate(0, 0, 1) {
		switch {
		case d.Weekday() == time.Saturday || d.Weekday() == time.Sunday:
		case d.Day() == 25:
			fmt.Fprintf(w, "%s,.\n", d.Format(time.DateOnly))
		default:
			fmt.Fprintf(w, "%s,%.5f\n", d.Format(time.DateOnly), s.bar(market.D1, d.Unix()).Close)
		}
	}
}

// file: /files/EURUSD_1h.csv?from=…&to=…, or /files/EURUSD_1h_2024-02.csv
func (s *Server) file(w http.ResponseWriter, r *http.Request, p []string) {
	name := strings.TrimSuffix(p[0], ".csv")
	parts := strings.Split(name, "_")
	tf := frame(parts[1])
	var from, to int64
	if len(parts) == 3 {
		month, err := time.Parse("2006-01", parts[2])
		if err != nil {
			panic(err)
		}
		from, to = month.Unix(), month.AddDate(0, 1, 0).Unix()
	} else {
		from, to = number(r, "from"), number(r, "to")
	}
	io.WriteString(w, "time,open,high,low,close,volume\n") //nolint:errcheck // the reader may be gone
	for t := from; t < to && t <= s.now(); t = tf.End(t) {
		b := s.bar(tf, t)
		fmt.Fprintf(w, "%s,%v,%v,%v,%v,%v\n", time.Unix(t, 0).UTC().Format(time.RFC3339), b.Open, b.High, b.Low, b.Close, b.Volume)
	}
}

// Start serves on a loopback address with TLS. env makes a program reach it and trust
// it: all sources are there.
func (s *Server) Start(t testing.TB) (server *httptest.Server, env []string) {
	t.Helper()
	server = httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(trusted, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range []string{"binance", "yahoo", "kraken", "coinbase", "fred"} {
		all = append(all, name+"="+server.URL)
	}
	all = append(all, "dukascopy="+server.URL+"/datafeed", "mine="+server.URL+"/files/{symbol}_{timeframe}.csv?from={from_unix}&to={to_unix}")
	return server, []string{
		"SSL_CERT_FILE=" + trusted, "KTRDR_FETCH_NETWORKS=127.0.0.0/8,::1/128", "KTRDR_FETCH_SOURCES=" + strings.Join(all, " "),
	}
}
