package compute

import (
	"context"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// FixHoldouts sets where the holdout of each market of the library begins that has no
// start yet, or only of the markets of one symbol. Bars that are added later then move
// no start: what was in a holdout before stays in it. A series whose market is not
// decided has no holdout yet and shows no bars.
func (d *Service) FixHoldouts(ctx context.Context, symbol string) error {
	entries, err := d.cfg.Library.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if symbol != "" && e.Symbol != symbol {
			continue
		}
		if err := d.fixHoldout(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (d *Service) fixHoldout(ctx context.Context, e jobs.SeriesInfo) error {
	p, err := d.cfg.Markets.Describe(ctx, e)
	if err != nil || !p.Market.HoldoutFrom.IsZero() || e.Bars == 0 {
		return err
	}
	done, err := d.openSeries(ctx)
	if err != nil {
		return err
	}
	defer done()
	b, err := d.cfg.Library.Open(ctx, e)
	if ktrdr.CodeOf(err) == ktrdr.CodeCorrupt {
		return nil // its bars cannot be read
	}
	if err != nil {
		return err
	}
	hs, err := d.holdouts(ctx, []*market.Bars{b})
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeConflict:
		return nil // undecided
	case "":
		return d.fix(ctx, hs)
	}
	return err
}
