package backend

import (
	"context"

	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
)

// assignMarkets assigns the series of the library that have no market: those
// that were imported while no backend ran. What cannot be decided is logged.
func (b *Backend) assignMarkets(ctx context.Context) {
	err := b.markets.PlaceAll(ctx, b.library, "", func(e jobs.SeriesInfo, p library.Placement, err error) {
		log := b.Log.With("symbol", e.Symbol, "timeframe", string(e.Timeframe))
		switch {
		case err != nil:
			log.WarnContext(ctx, "market of a series could not be decided", "err", err)
		case p.Question != "":
			log.WarnContext(ctx, "market of a series is undecided", "question", p.Question)
		default:
			log.InfoContext(ctx, "series assigned to a market", "market", p.Market.ID, "reason", p.Reason)
		}
	})
	if err != nil && ctx.Err() == nil {
		b.Log.WarnContext(ctx, "markets of the library could not be decided", "err", err)
	}
}
