package designer

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// Hint is a reading that earned after costs, on the bars before the test part.
type Hint struct {
	Input   Gene    `json:"input"`
	Horizon int     `json:"horizon"` // bars ahead, of the moves in its table
	Caution int     `json:"caution"` // rung of the round trips that a move had to pay for
	Exit    float64 `json:"exit,omitempty"`
	Score   float64 `json:"score"` // mean z-value of the window and those beside it; not adjusted for the number of rules that were tried
}

// Screen tries every reading of the catalogue on the bars before the test part, at the
// given costs. It sets the brief's hints, the best first. Measure comes before it.
// A table of mean moves stands in for a network:
//
//	values of a reading ──quantiles──▶ bins ──mean of the next moves──▶ table
//	table ──moves that pay for a round trip──▶ signals ──trades, after costs──▶ z-value
//
// This is a 4-fold cross-validation, purged by the horizon: each quarter of the time is
// traded with the table of the other three, so more bins do not make a better score. A
// position may last into the next quarter. No bar of a test part is read.
func (b *Brief) Screen(series []*market.Bars, cost instrument.Costs) error {
	b.Hints = nil
	if err := errors.Join(b.Stats.check(), b.checkContext()); err != nil {
		return err
	}
	until, err := b.measuredUntil(series)
	if err != nil {
		return err
	}
	s := screening{frame: newFrame(b, cost), sample: sample{cost: cost.PerSide(), short: !b.LongOnly}}
	for _, symbol := range b.Symbols {
		bars, err := pickSeries(series, symbol, b.Timeframe)
		if err != nil {
			return err
		}
		s.traded = append(s.traded, latest(closedBy(bars, until), looked(len(b.Symbols))))
	}
	s.sample.of(s.traded)
	all, err := s.try(s.traded, 0)
	if err != nil {
		return err
	}
	for i, symbol := range b.Context {
		bars, err := pickSeries(series, symbol, b.Timeframe)
		if err != nil {
			return err
		}
		of, err := s.try([]*market.Bars{beside(closedBy(bars, until), s.traded)}, i+1)
		if err != nil {
			return err
		}
		all = append(all, of...)
	}
	b.Hints = hints(all)
	return nil
}

const (
	screenFolds  = 4
	screenTrades = 2 * leastTrades // fewest changes of position: two for each trade
	fewestInBin  = 30              // values; a bin with fewer gives no signal
	mostBins     = 32
	mostHints    = 12
	mostHorizons = 5
	beginning    = 3 * 96 // bars before the first of a context symbol: three times the longest window
)

// screening tries readings for a brief.
type screening struct {
	*frame
	sample
	traded []*market.Bars // of the symbols that are traded
}

// attempt is a window of a reading, with the question that its table answered best.
type attempt struct {
	gene Gene
	question
	z float64
}

// question is the rule that is tried on a table: how far it looks ahead, how large a mean
// move must be for a signal, and when a position is closed.
type question struct {
	horizon, caution int
	exit             float64
}

