package strategy

import (
	"fmt"
	"time"
)

// Cost is about what a strategy takes to train once. It is an estimate, good
// to a small factor; it exists so that what would take a week or all memory is
// refused before anything is allocated.
type Cost struct {
	Features int           // columns
	Weights  int           // parameters of the network
	Memory   int64         // bytes
	CPU      time.Duration // of one core
}

// Rates of one core, on the slow side of what was measured.
const (
	rowNanoseconds   = 20.0 // per feature and bar: membership and store
	labelNanoseconds = 200.0
	flopsPerSecond   = 3e9
)

// Cost estimates what training takes on a number of base bars of each symbol.
func (s *Strategy) Cost(bars int) Cost {
	columns := s.Columns()
	n := float64(bars)
	c := Cost{Features: len(columns), Weights: s.Model.Weights(len(columns), s.Outputs())}

	// One symbol after the other: indicator columns live only meanwhile.
	base, perBar, held := seconds(s.Data.Base), 0.0, 0.0
	for _, tf := range s.Data.Timeframes {
		share := base / seconds(tf)
		for _, x := range s.Indicators {
			i := x.New()
			perBar += float64(share * i.Cost())
			held += float64(share * 8 * float64(len(i.Outputs())))
		}
	}
	rows := n * float64(len(s.Data.Symbols))
	stride := float64((len(columns) + 15) / 16 * 16)
	c.Memory = int64(float64(n*held) + float64(rows*(float64(4*stride)+64)) + float64(16*float64(c.Weights)))

	// Forward and backward are three multiplications and additions a weight, for every bar of a window.
	flops := rows * s.Training.Split.Train * float64(s.Training.Epochs) * float64(s.Model.Window()) * 6 * float64(c.Weights)
	ns := float64(rows*(perBar+float64(rowNanoseconds*stride)+labelNanoseconds)) + float64(flops/flopsPerSecond*1e9)
	c.CPU = time.Duration(min(ns, 1e18))
	return c
}

// What one strategy may take, on the number of bars it is judged by when its data are not available yet.
const (
	nominalBars = 100_000
	maxMemory   = 16 << 30
	maxCPU      = 14 * 24 * time.Hour
)

// Check refuses a cost above the limits; a limit of 0 means no limit. The error says what is too much.
func (c Cost) Check(memory int64, cpu time.Duration) error {
	if memory > 0 && c.Memory > memory {
		return fmt.Errorf("training would take about %d MB of memory; at most %d MB are allowed: use fewer inputs or less data", c.Memory>>20,
			memory>>20)
	}
	if cpu > 0 && c.CPU > cpu {
		return fmt.Errorf("training would take about %v of one core; at most %v are allowed: use a smaller network, fewer epochs or less data",
			c.CPU.Round(time.Minute), cpu)
	}
	return nil
}

func (s *Strategy) checkCost(r *reader) {
	c := s.Cost(nominalBars)
	if c.Weights > maxWeights {
		r.problemOn("model.architecture", "the network has %d weights; at most %d are allowed", c.Weights, maxWeights)
		return
	}
	if err := c.Check(maxMemory, maxCPU); err != nil {
		r.problemOn("training", "on %d bars, %v", nominalBars, err)
	}
}
