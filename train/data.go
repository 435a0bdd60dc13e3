package train

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/strategy"
)

// Series is the data of one symbol: its bars, one series for each timeframe of the strategy, in any order.
type Series struct {
	Symbol  string
	Bars    []*market.Bars
	Context []*market.Bars // of other symbols, which the strategy reads beside them
}

// Arrange puts bars together by symbol, in their order. Those of which isContext says
// so are read beside the bars of every symbol.
func Arrange(bars []*market.Bars, isContext func(i int) bool) []Series {
	var list []Series
	var context []*market.Bars
	for i, b := range bars {
		if isContext(i) {
			context = append(context, b)
			continue
		}
		k := slices.IndexFunc(list, func(s Series) bool { return s.Symbol == b.Symbol })
		if k < 0 {
			k, list = len(list), append(list, Series{Symbol: b.Symbol})
		}
		list[k].Bars = append(list[k].Bars, b)
	}
	for i := range list {
		list[i].Context = context
	}
	return list
}

func (d Series) frame(tf market.Timeframe) (*market.Bars, error) {
	for _, b := range d.Bars {
		if b.Timeframe == tf {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s has no bars of %s, which the strategy reads: import them", d.Symbol, tf)
}

// reading returns the data that a strategy reads, the base timeframe first and
// the others in the strategy's order, and refuses data that is not what it says.
func (d Series) reading(s *strategy.Strategy) (Series, error) {
	if err := d.check(); err != nil {
		return Series{}, err
	}
	out := Series{Symbol: d.Symbol, Bars: make([]*market.Bars, 1, len(d.Bars))}
	for _, tf := range s.Data.Timeframes {
		b, err := d.frame(tf)
		if err != nil {
			return Series{}, err
		}
		if tf == s.Data.Base {
			out.Bars[0] = b
		} else {
			out.Bars = append(out.Bars, b)
		}
	}
	for _, want := range s.ContextSeries() {
		i := slices.IndexFunc(d.Context, func(b *market.Bars) bool { return b.Symbol == want.Symbol && b.Timeframe == want.Timeframe })
		if i < 0 {
			return Series{}, fmt.Errorf("strategy %s reads %s bars of %s beside those of %s, and there are none: import them", s.Name,
				want.Timeframe, want.Symbol, d.Symbol)
		}
		out.Context = append(out.Context, d.Context[i])
	}
	return out, nil
}

// all are the bars of the symbol, and those of the context symbols behind them.
func (d Series) all() []*market.Bars { return slices.Concat(d.Bars, d.Context) }

// base is the series of the base timeframe, of data that reading returned.
func (d Series) base() *market.Bars { return d.Bars[0] }

func (d Series) check() error {
	var errs []error
	seen := map[market.Timeframe]bool{}
	for _, b := range d.Bars {
		switch {
		case b.Symbol != d.Symbol:
			errs = append(errs, fmt.Errorf("among the data of %s are bars of %s", d.Symbol, b.Symbol))
		case seen[b.Timeframe]:
			errs = append(errs, fmt.Errorf("%s has two series of %s", d.Symbol, b.Timeframe))
		case b.Len() == 0:
			errs = append(errs, fmt.Errorf("%s %s has no bars", d.Symbol, b.Timeframe))
		case b.Len() > math.MaxInt32/2:
			errs = append(errs, fmt.Errorf("%s %s has %d bars, more than %d", d.Symbol, b.Timeframe, b.Len(), math.MaxInt32/2))
		}
		seen[b.Timeframe] = true
	}
	return errors.Join(errs...)
}

// before returns the bars that have closed by an instant. What comes later is
// not there, so that nothing can look at it; 0 keeps everything.
func (d Series) before(end int64) Series {
	if end == 0 {
		return d
	}
	closed := func(b *market.Bars) *market.Bars {
		return b.Slice(0, sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > end }))
	}
	return Series{Symbol: d.Symbol, Bars: text.Map(d.Bars, closed), Context: text.Map(d.Context, closed)}
}

// sources describes bars.
func sources(bars []*market.Bars) []metrics.Source {
	var list []metrics.Source
	for _, b := range bars {
		if b.Len() == 0 { // of a context symbol: it only leaves rows without a value
			continue
		}
		hash := b.Hash()
		list = append(list, metrics.Source{
			Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: hex.EncodeToString(hash[:]), Bars: b.Len(), First: b.Time[0], Last: b.Time[b.Len()-1],
		})
	}
	return list
}
