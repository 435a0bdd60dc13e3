package backend

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr/research"
)

const (
	claimLook  = time.Second      // how often the library is looked at, at most
	claimSweep = 10 * time.Second // and at least: other processes import bars too
)

// followClaims creates the steps that follow claims over new bars.
func (b *Backend) followClaims(ctx context.Context) error {
	f := research.NewClaimFollower(b.engine, b.library)
	if err := f.Adopt(ctx); err != nil && ctx.Err() == nil {
		b.Log.WarnContext(ctx, "claims of an earlier version were not all taken over", "err", err)
	}
	sweep := time.NewTicker(claimSweep)
	defer sweep.Stop()
	for {
		changed := b.engine.Changed()
		started, err := f.Follow(ctx)
		for _, op := range started {
			b.Log.InfoContext(ctx, "claim is followed over new bars", "op", op.ID)
		}
		if err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "a claim could not be followed yet", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(claimLook):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-sweep.C:
		}
	}
}
