package indicator

import (
	"math"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// openings are bars that open at those instants and close at 1.
func openings(t *testing.T, times ...string) *market.Bars {
	t.Helper()
	b := &market.Bars{Symbol: "TEST", Timeframe: market.H1}
	for _, text := range times {
		at, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		b.Append(market.Bar{Time: at.Unix(), Open: 1, High: 1, Low: 1, Close: 1})
	}
	return b
}

func wantColumn(t *testing.T, name string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-15 {
			t.Errorf("%s at bar %d is %v, want %v", name, i, got[i], want[i])
		}
	}
}

func TestHour_IsThatOfTheOpeningInUTC(t *testing.T) {
	out := compute(mustNew(t, "hour"), openings(t, "1969-12-31 18:00", "2024-03-01 00:00", "2024-03-01 06:00", "2024-03-01 09:30"))
	wantColumn(t, "hour", out[0], []float64{18, 0, 6, 9.5})
	wantColumn(t, "sin", out[1][:3], []float64{-1, 0, 1})
	wantColumn(t, "cos", out[2][:3], []float64{0, 1, 0})
}

func TestWeekday_CountsDaysFromMonday(t *testing.T) {
	out := compute(mustNew(t, "weekday"), openings(t, "1969-12-31 18:00", "2024-02-26 00:00", "2024-03-01 23:30", "2024-03-03 22:00"))
	wantColumn(t, "weekday", out[0], []float64{2, 0, 4, 6})
	wantColumn(t, "sin", out[1], []float64{math.Sin(4 * math.Pi / 7), 0, math.Sin(8 * math.Pi / 7), math.Sin(12 * math.Pi / 7)})
	wantColumn(t, "cos", out[2], []float64{math.Cos(4 * math.Pi / 7), 1, math.Cos(8 * math.Pi / 7), math.Cos(12 * math.Pi / 7)})
}

func TestSession_BeginsWithItsHourAndEndsBeforeIt(t *testing.T) {
	out := compute(mustNew(t, "session"), openings(t,
		"2024-03-01 00:00", "2024-03-01 08:30", "2024-03-01 09:00", "2024-03-01 13:00", "2024-03-01 17:00", "2024-03-01 22:00"))
	wantColumn(t, "asia", out[0], []float64{1, 1, 0, 0, 0, 0})
	wantColumn(t, "london", out[1], []float64{0, 1, 1, 1, 0, 0})
	wantColumn(t, "newyork", out[2], []float64{0, 0, 0, 1, 1, 0})
}

func TestBarsSinceOpen_BeginsAgainBehindAGap(t *testing.T) {
	bars := openings(t,
		"2024-03-01 20:00", "2024-03-01 21:00", "2024-03-03 22:00", "2024-03-03 23:00", "2024-03-04 00:00", "2024-03-04 01:00",
		"2024-03-04 03:00")
	wantColumn(t, "barssinceopen", compute(mustNew(t, "barssinceopen"), bars)[0], []float64{0, 1, 0, 1, 2, 3, 0})
	wantColumn(t, "most 2", compute(mustNew(t, "barssinceopen", set("most", 2)), bars)[0], []float64{0, 1, 0, 1, 2, 2, 0})
	// The first distance is a weekend, which only the second one shows.
	wantColumn(t, "from Friday on", compute(mustNew(t, "barssinceopen"), bars.Slice(1, 4))[0], []float64{0, 1, 1})
	months := openings(t, "2024-01-01 00:00", "2024-02-01 00:00", "2024-03-01 00:00", "2024-04-01 00:00")
	wantColumn(t, "months", compute(mustNew(t, "barssinceopen"), months)[0], []float64{0, 1, 2, 3})
}
