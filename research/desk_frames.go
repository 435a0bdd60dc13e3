package research

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
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
func (d *Desk) agree(ctx context.Context, s subject) (told []string, err error) {
	if len(s.frames) < 2 && len(s.context) == 0 && s.text == "" {
		return nil, nil
	}
	series, _, err := d.open(ctx, s.symbols, s.frames, s.context)
	if err != nil {
		return nil, err
	}
	if err := s.volumes(series); err != nil || len(s.frames) < 2 && len(s.context) == 0 {
		return nil, err
	}
	base, traded := shortest(series).Timeframe, len(series)-len(s.context)
	told, err = feature.Agree(series[:traded], base, s.span)
	more, bad := feature.AgreeContext(series[:traded], series[traded:], base, s.span)
	if err = errors.Join(err, bad); err != nil {
		return nil, wrong("%w", err)
	}
	return append(told, more...), nil
}

// volumes refuses a given strategy that needs volumes which the bars do not have.
func (s subject) volumes(series []*market.Bars) error {
	if s.text == "" {
		return nil
	}
	read, err := readStrategy(s.text, s.name)
	if err != nil {
		return wrong("correct the strategy: %w", err)
	}
	traded := len(series) - len(s.context)
	if err := feature.Volumes(read.Strategy, series[:traded], series[traded:]); err != nil {
		return wrong("strategy %s: %w", s.name, err)
	}
	return nil
}
