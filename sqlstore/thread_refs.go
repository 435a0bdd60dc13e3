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
	for _, text := range selectBlobs {
		for after := ""; ; {
			var found []naming
			err := s.readOne(ctx, func(r queryer) error {
				rows, err := r.rows(ctx, text, after, refsPage)
				found, err = gather(rows, err, func(row scanner) (n naming, err error) {
					err = row.Scan(&n.text, &n.thread)
					return n, err
				})
				return err
			})
			if err != nil {
				yield(ktrdr.BlobRef{}, err)
				return
			}
			for _, n := range found {
				for _, a := range ktrdr.ArtifactsIn(json.RawMessage(n.text)) {
					if !yield(ktrdr.BlobRef{Artifact: a, Operation: ktrdr.OperationID(n.thread)}, nil) {
						return
					}
				}
			}
			if len(found) < refsPage {
				break
			}
			after = found[len(found)-1].text
		}
	}
}
