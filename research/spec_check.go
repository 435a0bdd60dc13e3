package research

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// readStrategy parses a strategy and refuses one that is too long to be carried
// along.
func readStrategy(text, name string) (*strategy.Strategy, []strategy.Warning, error) {
	if quoted, err := encode(text); err != nil || len(quoted) > maxStrategy {
		return nil, nil, fmt.Errorf("strategy %s is longer than the %d bytes that one in a research may have", name, maxStrategy)
	}
	return strategy.Parse([]byte(text), name)
}

// CheckDesign says what is wrong with a strategy that was designed for a
// research: it must be valid, read only the bars that there are, be affordable,
// have samples to learn from and be judged by, and trade no cheaper than the
// research does. The last is for whoever designs by finding out what is rewarded.
func CheckDesign(text string, bars []jobs.Bars, costs designer.CostHints) (*strategy.Strategy, []strategy.Warning, error) {
	s, warnings, err := readStrategy(text, "design")
	if err != nil {
		return nil, nil, err
	}
	if _, err := barsOf(bars, readBy(s), s.Name); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(affordable(s, mostBars(bars)), trainable(s, leastBars(s, bars))); err != nil {
		return nil, nil, err
	}
	b := s.Backtest
	own := designer.CostHints{Commission: b.Commission, Slippage: b.Slippage, Spread: b.Spread}
	if own.PerSide() < costs.PerSide() {
		return nil, nil, fmt.Errorf("strategy %s trades at a cost of %v a side; here it is at least %v: raise commission, slippage or spread", s.Name, own.PerSide(), costs.PerSide())
	}
	return s, warnings, nil
}

// mostBars is about how many bars the longest series has.
func mostBars(bars []jobs.Bars) int {
	var largest int64
	for _, b := range bars {
		largest = max(largest, b.Size)
	}
	return int(largest / barSize)
}

// What the training of one strategy may take, by its own estimate.
const (
	maxMemory = 4 << 30
	maxCPU    = 24 * time.Hour
)

// affordable refuses a strategy whose training would take a machine down, or a
// night, before anything is allocated.
func affordable(s *strategy.Strategy, bars int) error {
	if err := s.Cost(bars).Check(maxMemory, maxCPU); err != nil {
		return fmt.Errorf("strategy %s: %w", s.Name, err)
	}
	return nil
}

// leastBars is about how many bars the shortest of the series has that a strategy
// decides at.
func leastBars(s *strategy.Strategy, bars []jobs.Bars) int {
	least := int64(-1)
	for _, b := range bars {
		if b.Timeframe == s.Data.Base && slices.Contains(s.Data.Symbols, b.Symbol) && (least < 0 || b.Size < least) {
			least = b.Size
		}
	}
	return int(least / barSize)
}

// fewestSamples is how many must be left in a part of the data: fewer tell
// nothing.
const fewestSamples = 30

// trainable refuses a strategy of whose data purging would leave too little: a
// sample counts in its part only if its label ends there, before the embargo.
// How far a zigzag looks nobody knows beforehand. Of fewer bars than any research
// has it says nothing.
func trainable(s *strategy.Strategy, bars int) error {
	if bars < minBars/2 {
		return nil
	}
	t := s.Training
	l, ahead := t.Labels, 0
	switch l.Source {
	case strategy.ForwardReturn:
		ahead = l.ForwardReturn.Horizon
	case strategy.TripleBarrier:
		ahead = l.TripleBarrier.Holding
	case strategy.Context:
		ahead = l.Context.Horizon
	case strategy.Zigzag, strategy.Regime:
	}
	samples, gap := float64(max(bars-s.Data.History-ahead, 0)), ahead+int(t.Embargo*float64(bars))
	for _, part := range []struct {
		name  string
		share float64
		gap   int
	}{{"training", t.Split.Train, gap}, {"validation", t.Split.Validation, gap}, {"test", t.Split.Test, 0}} {
		left := int(part.share*samples) - part.gap
		if part.share > 0 && left < fewestSamples {
			return fmt.Errorf("strategy %s has about %d samples left in its %s part, and %d are needed: of %d bars, labels look %d ahead and the embargo is %v of all; use a shorter horizon, a smaller embargo or a larger share",
				s.Name, max(left, 0), part.name, fewestSamples, bars, ahead, t.Embargo)
		}
	}
	return nil
}

// barSize is about how many bytes of a bars file are one bar.
const barSize = 6 * 8
