package feature

import (
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/strategy"
)

// plan says what has to be computed: each indicator once on each series, however many columns read it.
type plan struct {
	columns []strategy.Column
	series  []strategy.Series // that are read: those of the symbol itself, which has no name here, and of context symbols
	sources map[strategy.Series][]source
}

// source is an indicator on one series with the columns that read it.
type source struct {
	id        int // index in the strategy
	indicator indicator.Indicator
	columns   []column
}

// column is a feature: which output it reads and what it makes of it.
type column struct {
	index  int // in the matrix
	output int
	member *strategy.Member // nil: the value itself
}

func planFor(s *strategy.Strategy) plan {
	p := plan{columns: s.Columns(), sources: map[strategy.Series][]source{}}
	for _, tf := range s.Data.Timeframes {
		p.series = append(p.series, strategy.Series{Timeframe: tf})
	}
	p.series = append(p.series, s.ContextSeries()...)
	made := make([]indicator.Indicator, len(s.Indicators))
	for k, c := range p.columns {
		from := strategy.Series{Symbol: c.Symbol, Timeframe: c.Timeframe}
		list := p.sources[from]
		i := 0
		for i < len(list) && list[i].id != c.Ref.Indicator {
			i++
		}
		if i == len(list) {
			if made[c.Ref.Indicator] == nil {
				made[c.Ref.Indicator] = s.Indicators[c.Ref.Indicator].New()
			}
			list = append(list, source{id: c.Ref.Indicator, indicator: made[c.Ref.Indicator]})
		}
		list[i].columns = append(list[i].columns, column{k, c.Ref.Output, c.Member})
		p.sources[from] = list
	}
	return p
}

func (c column) apply(dst []float32, x []float64) {
	if c.member != nil {
		c.member.Membership.Apply(dst, x)
		return
	}
	for i, v := range x {
		dst[i] = float32(v)
	}
}

// at makes the feature of one value, as apply does.
func (c column) at(x float64) float32 {
	if c.member != nil {
		return float32(c.member.Membership.At(x))
	}
	return float32(x)
}
