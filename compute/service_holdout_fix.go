package compute

import (
	"context"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
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
		return nil // its bars cannot be read, also not by an assistant
	}
	if err != nil {
		return err
	}
	hs, err := d.holdouts(ctx, &found{bars: []*market.Bars{b}})
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeConflict:
		return nil // a person has to decide its market first
	case "":
		return d.fix(ctx, hs)
	}
	return err
}

// fix stores the holdout starts of markets that had none. It is called when
// nothing else is wrong with a request: a request that is refused fixes nothing.
func (d *Service) fix(ctx context.Context, hs holdouts) error {
	for i, h := range hs {
		if !h.market.HoldoutFrom.IsZero() {
			continue
		}
		from, err := d.cfg.Markets.FixHoldout(ctx, h.market.ID, h.from)
		if err != nil {
			return err
		}
		if !from.Equal(h.from) {
			return ktrdr.Errorf(ktrdr.CodeConflict, "another request has just set the start of the holdout of %s to %s: send this request again",
				h.symbol, text.Minute(from.Unix()))
		}
		hs[i].market.HoldoutFrom = from
	}
	return nil
}
