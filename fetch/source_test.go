package fetch

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/market"
)

// pipes are connections inside the test, so that time can be virtual.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), ended: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(93, 184, 216, 34), Port: 443} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var (
	from = time.Date(2024, 11, 20, 0, 0, 0, 0, time.UTC)
	now  = time.Date(2025, 2, 12, 10, 30, 0, 0, time.UTC) // a Wednesday
)

// at runs a test at that time, virtually, with a Fetcher whose sources are the server.
func at(t *testing.T, s *fetchtest.Server, test func(*testing.T, *Fetcher)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if !time.Now().After(now) {
			time.Sleep(time.Until(now)) // virtual
		}
		listener := newPipes()
		server := httptest.NewUnstartedServer(s)
		server.Listener = listener
		server.StartTLS()
		f, err := New(Config{Addresses: map[string]ktrdr.Secret{
			"mine": "https://prices.example/files/{symbol}_{timeframe}.csv?from={from_unix}&to={to_unix}&key=hidden",
		}})
		if err != nil {
			t.Fatal(err)
		}
		trusts := server.Client().Transport.(*http.Transport).TLSClientConfig
		guard := &Guard{dial: listener.dial, lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}}
		f.client.http.Transport = &http.Transport{DialContext: guard.Dial, DisableCompression: true, TLSClientConfig: &tls.Config{
			RootCAs: trusts.RootCAs, ServerName: "example.com",
		}}
		test(t, f)
		f.Close()
		server.Close()
	})
}

// fetched is all that a request gives, and what is noted.
func fetched(t *testing.T, f *Fetcher, r Request) (all []market.Bar, notes string, err error) {
	t.Helper()
	pieces, err := f.Pieces(r)
	if err != nil {
		return nil, "", err
	}
	for _, piece := range pieces {
		p, err := f.Fetch(t.Context(), r, piece)
		if err != nil {
			return all, notes, err
		}
		for i := range p.Bars.Len() {
			all = append(all, p.Bars.At(i))
		}
		notes += strings.Join(p.Notes, "; ")
	}
	return all, notes, nil
}

func ask1h(source, symbol string) Request {
	return Request{Source: source, Symbol: symbol, Timeframe: market.H1, From: from.Unix(), To: now.Unix()}
}

func same(t *testing.T, got, want []market.Bar) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !got[i].Same(want[i]) {
			t.Fatalf("bar %d is\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d bars, want %d", len(got), len(want))
	}
}

// days are the true daily bars of weekdays but holidays; their volume is not known or the true one.
func days(from, to time.Time, holiday int, month time.Month, make func(market.Bar) market.Bar) (all []market.Bar) {
	for d := from; d.Before(to); d = d.AddDate(0, 0, 1) {
		off := d.Day() == holiday && (month == 0 || d.Month() == month)
		if d.Weekday() != time.Saturday && d.Weekday() != time.Sunday && !off {
			all = append(all, make(fetchtest.Bar(market.D1, d.Unix())))
		}
	}
	return all
}

// Prices of every source arrive as they are: the change to microseconds at the beginning
// of 2025, edges of pages, rows of the moment, dates of New York in winter and summer.
func TestSources_GiveTheBarsThatAre(t *testing.T) {
	hours := fetchtest.Bars(market.H1, from.Unix(), now.Unix()-1800)
	today := now.Truncate(24 * time.Hour)
	yesterday := fetchtest.Bars(market.H1, from.Unix(), today.Unix())
	var open []market.Bar
	for _, b := range hours {
		if !fetchtest.Closed(b.Time) {
			b.Spread = 0.00012
			open = append(open, b)
		}
	}
	for name, c := range map[string]struct {
		r     Request
		want  []market.Bar
		notes string
	}{
		"binance":   {ask1h("binance", "BTCUSDT"), yesterday, ""}, // files of days that are over
		"dukascopy": {ask1h("dukascopy", "EURUSD"), open, ""},
		"kraken": {
			ask1h("kraken", "XBTUSD"), hours[len(hours)-719:],
			"newest 720 bars only: they begin at 2025-01-13 11:00; 1 bar not finished yet",
		},
		"coinbase": {ask1h("coinbase", "BTC-USD"), hours, "1 bar not finished yet: left out"},
		"mine":     {ask1h("mine", "EURUSD"), hours, "1 bar not finished yet: left out"},
		"yahoo": {
			Request{Source: "yahoo", Symbol: "AAPL", Timeframe: market.D1, From: from.AddDate(-1, 0, 0).Unix(), To: now.Unix()},
			days(from.AddDate(-1, 0, 0), today, 25, time.December, func(b market.Bar) market.Bar { return b }),
			"1 row without prices: left out; 1 bar not finished yet",
		},
		"fred": {
			Request{Source: "fred", Symbol: "SP500", Timeframe: market.D1, From: from.Unix(), To: now.Unix()},
			days(from, today, 25, 0, func(b market.Bar) market.Bar {
				return market.Bar{Time: b.Time, Open: b.Close, High: b.Close, Low: b.Close, Close: b.Close, Volume: math.NaN()}
			}), "2 dates without a value: left out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, &fetchtest.Server{}, func(t *testing.T, f *Fetcher) {
				got, notes, err := fetched(t, f, c.r)
				if err != nil {
					t.Fatal(err)
				}
				same(t, got, c.want)
				if !strings.Contains(notes, c.notes) || c.notes == "" && notes != "" {
					t.Errorf("noted %q, want %q", notes, c.notes)
				}
			})
		})
	}
}

