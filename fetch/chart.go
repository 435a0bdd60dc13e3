package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// parsed reads an answer in JSON.
func parsed[T any](s session, what string, data []byte) (v T, err error) {
	if err = notData(data, "JSON"); err == nil {
		if err = json.Unmarshal(data, &v); err != nil {
			err = ktrdr.Errorf(ktrdr.CodeFailed, "the answer is not the JSON that it should be (%q …): the source has changed, or is in trouble",
				strings.TrimSuffix(cut(string(data[:min(len(data), 60)])), "…"))
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %s: %w", s.name, what, err)
	}
	return v, err
}

// unknown says that a source does not know a symbol.
func unknown(s session, r Request) error {
	return ktrdr.Errorf(ktrdr.CodeFailed, "%s knows no symbol %s: look it up on the site of the source", s.name, r.Symbol)
}

var yahooIntervals = map[market.Timeframe]string{
	market.M1: "1m", market.M5: "5m", market.M15: "15m", market.M30: "30m", market.H1: "60m", market.D1: "1d",
}

// yahoo is the chart API of Yahoo Finance.
func yahoo() *source {
	return &source{
		about: "stocks, funds, indices, currencies: AAPL, ^GSPC, EURUSD=X", adjust: "prices adjusted for splits, not for dividends",
		base: "https://query1.finance.yahoo.com", pace: 2 * time.Second,
		frames:  []market.Timeframe{market.M1, market.M5, market.M15, market.M30, market.H1, market.D1},
		example: Request{Symbol: "AAPL", Timeframe: market.D1}, pieces: yahooPieces, fetch: yahooPiece,
	}
}

// yahooPieces are as long as Yahoo answers at once.
func yahooPieces(r Request) []Piece {
	switch r.Timeframe {
	case market.M1:
		return every(7 * day)(r)
	case market.H1:
		return every(180 * day)(r)
	case market.D1:
		return every(1825 * day)(r)
	}
	return every(30 * day)(r)
}

type yahooAnswer struct {
	Chart struct {
		Result []struct {
			Meta struct {
				Zone string `json:"exchangeTimezoneName"`
				Grid string `json:"dataGranularity"`
			} `json:"meta"`
			Timestamp  []int64 `json:"timestamp"`
			Indicators struct {
				Quote []struct {
					Open   []*float64 `json:"open"`
					High   []*float64 `json:"high"`
					Low    []*float64 `json:"low"`
					Close  []*float64 `json:"close"`
					Volume []*float64 `json:"volume"`
				} `json:"quote"`
			} `json:"indicators"`
		} `json:"result"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	} `json:"chart"`
}

func yahooPiece(ctx context.Context, s session, r Request, piece Piece) (a answer, err error) {
	what := r.Symbol + " from " + dateOf(piece.From)
	interval := yahooIntervals[r.Timeframe]
	from, to := max(piece.From, r.From), min(piece.To, r.To)
	if r.Timeframe == market.D1 { // a day opens on another date in other time zones
		from, to = max(from-day, 0), to+day
	}
	data, err := s.get(ctx, what, "/v8/finance/chart/%s?period1=%d&period2=%d&interval=%s", url.PathEscape(r.Symbol), from, to, interval)
	if refused, ok := errors.AsType[*refusal](err); ok && strings.Contains(refused.text, "Data doesn't exist for startDate") {
		return a, nil
	}
	if errors.Is(err, errMissing) {
		return a, unknown(s, r)
	}
	if err != nil {
		return a, err
	}
	v, err := parsed[yahooAnswer](s, what, data)
	if err != nil {
		return a, err
	}
	failed := func(format string, args ...any) (answer, error) {
		return answer{}, ktrdr.Errorf(ktrdr.CodeFailed, "%s: %s: %s", s.name, what, fmt.Sprintf(format, args...))
	}
	if e := v.Chart.Error; e != nil {
		return failed("%s", cut(ktrdr.CleanText(e.Description)))
	}
	if len(v.Chart.Result) != 1 {
		return failed("the answer holds %d charts instead of one", len(v.Chart.Result))
	}
	chart := v.Chart.Result[0]
	if g := chart.Meta.Grid; g != "" && g != interval && !(g == "1h" && interval == "60m") {
		return failed("it answered bars of %s instead of %s: choose a later --from", cut(g), interval)
	}
	if len(chart.Timestamp) == 0 {
		return a, nil
	}
	if len(chart.Indicators.Quote) != 1 {
		return failed("the answer has times without prices")
	}
	q := chart.Indicators.Quote[0]
	for _, column := range [][]*float64{q.Open, q.High, q.Low, q.Close, q.Volume} {
		if len(column) != len(chart.Timestamp) {
			return failed("the answer has %d prices for %d times", len(column), len(chart.Timestamp))
		}
	}
	zone, err := time.LoadLocation(chart.Meta.Zone)
	if err != nil {
		return failed("it names the time zone %q, which is not known", cut(chart.Meta.Zone))
	}
	empty := 0
	for i, t := range chart.Timestamp {
		if slices.Contains([]*float64{q.Open[i], q.High[i], q.Low[i], q.Close[i]}, nil) {
			empty++
			continue
		}
		if r.Timeframe == market.D1 { // its time is that at which the exchange opened
			y, m, d := time.Unix(t, 0).In(zone).Date()
			t = time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()
		}
		bar := market.Bar{Time: t, Open: *q.Open[i], High: *q.High[i], Low: *q.Low[i], Close: *q.Close[i], Volume: math.NaN()}
		if q.Volume[i] != nil {
			bar.Volume = *q.Volume[i]
		}
		a.rows = append(a.rows, bar)
	}
	if empty > 0 {
		a.notes = append(a.notes, text.Counted(empty, "row")+" without prices: left out")
	}
	return a, nil
}

var krakenMinutes = map[market.Timeframe]int{
	market.M1: 1, market.M5: 5, market.M15: 15, market.M30: 30, market.H1: 60, market.H4: 240, market.D1: 1440,
}

// kraken is the OHLC endpoint of Kraken: the newest 720 bars, whatever was asked for.
func kraken() *source {
	return &source{
		about: "the newest 720 bars of a pair, to keep a series current: XBTUSD", adjust: "prices as traded",
		base: "https://api.kraken.com", pace: time.Second,
		frames:  []market.Timeframe{market.M1, market.M5, market.M15, market.M30, market.H1, market.H4, market.D1},
		example: Request{Symbol: "XBTUSD", Timeframe: market.H1}, pieces: one, fetch: krakenPiece,
	}
}

type krakenAnswer struct {
	Error  []string                   `json:"error"`
	Result map[string]json.RawMessage `json:"result"`
}

func krakenPiece(ctx context.Context, s session, r Request, piece Piece) (a answer, err error) {
	v, err := askKraken(ctx, s, r, piece)
	if err != nil {
		return a, err
	}
	wrong := func(format string, args ...any) (answer, error) {
		return answer{}, ktrdr.Errorf(ktrdr.CodeFailed, "%s: %s: %s", s.name, r.Symbol, fmt.Sprintf(format, args...))
	}
	delete(v.Result, "last")
	if len(v.Result) != 1 {
		return wrong("the answer holds %d lists of bars instead of one", len(v.Result))
	}
	for _, list := range v.Result {
		var rows [][]any
		if err := json.Unmarshal(list, &rows); err != nil {
			return wrong("the answer is not a list of bars")
		}
		for i, row := range rows {
			if len(row) < 7 {
				return wrong("row %d has %d fields instead of 8", i+1, len(row))
			}
			f := text.Map(row, func(x any) string { return fmt.Sprint(x) })
			t, ok := row[0].(float64)
			bar, err := barOf(int64(t), f[1], f[2], f[3], f[4], f[6])
			if err != nil || !ok {
				return wrong("row %d is not a bar: %v", i+1, cut(fmt.Sprint(row)))
			}
			a.rows = append(a.rows, bar)
		}
	}
	if len(a.rows) > 0 && a.rows[0].Time > r.Timeframe.End(piece.From) {
		a.notes = append(a.notes, fmt.Sprintf("kraken gives the newest 720 bars only: they begin at %s", text.Minute(a.rows[0].Time)))
	}
	return a, nil
}

// askKraken asks until Kraken is not busy: it answers 200 when it is.
func askKraken(ctx context.Context, s session, r Request, piece Piece) (v krakenAnswer, err error) {
	const tries = 4
	for try := 0; ; try++ {
		data, err := s.get(ctx, r.Symbol, "/0/public/OHLC?pair=%s&interval=%d&since=%d", url.QueryEscape(r.Symbol),
			krakenMinutes[r.Timeframe], piece.From-1)
		if err != nil {
			return v, err
		}
		if v, err = parsed[krakenAnswer](s, r.Symbol, data); err != nil || len(v.Error) == 0 {
			return v, err
		}
		said := cut(ktrdr.CleanText(strings.Join(v.Error, ", ")))
		busy := strings.Contains(said, "Too many requests") || strings.Contains(said, "Rate limit") || strings.Contains(said, "EService")
		switch {
		case strings.Contains(said, "Unknown asset pair"):
			return v, unknown(s, r)
		case !busy:
			return v, ktrdr.Errorf(ktrdr.CodeFailed, "%s: %s: it answered %s", s.name, r.Symbol, said)
		case try+1 == tries:
			return v, ktrdr.Errorf(ktrdr.CodeUnavailable, "%s: %s: it answered %s (%d tries): try again later", s.name, r.Symbol, said, tries)
		case !s.client.retry.Wait(ctx, try+1):
			return v, context.Cause(ctx)
		}
	}
}

var coinbaseFrames = []market.Timeframe{market.M1, market.M5, market.M15, market.H1, market.D1}

// coinbase is the candles endpoint of the Coinbase exchange: 300 at once, newest first.
func coinbase() *source {
	return &source{
		about: "candles of the exchange: BTC-USD", adjust: "prices as traded", base: "https://api.exchange.coinbase.com",
		pace:   350 * time.Millisecond,
		frames: coinbaseFrames, example: Request{Symbol: "BTC-USD", Timeframe: market.H1},
		pieces: func(r Request) []Piece { return every(300 * r.Timeframe.End(0))(r) }, fetch: coinbasePiece,
	}
}

func coinbasePiece(ctx context.Context, s session, r Request, piece Piece) (a answer, err error) {
	step := r.Timeframe.End(0)
	what := r.Symbol + " from " + text.Minute(piece.From)
	stamp := func(t int64) string { return url.QueryEscape(utc(t).Format(time.RFC3339)) }
	data, err := s.get(ctx, what, "/products/%s/candles?granularity=%s&start=%s&end=%s", url.PathEscape(r.Symbol),
		strconv.FormatInt(step, 10), stamp(piece.From), stamp(piece.To-step)) // both ends are part of the answer
	if errors.Is(err, errMissing) {
		return a, unknown(s, r)
	}
	if err != nil {
		return a, err
	}
	rows, err := parsed[[][]float64](s, what, data)
	if err != nil {
		return a, err
	}
	for i, row := range rows {
		if len(row) != 6 {
			return a, ktrdr.Errorf(ktrdr.CodeFailed, "%s: %s: row %d has %d fields instead of 6", s.name, what, i+1, len(row))
		}
		a.rows = append(a.rows, market.Bar{Time: int64(row[0]), Low: row[1], High: row[2], Open: row[3], Close: row[4], Volume: row[5]})
	}
	return a, nil
}
