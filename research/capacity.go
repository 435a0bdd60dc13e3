package research

import (
	"slices"

	"github.com/ktrdr/ktrdr"
)

// Limit says how many researches may be active, given the workers: most of them
// where most is above 0; else one for each slot that trains, one for each that
// backtests, and one that is being designed or assessed.
func Limit(most int) func(workers []ktrdr.Worker) int {
	return func(workers []ktrdr.Worker) int {
		if most > 0 {
			return most
		}
		return max(1, slots(workers, ktrdr.Training).Total+slots(workers, ktrdr.Backtesting).Total+1)
	}
}

// slots counts what can run at once of a type, and what those workers run now.
func slots(workers []ktrdr.Worker, t ktrdr.Type) (s ktrdr.WorkerSlots) {
	for _, w := range workers {
		if w.Live && slices.Contains(w.Types, t) {
			s.Total += w.Slots
			s.Busy += min(w.Running, w.Slots)
		}
	}
	return s
}
