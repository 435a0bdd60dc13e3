package designer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Timeframes are those of the brief, the shortest first: decisions are made at its bars.
func (b *Brief) Timeframes() []market.Timeframe {
	return append([]market.Timeframe{b.Timeframe}, b.Longer...)
}

// length is the place of a timeframe among all, from short to long; -1 of one that there is not.
func length(tf market.Timeframe) int { return slices.Index(market.Timeframes, tf) }

// checkLonger refuses longer timeframes that are not longer, or of which nothing is known.
func (b *Brief) checkLonger() error {
	if len(b.LongerStats) != len(b.Longer) {
		return fmt.Errorf("the goal has %d longer timeframes and the statistics of %d: measure the market again", len(b.Longer),
			len(b.LongerStats))
	}
	before := b.Timeframe
	for i, tf := range b.Longer {
		if length(tf) <= length(before) {
			return fmt.Errorf("the goal's timeframes must go from short to long: %s stands after %s", tf, before)
		}
		if err := b.LongerStats[i].check(); err != nil {
			return fmt.Errorf("%s: %w", tf, err)
		}
		before = tf
	}
	return nil
}

func (f *frame) timeframe(frame int) market.Timeframe {
	if frame == 0 {
		return f.brief.Timeframe
	}
	return f.brief.Longer[frame-1]
}

func (f *frame) stats(frame int) *Stats {
	if frame == 0 {
		return &f.brief.Stats
	}
	return &f.brief.LongerStats[frame-1]
}

// ratio is how many bars at which decisions are made a bar of the frame lasts.
func (f *frame) ratio(frame int) int {
	base := f.brief.Timeframe.End(0)
	return int((f.timeframe(frame).End(0) + base - 1) / base)
}

// shareOfWarmUp is the part of all bars that a longer timeframe may take before its
// first value: what it takes is lost to training.
const shareOfWarmUp = 1. / 8

// repairFrame brings the frame of an input within those of the brief, and shortens
// the period of a longer one until its warm-up fits. An input that fits no longer
// frame is read at the bars of the decisions.
func (f *frame) repairFrame(x *Gene) {
	x.Frame = min(max(x.Frame, 0), len(f.brief.Longer))
	if x.Frame == 0 {
		return
	}
	room, wished := int(shareOfWarmUp*float64(f.brief.Stats.Bars)), x.Period
	for i := slices.Index(periods, x.Period); i >= 0; i-- {
		x.Period = periods[i]
		_, measured := f.stats(x.Frame).column(x.Reading, x.Period)
		if measured && 3*x.Period*f.ratio(x.Frame) <= room {
			return
		}
	}
	x.Frame, x.Period = 0, wished
}

// frames are those that a genome reads, in ascending order; the first is 0.
func frames(g *Genome) []int {
	used := []int{0}
	for _, x := range g.Inputs {
		used = appendNew(used, x.Frame)
	}
	slices.Sort(used)
	return used
}

func (f *frame) writeTimeframes(b *strings.Builder, g *Genome) {
	used := frames(g)
	if len(used) == 1 {
		fmt.Fprintf(b, "  timeframes: {mode: single, timeframe: %q}\n", string(f.brief.Timeframe))
		return
	}
	quoted := text.Map(used, func(x int) string { return strconv.Quote(string(f.timeframe(x))) })
	fmt.Fprintf(b, "  timeframes: {mode: multi_timeframe, timeframes: [%s], base_timeframe: %q}\n", strings.Join(quoted, ", "),
		string(f.brief.Timeframe))
}

// named is the name of an input's indicator and fuzzy set.
func (f *frame) named(x Gene) string {
	if x.Context > 0 {
		return f.contextName(x)
	}
	if x.Frame == 0 {
		return x.Reading
	}
	return x.Reading + "_" + string(f.timeframe(x.Frame))
}

// readAt is the timeframe of an input as a strategy writes it.
func (f *frame) readAt(g *Genome, x Gene) string {
	if len(frames(g)) == 1 {
		return "all"
	}
	return "[" + strconv.Quote(string(f.timeframe(x.Frame))) + "]"
}

// frameOf is the frame of a timeframe of a strategy: 0 for its base, and else its place among the longer ones.
func frameOf(s *strategy.Strategy, tf market.Timeframe) int {
	n := 0
	for _, other := range s.Data.Timeframes {
		if length(other) > length(s.Data.Base) && length(other) <= length(tf) {
			n++
		}
	}
	return n
}
