package train

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// LookAheadError says that something which must be known at one instant
// changed, or was used, with what came later.
type LookAheadError struct {
	Symbol string
	Time   int64  // of the bar at which it shows, Unix seconds
	Cut    int64  // from here on the prices were changed; 0 when nothing had to be
	Future string // how
	What   string // what changed
}

func (e *LookAheadError) Error() string {
	at := time.Unix(e.Time, 0).UTC().Format(time.RFC3339)
	if e.Cut == 0 {
		return fmt.Sprintf("look-ahead: %s %s: %s", e.Symbol, at, e.What)
	}
	return fmt.Sprintf("look-ahead: %s %s: %s when the prices from %s on were %s",
		e.Symbol, at, e.What, time.Unix(e.Cut, 0).UTC().Format(time.RFC3339), e.Future)
}

// future is another way on from an instant. pivot is the first price of it.
type future struct {
	name   string
	change func(price, pivot float64) float64
	turns  bool // high and low change places
}

var futures = []future{
	{"a third higher", func(p, _ float64) float64 { return p * 4 / 3 }, false},
	{"turned upside down", func(p, pivot float64) float64 { return pivot * pivot / p }, true},
}

// apply returns the data with another future: every bar that closes after the
// instant is changed. Bars that have closed by then are shared.
func (f future) apply(d Series, from int64) Series {
	change := func(b *market.Bars) *market.Bars {
		first := sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > from })
		c := *b
		if first < b.Len() {
			pivot := b.Open[first]
			alter := func(column []float64) []float64 {
				out := slices.Clone(column)
				for i := first; i < len(out); i++ {
					out[i] = f.change(out[i], pivot)
				}
				return out
			}
			c.Open, c.High, c.Low, c.Close = alter(b.Open), alter(b.High), alter(b.Low), alter(b.Close)
			if f.turns {
				for i := first; i < len(c.High); i++ {
					c.High[i], c.Low[i] = c.Low[i], c.High[i]
				}
			}
		}
		return &c
	}
	return Series{Symbol: d.Symbol, Bars: text.Map(d.Bars, change), Context: text.Map(d.Context, change)}
}

// Preparer is anything that does what Prepare does, with the strategy bound.
type Preparer func(data []Series, opt Options) (*Dataset, error)

// CheckLookahead holds a preparation to the order of time. It prepares the data,
// then prepares them again with other prices from the beginning of the
// validation part on, and again from the beginning of the test part on, at the
// same split. Samples of an earlier part must be the same, bit for bit:
//
//	shuffled split        a training sample lies after a validation sample
//	label overlap         a training label changes with prices of the validation part
//	whole-sample scaling  a training row changes with them
//
// It returns a *LookAheadError for the first thing found.
func CheckLookahead(prepare Preparer, data []Series, opt Options) error {
	was, err := prepare(data, opt)
	if err != nil {
		return err
	}
	if err := was.checkOrder(); err != nil {
		return err
	}
	opt.Split = &was.Split
	for part, cut := range []int64{was.Split.Validation, was.Split.Test} {
		if cut == was.Split.End {
			continue
		}
		for _, f := range futures {
			changed := make([]Series, len(data))
			for i, d := range data {
				changed[i] = f.apply(d, cut)
			}
			is, err := prepare(changed, opt)
			if err != nil {
				return fmt.Errorf("with the prices from %s on %s: %w", time.Unix(cut, 0).UTC().Format(time.RFC3339), f.name, err)
			}
			for p := range part + 1 {
				if e := samePart(was, is, p); e != nil {
					e.Cut, e.Future = cut, f.name
					return e
				}
			}
		}
	}
	return nil
}

func (ds *Dataset) checkOrder() error {
	borders := []int64{math.MinInt64, ds.Split.Validation, ds.Split.Test, ds.Split.End}
	for p, rows := range ds.parts() {
		for _, row := range rows {
			if symbol, at := ds.where(row); at < borders[p] || at >= borders[p+1] {
				return &LookAheadError{
					Symbol: symbol, Time: at,
					What: fmt.Sprintf("the bar is a %s sample, and does not lie in the time of that part", partNames[p]),
				}
			}
		}
	}
	return nil
}

func samePart(was, is *Dataset, p int) *LookAheadError {
	a, b := was.parts()[p], is.parts()[p]
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return was.differs(a, b, i, p)
		}
		what := was.differAt(is, a[i])
		if what == "" {
			continue
		}
		symbol, at := was.where(a[i])
		return &LookAheadError{Symbol: symbol, Time: at, What: fmt.Sprintf("%s of a %s sample changed", what, partNames[p])}
	}
	if !slices.Equal(was.ClassWeights, is.ClassWeights) {
		return &LookAheadError{Symbol: was.Symbols[0].Symbol, Time: was.Symbols[0].Time[0], What: "the weights of the classes changed"}
	}
	return nil
}

// differs is about the first sample that is in one part and not in the other.
func (ds *Dataset) differs(a, b []int32, i, p int) *LookAheadError {
	rows := a
	if i >= len(a) || i < len(b) && b[i] < a[i] {
		rows = b
	}
	symbol, at := ds.where(rows[i])
	return &LookAheadError{Symbol: symbol, Time: at, What: fmt.Sprintf("whether the bar is a %s sample changed", partNames[p])}
}

// differAt says what differs between two datasets about one sample, or "".
func (ds *Dataset) differAt(other *Dataset, row int32) string {
	a, b := &ds.Table, &other.Table
	switch {
	case !sameBits(a.Row(int(row)), b.Row(int(row))):
		return "an input"
	case a.Class != nil && a.Class[row] != b.Class[row], a.Target != nil && a.Target[row] != b.Target[row]:
		return "the label"
	case a.Weight != nil && a.Weight[row] != b.Weight[row]:
		return "the weight"
	}
	return ""
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Predictor is anything that does what Predict does, with the model bound.
type Predictor func(Series) (*Signals, error)

// CheckSignals holds a predictor to the order of time: what it says of bars that
// have closed by the opening of bar cut, of the base timeframe tf, must be the
// same bits when the bars from there on are missing or others. It returns a
// *LookAheadError for the first difference.
func CheckSignals(predict Predictor, data Series, tf market.Timeframe, cuts []int) error {
	base, err := data.frame(tf)
	if err != nil {
		return err
	}
	was, err := predict(data)
	if err != nil {
		return err
	}
	for _, cut := range cuts {
		if cut < 1 || cut >= base.Len() {
			return fmt.Errorf("cut at bar %d: it must leave bars on both sides, of which there are %d", cut, base.Len())
		}
		at := base.Time[cut]
		others := []future{{name: "missing"}}
		for _, f := range append(others, futures...) {
			changed := data.before(at)
			if f.change != nil {
				changed = f.apply(data, at)
			}
			is, err := predict(changed)
			if err != nil {
				return fmt.Errorf("with the bars from %d on %s: %w", cut, f.name, err)
			}
			if bar := was.differs(is, cut); bar >= 0 {
				return &LookAheadError{Symbol: data.Symbol, Time: base.Time[bar], Cut: at, Future: f.name, What: "the answer changed"}
			}
		}
	}
	return nil
}

// differs is the first bar before cut of which two predictions say different things, or -1.
func (s *Signals) differs(other *Signals, cut int) int {
	for bar := range cut {
		if s.Signal[bar] != other.Signal[bar] || !sameBits(s.Answer(bar), other.Answer(bar)) {
			return bar
		}
	}
	return -1
}
