package market

import (
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Bar is one bar: what happened between Time and the next bar's Time.
type Bar struct {
	Time   int64   `json:"time"` // opening instant, Unix seconds, UTC
	Open   float64 `json:"open"`
	High   float64 `json:"high"`
	Low    float64 `json:"low"`
	Close  float64 `json:"close"`
	Volume float64 `json:"volume"`
}

// Bars is a series of bars in columns, ascending in time and without
// duplicates. The columns have one length and are never changed once the
// series is made: a slice of it, a cache and an operation may share them.
type Bars struct {
	Symbol    string
	Timeframe Timeframe

	Time                           []int64 // opening instants, Unix seconds, UTC
	Open, High, Low, Close, Volume []float64
}

// Len is the number of bars.
func (b *Bars) Len() int { return len(b.Time) }

// At returns bar i.
func (b *Bars) At(i int) Bar {
	return Bar{b.Time[i], b.Open[i], b.High[i], b.Low[i], b.Close[i], b.Volume[i]}
}

// Slice returns bars i to j, j excluded. It shares the columns.
func (b *Bars) Slice(i, j int) *Bars {
	return &Bars{
		Symbol: b.Symbol, Timeframe: b.Timeframe, Time: b.Time[i:j:j],
		Open: b.Open[i:j:j], High: b.High[i:j:j], Low: b.Low[i:j:j], Close: b.Close[i:j:j], Volume: b.Volume[i:j:j],
	}
}

// Append adds a bar at the end of a series that is being made.
func (b *Bars) Append(x Bar) {
	b.Time = append(b.Time, x.Time)
	b.Open = append(b.Open, x.Open)
	b.High = append(b.High, x.High)
	b.Low = append(b.Low, x.Low)
	b.Close = append(b.Close, x.Close)
	b.Volume = append(b.Volume, x.Volume)
}

// Timeframe is the length of a bar: 1m 5m 15m 30m 1h 2h 4h 1d 1w 1M.
type Timeframe string

// The timeframes.
const (
	M1  Timeframe = "1m"
	M5  Timeframe = "5m"
	M15 Timeframe = "15m"
	M30 Timeframe = "30m"
	H1  Timeframe = "1h"
	H2  Timeframe = "2h"
	H4  Timeframe = "4h"
	D1  Timeframe = "1d"
	W1  Timeframe = "1w"
	Mo1 Timeframe = "1M"
)

// Timeframes lists them all, shortest first.
var Timeframes = []Timeframe{M1, M5, M15, M30, H1, H2, H4, D1, W1, Mo1}

var lengths = map[Timeframe]time.Duration{
	M1: time.Minute, M5: 5 * time.Minute, M15: 15 * time.Minute, M30: 30 * time.Minute,
	H1: time.Hour, H2: 2 * time.Hour, H4: 4 * time.Hour,
	D1: 24 * time.Hour, W1: 7 * 24 * time.Hour, Mo1: 0, // months differ in length: see End
}

// ParseTimeframe reads a timeframe.
func ParseTimeframe(s string) (Timeframe, error) {
	if _, ok := lengths[Timeframe(s)]; ok {
		return Timeframe(s), nil
	}
	return "", fmt.Errorf("timeframe %q is not one of ours; %s", s, text.Choices(s, Timeframes))
}

// End is when the bar that opens at t closes, Unix seconds: the first instant
// at which its close may be known.
func (tf Timeframe) End(t int64) int64 {
	if tf == Mo1 {
		return time.Unix(t, 0).UTC().AddDate(0, 1, 0).Unix()
	}
	return t + int64(lengths[tf]/time.Second)
}
