package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ulikunitz/xz/lzma"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// dukascopy is the tick archive of Dukascopy: a file of quotes for each hour, packed with
// LZMA. Months count from 0. Bars are made of the bids; a spread is the mean of its quotes.
func dukascopy() *source {
	return &source{
		about: "quotes of currencies and metals, as bars of the bid with a spread: EURUSD", adjust: "prices are bids",
		base: "https://datafeed.dukascopy.com/datafeed", pace: 250 * time.Millisecond,
		frames:  []market.Timeframe{market.M1, market.M5, market.M15, market.M30, market.H1, market.H2, market.H4, market.D1},
		example: Request{Symbol: "EURUSD", Timeframe: market.H1}, pieces: every(day), fetch: dukascopyDay,
	}
}

const (
	tickBytes = 20
	maxTicks  = 4 << 20 // unpacked bytes of an hour: 200,000 quotes

	maxDictionary = 32 << 20 // bytes of memory that a file may ask for
	hour          = 3600
)

func dukascopyDay(ctx context.Context, s session, r Request, piece Piece) (answer, error) {
	made := ticks{frame: r.Timeframe, points: r.points()}
	missing := int64(0) // since when the last hours of the day are missing
	for t := piece.From; t < piece.To && t+hour <= r.To; t += hour {
		at := utc(t)
		what := r.Symbol + " " + at.Format("2006-01-02 15h")
		data, err := s.get(ctx, what, "/%s/%04d/%02d/%02d/%02dh_ticks.bi5", r.Symbol, at.Year(), at.Month()-1, at.Day(), at.Hour())
		if errors.Is(err, errMissing) {
			if missing == 0 {
				missing = t
			}
			continue
		}
		missing = 0
		if err == nil {
			err = notData(data, "quotes")
		}
		if err == nil {
			err = made.add(t, data)
		}
		if err != nil {
			return answer{}, fmt.Errorf("%s: %s: %w", s.name, what, err)
		}
	}
	made.close()
	a := answer{rows: made.bars, spread: true, until: r.To - r.To%hour}
	if missing != 0 && piece.To > r.To-day { // not published yet, or the market is closed: a later fetch knows
		a.until = missing
	}
	return a, nil
}

// points is how many points a unit of the symbol has.
func (r Request) points() float64 {
	switch {
	case r.Divide > 0:
		return r.Divide
	case strings.HasSuffix(r.Symbol, "JPY"), strings.HasSuffix(r.Symbol, "RUB"), strings.HasPrefix(r.Symbol, "XAU"),
		strings.HasPrefix(r.Symbol, "XAG"):
		return 1000
	}
	return 100_000
}

// ticks makes bars of quotes that come in order.
type ticks struct {
	frame  market.Timeframe
	points float64
	bars   []market.Bar

	end     int64    // of the bar being made; 0: there is no such bar
	bar     [4]int64 // its open, high, low and close in points
	opens   int64
	volume  float64
	spreads int64
	n       int64
}

// add adds the quotes of an hour: milliseconds, ask, bid, volume of the ask, volume of
// the bid. An empty file is an hour without quotes.
func (k *ticks) add(hourStart int64, packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	z, err := lzma.ReaderConfig{DictCap: maxDictionary}.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeFailed, "it is no LZMA file: %w", err)
	}
	data, err := unpacked(z, maxTicks)
	if err != nil {
		return ktrdr.Errorf(ktrdr.CodeFailed, "the file cannot be unpacked: %w", err)
	}
	if len(data)%tickBytes != 0 {
		return ktrdr.Errorf(ktrdr.CodeFailed, "the file has %d bytes, which is no multiple of the %d of a quote", len(data), tickBytes)
	}
	for ; len(data) > 0; data = data[tickBytes:] {
		ms, ask, bid := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
		if ms >= hour*1000 {
			return ktrdr.Errorf(ktrdr.CodeFailed, "a quote is %d ms after the start of its hour", ms)
		}
		volume := float64(math.Float32frombits(binary.BigEndian.Uint32(data[16:])))
		k.quote(hourStart+int64(ms/1000), int64(bid), int64(ask), volume)
	}
	return nil
}

func (k *ticks) quote(t, bid, ask int64, volume float64) {
	if k.end == 0 || t >= k.end {
		k.close()
		k.opens = k.frame.Start(t)
		k.end = k.frame.End(k.opens)
		k.bar = [4]int64{bid, bid, bid, bid}
	}
	k.bar[1], k.bar[2], k.bar[3] = max(k.bar[1], bid), min(k.bar[2], bid), bid
	k.volume += volume
	k.spreads += ask - bid
	k.n++
}

// close ends the bar being made.
func (k *ticks) close() {
	if k.end == 0 {
		return
	}
	unit := func(points int64) float64 { return float64(points) / k.points }
	k.bars = append(k.bars, market.Bar{
		Time: k.opens, Open: unit(k.bar[0]), High: unit(k.bar[1]), Low: unit(k.bar[2]), Close: unit(k.bar[3]), Volume: k.volume,
		Spread: float64(k.spreads) / float64(k.n) / k.points,
	})
	k.end, k.volume, k.spreads, k.n = 0, 0, 0, 0
}
