package sqlstore

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// selectNamed are texts that look for 1, 2, 4, … blobs, each by the key of
// checkpoint_blobs, and read at most one row of each: thousands of checkpoints may
// name the same bytes.
var selectNamed = func() (texts [7]query) {
	for i := range texts {
		parts := make([]string, 1<<i)
		for n := range parts {
			parts[n] = fmt.Sprintf(`SELECT sha256 FROM (SELECT sha256 FROM checkpoint_blobs WHERE sha256 = $%d LIMIT 1) AS n%d`, n+1, n)
		}
		texts[i] = query(strings.Join(parts, ` UNION ALL `))
	}
	return texts
}()

// BlobsNamed implements ktrdr.Compaction. What checkpoints name costs one look for
// each blob, however many checkpoints there are. All other rows are read: identical
// bytes are one blob, and a thread or a series of bars may name it too.
func (s *Store) BlobsNamed(ctx context.Context, blobs []ktrdr.Hash, onlyCheckpoints bool) (map[ktrdr.Hash]bool, error) {
	asked := make(map[ktrdr.Hash]bool, len(blobs))
	for _, h := range blobs {
		asked[h] = true
	}
	named := make(map[ktrdr.Hash]bool)
	for some := range slices.Chunk(blobs, keysAtOnce) {
		if err := s.checkpointsName(ctx, some, named); err != nil {
			return nil, err
		}
	}
	if onlyCheckpoints || len(named) == len(asked) {
		return named, nil
	}
	for ref, err := range s.otherRefs(ctx) {
		if err != nil {
			return nil, err
		}
		if asked[ref.SHA256] {
			if named[ref.SHA256] = true; len(named) == len(asked) {
				break
			}
		}
	}
	return named, nil
}

// checkpointsName adds those of some blobs that checkpoints name.
func (s *Store) checkpointsName(ctx context.Context, some []ktrdr.Hash, named map[ktrdr.Hash]bool) error {
	_, args := padded(1, some, func(h ktrdr.Hash) any { return h.String() })
	return s.readOne(ctx, func(r queryer) error {
		found, err := firstColumn(ctx, r, selectNamed[bits.Len(uint(len(args)-1))], args...)
		for _, text := range found {
			h, err := ktrdr.ParseHash(text)
			if err != nil {
				return err
			}
			named[h] = true
		}
		return err
	})
}
