package backend

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr/compute"
)

// followLook is how often it is looked for series whose turn has come.
const followLook = time.Second

// followSources starts the fetches and imports that keep series current.
func (b *Backend) followSources(ctx context.Context) error {
	f := compute.NewFollower(b.desk, b.engine)
	tick := time.NewTicker(followLook)
	defer tick.Stop()
	for {
		started, err := f.Follow(ctx, time.Now())
		for _, op := range started {
			b.Log.InfoContext(ctx, "series is kept current", "op", op.ID)
		}
		if err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "a series could not be kept current", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