// broken cuts an answer short: the connection is closed in the middle.
func broken(w http.ResponseWriter, r *http.Request) bool {
	full := httptest.NewRecorder()
	(&fetchtest.Server{}).ServeHTTP(full, r)
	maps.Copy(w.Header(), full.Header())
	w.WriteHeader(full.Code)
	_, _ = w.Write(full.Body.Bytes()[:full.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// What goes wrong with real servers is waited out, continued or said.
func TestSources_TakeTheDefectsOfRealServers(t *testing.T) {
	status := func(code int, header ...string) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n > 0 {
				return false
			}
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	always := func(body string) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			fmt.Fprint(w, body)
			return true
		}
	}
	const page = "<!DOCTYPE html><html><body>Our systems have detected unusual traffic</body></html>"
	zip := func(is func(*http.Request) bool, body []byte) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if is(r) {
				_, _ = w.Write(body)
			}
			return is(r)
		}
	}
	isZip := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".zip") }
	isSum := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".CHECKSUM") }
	isTicks := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".bi5") }
	binance, yahoo := ask1h("binance", "BTCUSDT"), ask1h("yahoo", "AAPL")
	yahoo.Timeframe = market.D1
	for name, c := range map[string]struct {
		r      Request
		before func(http.ResponseWriter, *http.Request, int) bool
		wait   time.Duration // at least
		bars   int           // 0: refused
		err    string
		code   ktrdr.Code
	}{
		"429 with seconds to wait": {
			r: ask1h("coinbase", "BTC-USD"), before: status(429, "Retry-After", "90"),
			wait: 7 * 90 * time.Second, bars: 2026,
		},
		"503 with a date to wait for": {
			r: ask1h("kraken", "XBTUSD"), before: status(503, "Retry-After", now.Add(5*time.Minute).Format(http.TimeFormat)),
			wait: 5*time.Minute - time.Second, bars: 719,
		},
		"429 for a day": {
			r: ask1h("kraken", "XBTUSD"), before: status(429, "Retry-After", "86400"), err: "asks to wait 24h", code: ktrdr.CodeUnavailable,
		},
		"500 again and again": {
			r: ask1h("kraken", "XBTUSD"), before: func(w http.ResponseWriter, _ *http.Request,
				_ int,
			) bool {
				w.WriteHeader(http.StatusInternalServerError)
				return true
			},
			err: "500 Internal Server Error (6 tries): try again later", code: ktrdr.CodeUnavailable,
		},
		"busy in an answer of 200": {
			r: ask1h("kraken", "XBTUSD"), before: func(w http.ResponseWriter, _ *http.Request, n int) bool {
				if n < 2 {
					fmt.Fprint(w, `{"error":["EGeneral:Too many requests"]}`)
				}
				return n < 2
			}, wait: 2 * time.Second, bars: 719,
		},
		"a download that breaks off": {
			r: binance, before: func(w http.ResponseWriter, r *http.Request, n int) bool {
				if isZip(r) && n == 0 {
					return broken(w, r)
				}
				return false
			}, bars: 2016,
		},
		"an archive that ends too soon, once": {
			r: binance, before: func(w http.ResponseWriter, r *http.Request, n int) bool {
				if isZip(r) && n == 0 && strings.Contains(r.URL.Path, "monthly") {
					_, _ = w.Write([]byte("PK\x03\x04 too short"))
					return true
				}
				return false
			}, bars: 2016,
		},
		"a wrong checksum": {
			r: binance, before: zip(isSum, []byte(strings.Repeat("ab", 32)+"  x.zip")),
			err: "is not the file that its checksum names, 3 times", code: ktrdr.CodeCorrupt,
		},
		"no checksum": {
			r: binance, before: zip(isSum, []byte("whatever")), err: `is not a SHA-256: "whatever"`,
			code: ktrdr.CodeFailed,
		},
		"a page instead of archive": {
			r: binance, before: zip(isZip, []byte(page)), err: "a web page instead of an archive",
			code: ktrdr.CodeFailed,
		},
		"a page instead of JSON": {r: yahoo, before: always(page), err: "a web page instead of JSON", code: ktrdr.CodeFailed},
		"half of an answer": {
			r: yahoo, before: always(`{"chart":{"result":[`), err: "not the JSON that it should be",
			code: ktrdr.CodeFailed,
		},
		"prices that do not fit times": {
			r: yahoo,
			before: always(`{"chart":{"result":[{"meta":{"exchangeTimezoneName":"UTC"},` +
				`"timestamp":[1,2],"indicators":{"quote":[{"open":[1]}]}}]}}`),
			err: "1 prices for 2 times", code: ktrdr.CodeFailed,
		},
		"an error in the answer": {
			r: yahoo, before: always(`{"chart":{"result":null,"error":{"code":"x","description":"Invalid input"}}}`), err: "Invalid input",
			code: ktrdr.CodeFailed,
		},
		"a day before the listing": {
			r: yahoo, before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"chart":{"result":null,"error":{"code":"Bad Request","description":"Data doesn't exist for startDate = 1"}}}`)
				return true
			},
		},
		"another timeframe than asked": {
			r: yahoo, before: always(`{"chart":{"result":[{"meta":{"exchangeTimezoneName":"UTC","dataGranularity":"1mo"},"timestamp":[]}]}}`),
			err: "bars of 1mo instead of 1d", code: ktrdr.CodeFailed,
		},
		"quotes that are not packed": {
			r: ask1h("dukascopy", "EURUSD"), before: zip(isTicks, []byte("nonsense nonsense")),
			err: "no LZMA file", code: ktrdr.CodeFailed,
		},
		"half a quote": {
			r: ask1h("dukascopy", "EURUSD"), before: zip(isTicks, fetchtest.LZMA(make([]byte, 30))), err: "30 bytes, which is no multiple",
			code: ktrdr.CodeFailed,
		},
		"quotes that unpack to too much": {
			r: ask1h("dukascopy", "EURUSD"), before: zip(isTicks, fetchtest.LZMA(make([]byte, 6<<20))), err: "more than 4 MiB",
			code: ktrdr.CodeFailed,
		},
		"a quote of another hour": {
			r: ask1h("dukascopy", "EURUSD"), before: zip(isTicks, fetchtest.LZMA(append(binary.BigEndian.AppendUint32(nil, 3_600_000),
				make([]byte, 16)...))),
			err: "3600000 ms after the start of its hour", code: ktrdr.CodeFailed,
		},
		"an answer that says it is too large": {
			r: yahoo, before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				w.Header().Set("Content-Length", "99999999999")
				w.WriteHeader(http.StatusOK)
				return true
			}, err: "more than 64 MiB", code: ktrdr.CodeTooLarge,
		},
		"an answer without end": {
			r: yahoo, before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				for zeros := make([]byte, 1<<20); ; {
					if _, err := w.Write(zeros); err != nil {
						return true
					}
				}
			}, err: "more than 64 MiB", code: ktrdr.CodeTooLarge,
		},
		"packed without being asked": {r: yahoo, before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Encoding", "gzip")
			return true
		}, err: `packed as "gzip"`, code: ktrdr.CodeFailed},
		"a symbol that Binance does not have": {r: ask1h("binance", "NOSUCH")},
		"a symbol that Yahoo does not know": {r: Request{
			Source: "yahoo", Symbol: "NOSUCH", Timeframe: market.D1, From: from.Unix(),
			To: now.Unix(),
		}, err: "yahoo knows no symbol NOSUCH", code: ktrdr.CodeFailed},
		"a symbol that Kraken does not know": {r: ask1h("kraken", "NOSUCH"), err: "kraken knows no symbol NOSUCH", code: ktrdr.CodeFailed},
		"a product that Coinbase has not": {
			r: ask1h("coinbase", "NO-SUCH"), err: "coinbase knows no symbol NO-SUCH",
			code: ktrdr.CodeFailed,
		},
		"a series that FRED does not have": {r: Request{
			Source: "fred", Symbol: "NOSUCH", Timeframe: market.D1, From: from.Unix(),
			To: now.Unix(),
		}, err: "a web page instead of a table", code: ktrdr.CodeFailed},
		"401 of an own source": {
			r: ask1h("mine", "EURUSD"), before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
				http.Error(w, "give a\x1b[31m valid token", http.StatusUnauthorized)
				return true
			}, err: "mine: EURUSD of 2024-11-20: it answered 401 Unauthorized: give a", code: ktrdr.CodeInternal,
		},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, &fetchtest.Server{Before: c.before}, func(t *testing.T, f *Fetcher) {
				begun := time.Now()
				got, _, err := fetched(t, f, c.r)
				switch took := time.Since(begun); {
				case c.err != "":
					if err == nil || !strings.Contains(err.Error(), c.err) || ktrdr.CodeOf(err) != c.code || strings.Contains(err.Error(), "hidden") {
						t.Errorf("%v (%s)\nwant %q (%s)", err, ktrdr.CodeOf(err), c.err, c.code)
					}
				case err != nil:
					t.Error(err)
				case len(got) != c.bars || took < c.wait:
					t.Errorf("%d bars after %v, want %d after %v", len(got), took, c.bars, c.wait)
				}
			})
		})
	}
}

// A download that broke off is continued where it ended, and begun again if the file has changed.
func TestClient_ContinuesADownload(t *testing.T) {
	full := strings.Repeat("0123456789", 10_000)
	for name, changed := range map[string]bool{"the same file": false, "another file by then": true} {
		t.Run(name, func(t *testing.T) {
			var ranges []string
			handler := &fetchtest.Server{Before: func(w http.ResponseWriter, r *http.Request, n int) bool {
				ranges = append(ranges, r.Header.Get("Range"))
				tag, data := `"one"`, full
				if changed && n > 0 {
					tag, data = `"two"`, strings.ToUpper(strings.Repeat("abcdefghij", 10_000))
				}
				w.Header().Set("ETag", tag)
				if n == 0 {
					w.Header().Set("Content-Length", "100000")
					_, _ = w.Write([]byte(data[:40_000]))
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(data))
				return true
			}}
			at(t, handler, func(t *testing.T, f *Fetcher) {
				got, err := f.client.get(t.Context(), ask{url: "https://prices.example/x", what: "test"})
				want := full
				if changed {
					want = strings.ToUpper(strings.Repeat("abcdefghij", 10_000))
				}
				if err != nil || string(got) != want {
					t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
				}
			})
			if len(ranges) != 2 || ranges[0] != "" || ranges[1] != "bytes=40000-" {
				t.Errorf("asked for %q", ranges)
			}
		})
	}
}

// Requests to one source are apart by its pace, those to different sources are not.
func TestClient_KeepsAPaceForEachSource(t *testing.T) {
	at(t, &fetchtest.Server{Before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		fmt.Fprint(w, "x")
		return true
	}}, func(t *testing.T, f *Fetcher) {
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				name := []string{"one", "two"}[i%2]
				if _, err := f.client.get(t.Context(), ask{
					source: name, pace: time.Second, url: "https://prices.example/x",
					what: "test",
				}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took != 4*time.Second {
			t.Errorf("five requests to each of two sources took %v, want 4s", took)
		}
	})
}

// The hours that Dukascopy has not published yet leave a bar unfinished, a weekend does not.
func TestDukascopy_LeavesABarOutWhoseLastHoursAreNotPublished(t *testing.T) {
	at(t, &fetchtest.Server{Late: 3 * time.Hour}, func(t *testing.T, f *Fetcher) {
		r := ask1h("dukascopy", "EURUSD")
		r.Timeframe, r.From = market.H4, now.AddDate(0, 0, -7).Truncate(24*time.Hour).Unix()
		got, notes, err := fetched(t, f, r)
		if err != nil || len(got) == 0 {
			t.Fatal(err)
		}
		// At 10:30 the hours before 7:00 are published. The bar of 4:00 would be of three hours.
		if last := utc(got[len(got)-1].Time); !last.Equal(now.Truncate(24*time.Hour)) || !strings.Contains(notes, "1 bar not finished yet") {
			t.Errorf("the last bar opens at %v: %s", last, notes)
		}
		friday := time.Date(2025, 2, 7, 20, 0, 0, 0, time.UTC).Unix()
		found := false
		for _, b := range got {
			found = found || b.Time == friday
		}
		if !found {
			t.Error("the last bar before the weekend is missing")
		}
	})
}

func TestSources_RefuseWhatTheyCannotGive(t *testing.T) {
	f, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	good := ask1h("binance", "BTCUSDT")
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"no such source":      {func(r *Request) { r.Source = "binace" }, `there is no source "binace"; did you mean binance`},
		"a path as a symbol":  {func(r *Request) { r.Symbol = "../../etc" }, "is no symbol of a source"},
		"a query as a symbol": {func(r *Request) { r.Symbol = "A&b=c" }, "is no symbol of a source"},
		"no such timeframe": {
			func(r *Request) { r.Timeframe = market.W1 },
			"binance has no bars of 1w: it has 1m, 5m, 15m, 30m, 1h, 2h, 4h and 1d",
		},
		"no time":              {func(r *Request) { r.From = r.To }, "no bar of 1h opens after 2025-02-12 10:30"},
		"before the beginning": {func(r *Request) { r.From = -1 }, "not between 1970"},
		"too many requests":    {func(r *Request) { r.Source, r.Timeframe, r.From = "coinbase", market.M1, 0 }, "at most 20000"},
		"a key in the address": {func(r *Request) { r.Source = "url:https://x.example/{symbol}?apikey=1" }, "KTRDR_FETCH_SOURCES"},
		"a password":           {func(r *Request) { r.Source = "url:https://me:secret@x.example/{symbol}" }, "KTRDR_FETCH_SOURCES"},
		"plain http":           {func(r *Request) { r.Source = "url:http://x.example/{symbol}" }, "by https only"},
		"no symbol":            {func(r *Request) { r.Source = "url:https://x.example/prices.csv" }, "has no {symbol}"},
		"a host from a symbol": {func(r *Request) { r.Source = "url:https://{symbol}.example/x" }, "the host of an address is written out"},
		"an unknown part": {
			func(r *Request) { r.Source = "url:https://x.example/{symbol}/{frm}" },
			"{frm} is not a part of an address; did you mean from",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			c.change(&r)
			if _, err := f.Pieces(r); err == nil || !strings.Contains(err.Error(), c.want) || ktrdr.CodeOf(err).Class() != ktrdr.BadInput {
				t.Errorf("%v\nwant %q", err, c.want)
			}
		})
	}
}

func TestNew_SaysWhichAddressIsWrongAndNotTheAddress(t *testing.T) {
	for name, address := range map[string]string{
		"binance": "http://hidden.example", "mine": "https://hidden.example/prices.csv", "Bad name": "https://hidden.example/{symbol}",
		"other": "hidden",
	} {
		_, err := New(Config{Addresses: map[string]ktrdr.Secret{name: ktrdr.Secret(address)}})
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck_SaysWhetherASourceStillWorks(t *testing.T) {
	at(t, &fetchtest.Server{}, func(t *testing.T, f *Fetcher) {
		for _, name := range f.Names() {
			symbol, tf := "", market.Timeframe("")
			if name == "mine" {
				if _, err := f.Check(t.Context(), name, "", "", time.Now()); err == nil || !strings.Contains(err.Error(), "mine has no example") {
					t.Errorf("%v", err)
				}
				symbol, tf = "EURUSD", market.H1
			}
			p, err := f.Check(t.Context(), name, symbol, tf, time.Now())
			if err != nil || p.Bars == 0 || p.Last < now.AddDate(0, 0, -5).Unix() {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		}
	})
	at(t, &fetchtest.Server{Before: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		fmt.Fprint(w, "<html>moved</html>")
		return true
	}}, func(t *testing.T, f *Fetcher) {
		for _, name := range f.Names() {
			if p, err := f.Check(t.Context(), name, "EURUSD", market.D1, time.Now()); err == nil || !strings.Contains(err.Error(),
				"a web page instead of") {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		}
	})
}
