package backend

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
)

// trash lets the engine put blobs aside and purge them.
type trash struct{ store blob.Store }

// Put implements engine.Trash.
func (t trash) Put(ctx context.Context, blobs []ktrdr.Hash, at time.Time) error {
	return blob.TrashAll(ctx, t.store, blobs, at)
}

// Empty implements engine.Trash.
func (t trash) Empty(ctx context.Context, blobs []ktrdr.Hash, at time.Time,
	named func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error),
) error {
	return blob.PurgeAll(ctx, t.store, blobs, at, named)
}
