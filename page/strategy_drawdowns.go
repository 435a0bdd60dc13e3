package page

import (
	"time"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
)

// mostDrawdowns is how many falls of a part are listed.
const mostDrawdowns = 5

// drawdownRow is a fall of the account below its peak, by days.
type drawdownRow struct {
	Part, Depth, Length string
	Peak, Trough        time.Time
	Recovered           *time.Time // nil while it lasts
}

// drawdowns are the deepest falls on the test part and, after a look, on the
// holdout. What the model was fitted to has none.
func (f *facts) drawdowns() (rows []drawdownRow) {
	for _, part := range f.stretches() {
		if part.faint {
			continue
		}
		rows = append(rows, drawdownsOf(part.name, part.account)...)
	}
	return rows
}

func drawdownsOf(part string, line []chart.XY) (rows []drawdownRow) {
	times, account := make([]int64, len(line)), make([]float64, len(line))
	for i, v := range line {
		times[i], account[i] = int64(v.X), v.Y
	}
	falls, err := evidence.Drawdowns(times, account, mostDrawdowns)
	if err != nil { // it has no points, or something follows its ruin
		return nil
	}
	end := time.Unix(times[len(times)-1], 0).UTC()
	for _, d := range falls {
		until := end
		if d.Recovered != nil {
			until = *d.Recovered
		}
		depth := -d.Depth
		rows = append(rows, drawdownRow{
			Part: part, Depth: share(&depth), Peak: d.Peak, Trough: d.Trough, Recovered: d.Recovered,
			Length: plural(int(until.Sub(d.Peak).Hours()/24+0.5), "day"),
		})
	}
	return rows
}
