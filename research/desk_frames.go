package research

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

func (d *Desk) enoughBars(known designer.Known, b *designer.Brief) error {
	var few []error
	for _, s := range known.Series {
		searched := int((1 - d.cfg.Holdout) * float64(s.Bars))
		switch {
		case !slices.Contains(b.Symbols, s.Symbol):
		case slices.Contains(b.Longer, s.Timeframe) && searched < designer.LeastBars:
			few = append(few,
				fmt.Errorf("there are only %d %s bars of %s before the holdout, and a design needs %d to read them: import more, or leave %s out",
					searched, s.Timeframe, s.Symbol, designer.LeastBars, s.Timeframe))
		}
	}
	if err := errors.Join(few...); err != nil {
		return wrong("%w", err)
	}
	return nil
}

// agree is feature.Agree for a request.
func (d *Desk) agree(ctx context.Context, symbols []string, frames []market.Timeframe, span strategy.Span) (told []string, err error) {
	if len(frames) < 2 {
		return nil, nil
	}
	series, _, err := d.open(ctx, symbols, frames)
	if err != nil {
		return nil, err
	}
	told, err = feature.Agree(series, shortest(series).Timeframe, span)
	if err != nil {
		return nil, wrong("%w", err)
	}
	return told, nil
}
