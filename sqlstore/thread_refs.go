package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// isBlobValue is true of values that stand for a blob. It is spelled as the
// partial indexes spell it.
const isBlobValue = `substr(type, 1, 14) = '` + thread.BlobPrefix + `'`

// blobsIn finds them in a table. The type of such a value names its blob; of
// the threads that hold it one is told, for people.
func blobsIn(table string) query {
	return query(`SELECT type, MIN(thread_id) FROM ` + table + ` WHERE ` + isBlobValue + ` AND type > $1 GROUP BY type ORDER BY type LIMIT $2`)
}

var selectBlobs = []query{blobsIn("thread_values"), blobsIn("checkpoint_writes")}

// valueRefs yields the blobs that are values of foreign threads.
func (s *Store) valueRefs(ctx context.Context, yield func(ktrdr.BlobRef, error) bool) {
	type naming struct{ text, thread string }
	scan := fields(func(n *naming) []any { return []any{&n.text, &n.thread} })
	for _, text := range selectBlobs {
		more := yieldRefs(ctx, s, yield, scan, text, []any{""}, func(n naming) ([]ktrdr.BlobRef, []any) {
			return refsOf(ktrdr.OperationID(n.thread), json.RawMessage(n.text)), []any{n.text}
		})
		if !more {
			return
		}
	}
}
