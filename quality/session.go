package quality

import (
	"time"
)

// sessionSevere is the share of bars outside the sessions from which on the times of a
// series cannot be right.
const sessionSevere = 0.05

// sessions finds bars at times at which the venue is known to be closed.
func (j *judge) sessions() {
	if !j.intraday() {
		return
	}
	var closed []int64
	for i := range j.bars.Places(0, j.bars.Len(), 1) {
		if t := j.bars.Time[i]; !j.opt.Trades(time.Unix(t, 0)) {
			closed = append(closed, t)
		}
	}
	severity := Warning
	if float64(len(closed)) >= sessionSevere*float64(j.bars.Len()) {
		severity = Severe
	}
	for _, t := range closed {
		j.notes.add(ClosedHours, severity, t, t, 0, "%d of %d bars stand at times at which the venue is closed, the first at %s",
			len(closed), j.bars.Len(), when(closed[0]))
	}
}
