package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

const (
	mostBars   = 1000
	usualBars  = 500
	mostInputs = 500
	someInputs = 200
)

// Bars returns bars of a series of the library, none of them of its holdout: a
// look at a holdout shows one strategy on it, and not its prices. CodeNotFound,
// CodeInvalid, and CodeConflict while it is undecided to which market it belongs.
func (d *Service) Bars(ctx context.Context, symbol, timeframe string, q jobs.BarsQuery) (jobs.SeriesBars, error) {
	tf, err := market.ParseTimeframe(timeframe)
	if err != nil {
		return jobs.SeriesBars{}, wrong("timeframe: %w", err)
	}
	if q.Points < 0 || q.Points > mostBars {
		return jobs.SeriesBars{}, wrong("points is %d; it must be 1 to %d", q.Points, mostBars)
	}
	done, err := d.openSeries(ctx)
	if err != nil {
		return jobs.SeriesBars{}, err
	}
	defer done()
	f, err := d.find(ctx, []string{symbol}, []market.Timeframe{tf}, nil)
	if err != nil {
		if errors.Is(err, market.ErrNoData) || ktrdr.CodeOf(err) == ktrdr.CodeInternal {
			err = ktrdr.Errorf(ktrdr.CodeNotFound, "%w", err)
		}
		return jobs.SeriesBars{}, err
	}
	markets, err := d.holdouts(ctx, f)
	if err != nil {
		return jobs.SeriesBars{}, err
	}
	b := f.bars[0].Slice(0, markets[0].before(f.bars[0]))
	from, to := 0, b.Len()
	if !q.From.IsZero() {
		from = sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= q.From.Unix() })
	}
	if !q.To.IsZero() {
		to = sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= q.To.Unix() })
	}
	part := b.Slice(min(from, to), to)
	s := jobs.SeriesBars{Symbol: b.Symbol, Timeframe: tf, HoldoutFrom: markets[0].from, Selected: part.Len()}
	points := q.Points
	if points == 0 {
		points = usualBars
	}
	s.Merged = max(1, (part.Len()+points-1)/points)
	s.Bars = merged(part, s.Merged)
	return s, nil
}

// merged makes one row of each n bars.
func merged(b *market.Bars, n int) []jobs.BarRow {
	rows := make([]jobs.BarRow, 0, b.Len()/n+1)
	for from := 0; from < b.Len(); from += n {
		to := min(from+n, b.Len())
		r := jobs.BarRow{
			Time: instant(b.Time[from]), Open: b.Open[from], Close: b.Close[to-1],
			High: slices.Max(b.High[from:to]), Low: slices.Min(b.Low[from:to]),
		}
		var volume float64 // not known if one of them is not
		for _, v := range b.Volume[from:to] {
			volume += v
		}
		r.Volume = market.KnownValue(volume)
		rows = append(rows, r)
	}
	return rows
}

// Inputs returns what the network of a training reads in a window of the bars
// that the training read. They end where the holdout begins unless the training
// opened it. CodeInvalid, CodeNotFound.
func (d *Service) Inputs(ctx context.Context, op ktrdr.Operation, q jobs.InputsQuery) (jobs.Inputs, error) {
	if op.Type != ktrdr.Training {
		return jobs.Inputs{}, wrong("%s is an operation of type %s: only a training has inputs", op.ID, op.Type)
	}
	if q.Limit < 0 || q.Limit > mostInputs {
		return jobs.Inputs{}, wrong("limit is %d; it must be 1 to %d", q.Limit, mostInputs)
	}
	if q.Limit == 0 {
		q.Limit = someInputs
	}
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](op.Spec)
	if err != nil {
		return jobs.Inputs{}, err
	}
	s, _, err := strategy.Parse([]byte(spec.Strategy), "strategy")
	if err != nil {
		return jobs.Inputs{}, fmt.Errorf("strategy of %s: %w", op.ID, err)
	}
	select { // each holds all bars of a symbol in memory
	case d.answers <- struct{}{}:
		defer func() { <-d.answers }()
	case <-ctx.Done():
		return jobs.Inputs{}, context.Cause(ctx)
	}
	if q.Symbol == "" {
		q.Symbol = spec.Bars[0].Symbol
	}
	series := map[strategy.Series]*market.Bars{}
	for _, want := range spec.Bars {
		if want.Symbol != q.Symbol && !want.Context {
			continue
		}
		from := strategy.Series{Timeframe: want.Timeframe}
		if want.Context {
			from.Symbol = want.Symbol
		}
		if series[from], err = d.pinnedBars(ctx, want); err != nil {
			return jobs.Inputs{}, err
		}
	}
	base := series[strategy.Series{Timeframe: s.Data.Base}]
	if base == nil || base.Len() == 0 {
		return jobs.Inputs{}, ktrdr.Errorf(ktrdr.CodeNotFound, "%s was not trained on %.60s", op.ID, q.Symbol)
	}
	w := window{strategy: s, series: series, base: base, test: testFrom(op)}
	at := w.test
	if !q.From.IsZero() {
		at = q.From.Unix()
	}
	w.from = sort.Search(base.Len(), func(i int) bool { return base.Time[i] >= at })
	w.from = min(w.from, max(base.Len()-q.Limit, 0))
	w.to = min(w.from+q.Limit, base.Len())
	in := jobs.Inputs{Symbol: q.Symbol, Timeframe: s.Data.Base, First: w.from, Total: base.Len(), Bars: merged(base.Slice(w.from, w.to), 1)}
	in.Sets = w.sets()
	return in, nil
}

