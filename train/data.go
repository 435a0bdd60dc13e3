package train

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/strategy"
)

// Series is the data of one symbol: its bars, one series for each timeframe of the strategy, in any order.
type Series struct {
	Symbol string
	Bars   []*market.Bars
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
	return out, nil
}

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
	cut := Series{Symbol: d.Symbol, Bars: make([]*market.Bars, len(d.Bars))}
	for i, b := range d.Bars {
		cut.Bars[i] = b.Slice(0, sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > end }))
	}
	return cut
}

// sources describes the data.
func (d Series) sources() []metrics.Source {
	var list []metrics.Source
	for _, b := range d.Bars {
		hash := b.Hash()
		list = append(list, metrics.Source{
			Symbol: d.Symbol, Timeframe: b.Timeframe, Hash: hex.EncodeToString(hash[:]), Bars: b.Len(), First: b.Time[0], Last: b.Time[b.Len()-1],
		})
	}
	return list
}
