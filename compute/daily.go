package compute

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
)

// dailyOf makes them of the equity curve. A bar belongs to the day in which it
// opens. The return of a day is from the last equity of the day before.
func dailyOf(run *backtest.Result) *jobs.Daily {
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
	return &jobs.Daily{First: instant(first * secondsOfDay).Format(time.DateOnly), Days: encode(days), Returns: encode(returns)}
}

func floorDay(seconds int64) int64 {
	d := seconds / secondsOfDay
	if seconds%secondsOfDay < 0 {
		d--
	}
	return d
}

const secondsOfDay = 24 * 60 * 60
