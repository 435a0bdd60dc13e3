package jobs

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
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
