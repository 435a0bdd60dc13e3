package designer

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// Measure sets the brief's statistics: of the bars at which decisions are made, and
// of each longer timeframe, over all of its symbols. series are the bars that
// research may see, of every symbol and timeframe of the brief; never the holdout.
//
// What is measured has closed before the test part of every symbol begins: the
// statistics of a symbol whose data begin later must not show the test part of
// another. A symbol that has too few bars until then is not measured.
func (b *Brief) Measure(series []*market.Bars) error {
	until, err := b.measuredUntil(series)
	if err != nil {
		return err
	}
	if b.Stats, err = b.pooled(series, b.Timeframe, until); err != nil {
		return err
	}
	if err := b.measureContext(series, until); err != nil {
		return err
	}
	b.LongerStats = nil
	for _, tf := range b.Longer {
		s, err := b.pooled(series, tf, until)
		if err != nil {
			return err
		}
		b.LongerStats = append(b.LongerStats, s)
	}
	return nil
}

// measuredUntil is when the first test part of a symbol begins.
func (b *Brief) measuredUntil(series []*market.Bars) (until int64, err error) {
	if len(b.Symbols) == 0 {
		return 0, fmt.Errorf("the goal names no symbol to measure")
	}
	for i, symbol := range b.Symbols {
		base, err := pickSeries(series, symbol, b.Timeframe)
		if err != nil {
			return 0, err
		}
		if at := base.Time[testBegins(base)]; i == 0 || at < until {
			until = at
		}
	}
	return until, nil
}

// pickSeries finds the bars of a symbol and timeframe and refuses too few.
func pickSeries(series []*market.Bars, symbol string, tf market.Timeframe) (*market.Bars, error) {
	i := slices.IndexFunc(series, func(b *market.Bars) bool { return b.Symbol == symbol && b.Timeframe == tf })
	if i < 0 {
		return nil, fmt.Errorf("the %s bars of %s, which the goal names, are missing", tf, symbol)
	}
	return series[i], enough(series[i])
}

// pooled describes the bars of a timeframe of all symbols.
func (b *Brief) pooled(series []*market.Bars, tf market.Timeframe, until int64) (Stats, error) {
	const least = LeastBars * (shareOfTrain + shareOfValidation) // of the fewest that a series may have
	var all []Stats
	var last error
	for _, symbol := range b.Symbols {
		bars, err := pickSeries(series, symbol, tf)
		if err != nil {
			return Stats{}, err
		}
		if n := closedBy(bars, until).Len(); float64(n) < least && len(b.Symbols) > 1 {
			last = fmt.Errorf("%s %s has %d bars before the test part; at least %.0f are needed to design for it: import more data",
				symbol, tf, n, least)
			continue
		}
		s, err := measure(bars, until, looked(len(b.Symbols)), b.more())
		if err != nil {
			return Stats{}, err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return Stats{}, last
	}
	return pool(all), nil
}

// pool makes one market of several: the fewest bars, the geometric mean of the
// volatilities, and the means of the quantiles of what all of them have.
func pool(all []Stats) Stats {
	if len(all) == 1 {
		return all[0]
	}
	s, logs, n := Stats{Bars: all[0].Bars}, 0.0, float64(len(all))
	for _, one := range all {
		s.Bars = min(s.Bars, one.Bars)
		logs += num.Log(one.Volatility)
	}
	s.Volatility = round(num.Exp(logs / n))
	for _, c := range all[0].Columns {
		mean, everywhere := Column{Name: c.Name, Period: c.Period}, true
		for i := range all {
			one, ok := all[i].column(c.Name, c.Period)
			everywhere = everywhere && ok
			for k, q := range one.Quantiles {
				mean.Quantiles[k] += q / n
			}
		}
		if everywhere {
			for k, q := range mean.Quantiles {
				mean.Quantiles[k] = round(q)
			}
			s.Columns = append(s.Columns, mean)
		}
	}
	return s
}
