package jobs

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
)

// Daily is the net return of every day of a backtest, small enough to be kept of
// every research: four bytes for a day with bars, and a bit for any other.
type Daily struct {
	First   string `json:"first"`          // the first day, UTC
	Days    string `json:"days_base64"`    // a bit for each day from the first on, lowest first; it is set if the day has bars
	Returns string `json:"returns_base64"` // little-endian float32 of each day with bars
}

// DayReturn is the net return of one day, as a fraction.
type DayReturn struct {
	Day    time.Time
	Return float32
}

// List returns the days that have bars. CodeCorrupt when they cannot be read.
func (d Daily) List() ([]DayReturn, error) {
	first, err := time.Parse(time.DateOnly, d.First)
	days, err2 := base64.StdEncoding.DecodeString(d.Days)
	returns, err3 := base64.StdEncoding.DecodeString(d.Returns)
	if err != nil || err2 != nil || err3 != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "the daily returns cannot be read")
	}
	var list []DayReturn
	for i := range 8 * len(days) {
		if days[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if len(returns) < 4 {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "the daily returns end at %s", first.AddDate(0, 0, i).Format(time.DateOnly))
		}
		list = append(list, DayReturn{first.AddDate(0, 0, i), math.Float32frombits(binary.LittleEndian.Uint32(returns))})
		returns = returns[4:]
	}
	return list, nil
}

// DailyOf makes them of the equity curve of a backtest; nil if it has no bars. A
// bar belongs to the day in which it opens. The return of a day is from the last
// equity of the day before.
func DailyOf(run *backtest.Result) *Daily {
	from := run.Config.StartBar
	if from >= len(run.Time) {
		return nil
	}
	day := func(i int) int64 { return floorDay(run.Time[i]) }
	first := day(from)
	var days, returns []byte
	last := run.Config.InitialCapital
	for i := from; i < len(run.Time); i++ {
		if i+1 < len(run.Time) && day(i+1) == day(i) {
			continue
		}
		at := day(i) - first
		for int64(len(days)) <= at/8 {
			days = append(days, 0)
		}
		days[at/8] |= 1 << (at % 8)
		change := 0.0
		if last > 0 {
			change = run.Equity[i]/last - 1
		}
		returns = binary.LittleEndian.AppendUint32(returns, math.Float32bits(float32(change)))
		last = run.Equity[i]
	}
	encode := base64.StdEncoding.EncodeToString
	return &Daily{First: time.Unix(first*secondsOfDay, 0).UTC().Format(time.DateOnly), Days: encode(days), Returns: encode(returns)}
}

func floorDay(seconds int64) int64 {
	d := seconds / secondsOfDay
	if seconds%secondsOfDay < 0 {
		d--
	}
	return d
}

const secondsOfDay = 24 * 60 * 60
