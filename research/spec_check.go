package research

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

type reading struct {
	*strategy.Strategy            // never changed
	hash               ktrdr.Hash // its Hash
	warnings           []strategy.Warning
}

// strategies are those that were read last.
var strategies recent[reading]

// readStrategy parses a strategy and refuses one that is too long to be stored.
func readStrategy(text, name string) (reading, error) {
	r, err := strategies.read([]byte(text), func() (reading, error) {
		if quoted, err := encode(text); err != nil || len(quoted) > maxStrategy {
			return reading{}, fmt.Errorf("strategy %s is longer than the %d bytes that one in a research may have", name, maxStrategy)
		}
		s, warnings, err := strategy.Parse([]byte(text), name)
		if err != nil {
			return reading{}, err
		}
		return reading{s, s.Hash(), warnings}, nil
	})
	r.warnings = slices.Clone(r.warnings)
	for i := range r.warnings {
		r.warnings[i].File = name // it may have been read under another
	}
	return r, err
}

// CheckDesign says what is wrong with a strategy that was designed for a
// research: it must be valid, read only the bars that there are, trade all of
// their symbols, be affordable, and have samples to learn from and be judged by.
// Costs below the floor are no reason to refuse it: they are overruled.
func CheckDesign(text string, bars []jobs.Bars) (*strategy.Strategy, []strategy.Warning, error) {
	s, err := checkDesign(text, bars)
	return s.Strategy, s.warnings, err
}

func checkDesign(text string, bars []jobs.Bars) (reading, error) {
	s, err := readStrategy(text, "design")
	if err != nil {
		return reading{}, err
	}
	if _, err := barsOf(bars, readBy(s.Strategy), s.Name); err != nil {
		return reading{}, err
	}
	if want := symbolsOf(bars); len(s.Data.Symbols) < len(want) {
		return reading{}, fmt.Errorf("strategy %s is written for %s, and the research trades %s together: "+
			"name all of them in training_data.symbols",
			s.Name, strings.Join(s.Data.Symbols, ", "), strings.Join(want, ", "))
	}
	if err := errors.Join(affordable(s.Strategy, mostBars(bars)), trainable(s.Strategy, leastBars(s.Strategy, bars))); err != nil {
		return reading{}, err
	}
	return s, nil
}

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

// affordable refuses a strategy whose training would take too much, before it starts.
func affordable(s *strategy.Strategy, bars int) error {
	if err := s.Cost(bars).Check(maxMemory, maxCPU); err != nil {
		return fmt.Errorf("strategy %s: %w", s.Name, err)
	}
	return nil
}

// leastBars is about how many bars the shortest base series of a strategy has.
func leastBars(s *strategy.Strategy, bars []jobs.Bars) int {
	least := int64(-1)
	for _, b := range bars {
		if b.Timeframe == s.Data.Base && slices.Contains(s.Data.Symbols, b.Symbol) && (least < 0 || b.Size < least) {
			least = b.Size
		}
	}
	return int(least / barSize)
}

// fewestSamples is how many must be left in a part of the data.
const fewestSamples = 30

// trainable refuses a strategy of whose data purging would leave too little: a label
// must end in its part, before the embargo. A zigzag has no fixed horizon.
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
			return fmt.Errorf("strategy %s has about %d samples left in its %s part, and %d are needed: of %d bars, "+
				"labels look %d ahead and the embargo is %v of all; use a shorter horizon, a smaller embargo or a larger share",
				s.Name, max(left, 0), part.name, fewestSamples, bars, ahead, t.Embargo)
		}
	}
	return nil
}

// barSize is about how many bytes of a bars file are one bar.
const barSize = 6 * 8
