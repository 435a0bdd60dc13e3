package worker

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Later is the error of a runner that can only wait: a provider asked for an
// hour, a budget begins again at midnight. The operation is given back and
// takes no slot while it waits. When the wait is over it is claimed again by
// any free worker, so that it outlives this worker and the backend too. The state to
// continue from is saved before Later is returned.
//
// While the backend is out of reach it lies in the spool like every other end
// of a claim; the wait begins when the backend hears of it.
type Later struct {
	After  time.Duration // 0 and less mean at once; the store waits at most thirty days
	Reason string        // for people
}

func (l *Later) Error() string {
	return fmt.Sprintf("to be continued in %v: %s", l.After, cmp.Or(l.Reason, "no reason was given"))
}

// released is Later as the end of a claim.
func (l *Later) released(c claim) *ktrdr.Released {
	return &ktrdr.Released{
		Operation: c.op, Epoch: c.epoch,
		Reason: shorten(cmp.Or(l.Reason, "To be continued later")), AfterSeconds: max(0, l.After).Seconds(),
	}
}
