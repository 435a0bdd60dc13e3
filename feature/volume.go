package feature

import (
	"fmt"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Volumes refuses bars without any known volume where the strategy has an indicator
// that is made of volumes: it would have no value at any bar. The others are the bars
// of context symbols.
func Volumes(s *strategy.Strategy, traded, others []*market.Bars) error {
	p := planFor(s)
	lacks := func(b *market.Bars, from strategy.Series) error {
		if b.Len() == 0 || b.Lacking() < b.Len() {
			return nil
		}
		for _, src := range p.sources[from] {
			if x := s.Indicators[src.id]; src.indicator.NeedsVolume() {
				return fmt.Errorf("indicator %s (%s) needs the volume, and the %s bars of %s have none: import bars with volume, "+
					"or use an indicator of prices alone", x.ID, x.Type, b.Timeframe, b.Symbol)
			}
		}
		return nil
	}
	for _, b := range traded {
		if err := lacks(b, strategy.Series{Timeframe: b.Timeframe}); err != nil {
			return err
		}
	}
	for _, b := range others {
		if err := lacks(b, strategy.Series{Symbol: b.Symbol, Timeframe: b.Timeframe}); err != nil {
			return err
		}
	}
	return nil
}