// try tries every reading on some series: on those that are traded (context 0), or on
// those of a context symbol (n is the n-th).
func (s *screening) try(read []*market.Bars, context int) (all []attempt, err error) {
	for _, r := range slices.Concat(readings, s.brief.more()) {
		if context > 0 && r.clock != nil {
			continue // the calendar is the same for all symbols
		}
		of, err := s.windows(r, read, context)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// windows tries the windows of a reading. Half of a score is that of the windows on both
// sides, at the ends of the ladder a third: an edge that only one window has is luck more often than not.
func (s *screening) windows(r reading, read []*market.Bars, context int) (list []attempt, err error) {
	ask := s.questions()
	for _, p := range r.windows() {
		gene := Gene{Reading: r.name, Period: p, Partition: r.partition(Each), Context: context}
		if !s.allowed(gene) {
			continue
		}
		values := make([][]float64, len(read))
		for i, b := range read {
			if values[i], err = r.values(p, b); err != nil {
				return nil, err
			}
		}
		if context > 0 {
			values = aligned(values[0], read[0], s.traded)
		}
		bins, size := binned(values)
		if size == 0 {
			continue
		}
		q, z := s.best(&column{bins, size}, ask)
		list = append(list, attempt{gene, q, z})
	}
	own := slices.Clone(list)
	for i := range list {
		sum, n := 2*own[i].z, 2.0
		if i > 0 {
			sum, n = sum+own[i-1].z, n+1
		}
		if i+1 < len(own) {
			sum, n = sum+own[i+1].z, n+1
		}
		list[i].z = sum / n
	}
	return list, nil
}

// questions are the rules that are tried on every table: up to five of the horizons that
// designs may have; a mean move of half a round trip or of one; a position that is held
// until the opposite signal, or is closed half a horizon after the last signal.
func (f *frame) questions() (all []question) {
	before := 0
	for i := range mostHorizons {
		h := f.horizons[i*(len(f.horizons)-1)/(mostHorizons-1)]
		if h == before {
			continue
		}
		before = h
		for _, caution := range []int{0, 2} {
			for _, exit := range []float64{0, 0.5} {
				all = append(all, question{h, caution, exit})
			}
		}
	}
	return all
}

// hints are the best windows with a score above 0, one of each reading.
func hints(all []attempt) (list []Hint) {
	slices.SortStableFunc(all, func(a, b attempt) int { return cmp.Compare(b.z, a.z) })
	for _, a := range all {
		has := slices.ContainsFunc(list, func(f Hint) bool {
			return f.Input.Reading == a.gene.Reading && f.Input.Context == a.gene.Context
		})
		if has || !(a.z > 0) || len(list) == mostHints {
			continue
		}
		list = append(list, Hint{a.gene, a.horizon, a.caution, a.exit, round(a.z)})
	}
	return list
}

// fromHint makes the i-th hint a beginning. Forecasts of the return, as in the table,
// and choices among three classes take turns: which of them a network learns better
// depends on the effect.
func (f *frame) fromHint(i int) archetype {
	x := f.brief.Hints[i]
	r, _ := find(x.Input.Reading)
	a := archetype{
		name: r.title() + " earned after costs on the bars before the test part", idea: r.family, label: strategy.ForwardReturn,
		horizon: x.Horizon, exit: x.Exit, caution: max(1, x.Caution), // a network forecasts less surely than the table
		readings: []input{{x.Input.Reading, x.Input.Period, x.Input.Partition}}, context: x.Input.Context,
	}
	if x.Input.Context > 0 {
		a.idea = LeadLag
	}
	if i%2 == 1 {
		a.label, a.caution = strategy.Context, 1
		a.readings[0].partition = r.partition(Tails)
	}
	return a
}

// beside are the bars of a context symbol, from 288 bars before the first bar that is
// traded: its indicators need bars before their first value.
func beside(b *market.Bars, traded []*market.Bars) *market.Bars {
	first := int64(math.MaxInt64)
	for _, t := range traded {
		if t.Len() > 0 { // it may begin after the test part of another
			first = min(first, t.Time[0])
		}
	}
	at, _ := slices.BinarySearch(b.Time, first)
	return b.Slice(max(0, at-beginning), b.Len())
}

// aligned are the values of another symbol at the bars of those that are traded: each
// is that of its last bar that has closed by then. A bar that is out of date has none.
func aligned(values []float64, from *market.Bars, traded []*market.Bars) (all [][]float64) {
	for _, b := range traded {
		at := make([]float64, b.Len())
		for t, i := range market.Align(b, from) {
			if at[t] = math.NaN(); i >= 0 {
				at[t] = values[i]
			}
		}
		all = append(all, at)
	}
	return all
}

// movesOf are the moves from close to close, logarithmic; the first is 0.
func movesOf(b *market.Bars) []float64 {
	moves := make([]float64, b.Len())
	for t := 1; t < len(moves); t++ {
		moves[t] = num.Log(b.Close[t] / b.Close[t-1])
	}
	return moves
}