func (d *Service) pinnedBars(ctx context.Context, want jobs.Bars) (*market.Bars, error) {
	f, err := d.cfg.Blobs.Open(ctx, want.SHA256)
	if err != nil {
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			err = ktrdr.Errorf(ktrdr.CodeNotFound, "the %s bars of %s that it was trained on are deleted", want.Timeframe, want.Symbol)
		}
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return decodeBars(f, want)
}

// testFrom is where the test part of a training begins; 0 before it has ended.
func testFrom(op ktrdr.Operation) int64 {
	var r struct {
		Data struct {
			Split struct {
				Test int64 `json:"test"`
			} `json:"split"`
		} `json:"data_summary"`
	}
	_ = json.Unmarshal(op.Result, &r) // without a result there are no figures
	return r.Data.Split.Test
}

// window is a stretch of the base bars of one symbol.
type window struct {
	strategy *strategy.Strategy
	series   map[strategy.Series]*market.Bars // of the symbol, which has no name here, and of context symbols
	base     *market.Bars
	from, to int
	test     int64 // where the test part begins
}

func (w *window) sets() []jobs.FuzzyInput {
	list := []jobs.FuzzyInput{}
	for _, in := range w.strategy.Inputs {
		set := &strategy.FuzzySet{ID: in.Raw.Name, Ref: in.Raw} // of a raw input: no memberships
		if !in.IsRaw() {
			set = &w.strategy.FuzzySets[in.Set]
		}
		for _, tf := range in.Timeframes {
			from := strategy.Series{Symbol: w.strategy.Indicators[set.Ref.Indicator].Symbol, Timeframe: tf}
			if b := w.series[from]; b != nil {
				list = append(list, w.set(set, b))
			}
		}
	}
	return list
}

// set computes an indicator over all bars, as the training did, and what a fuzzy
// set makes of it.
func (w *window) set(set *strategy.FuzzySet, b *market.Bars) jobs.FuzzyInput {
	of := w.strategy.Indicators[set.Ref.Indicator]
	x := of.New()
	out := make([][]float64, len(x.Outputs()))
	for i := range out {
		out[i] = make([]float64, b.Len())
	}
	x.Compute(b, out)
	values := out[set.Ref.Output]
	f := jobs.FuzzyInput{ID: set.ID, Timeframe: b.Timeframe, Indicator: described(of), Members: []jobs.FuzzyMember{}}
	at := func(i int) float64 { return values[i] }
	if b != w.base {
		place := market.Align(w.base, b)
		at = func(i int) float64 {
			if place[i] < 0 {
				return math.NaN()
			}
			return values[place[i]]
		}
	}
	for i := w.from; i < w.to; i++ {
		f.Values = append(f.Values, defined(at(i)))
	}
	tested := values[sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= w.test }):]
	f.Low, f.High, f.Counts = histogram(tested)
	for _, m := range set.Members {
		member := jobs.FuzzyMember{Name: m.Name}
		for i := w.from; i < w.to; i++ {
			member.Values = append(member.Values, defined(m.Membership.At(at(i))))
		}
		for k := range curvePoints {
			member.Curve = append(member.Curve, rounded(m.Membership.At(f.Low+(f.High-f.Low)*float64(k)/(curvePoints-1))))
		}
		f.Members = append(f.Members, member)
	}
	return f
}

const (
	curvePoints = 81
	bins        = 40
)

// described is an indicator with its parameters.
func described(of strategy.Indicator) string {
	texts := []string{of.Type}
	if of.Symbol != "" {
		texts[0] += " of " + of.Symbol
	}
	for _, s := range of.Settings {
		texts = append(texts, setting(s))
	}
	return strings.Join(texts, ", ")
}

func setting(s indicator.Setting) string {
	if s.IsText {
		return s.Name + " " + s.Text
	}
	return s.Name + " " + strconv.FormatFloat(s.Number, 'g', -1, 64)
}

// histogram counts values between the ends that 99 of 100 lie in.
func histogram(values []float64) (low, high float64, counts []int) {
	const enough = 20_000 // for the ends
	var some []float64
	for i := 0; i < len(values); i += len(values)/enough + 1 {
		if v := values[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			some = append(some, v)
		}
	}
	counts = make([]int, bins)
	if len(some) == 0 {
		return 0, 1, counts
	}
	slices.Sort(some)
	low, high = some[len(some)/200], some[len(some)-1-len(some)/200]
	if low == high {
		low, high = low-0.5, high+0.5
	}
	for _, v := range values {
		if v >= low && v <= high {
			counts[min(int((v-low)/(high-low)*bins), bins-1)]++
		}
	}
	return low, high, counts
}

// defined is a value with few digits, nil for a value that is not a number.
func defined(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return new(rounded(x))
}

// rounded is x with six significant digits.
func rounded(x float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64) // of what it has just written
	return v
}
