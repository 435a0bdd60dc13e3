package sqlstore

import (
	"context"

	"github.com/ktrdr/ktrdr"
)

// Changed returns a channel that is closed after the next committed event, in
// this backend or, on PostgreSQL, in another.
func (s *Store) Changed() <-chan struct{} { return s.news.next(forReaders) }

// Ready is Changed for what concerns workers. The two are apart because every
// transition is an event, and waking every idle worker for each of them costs
// more than the transition.
func (s *Store) Ready() <-chan struct{} { return s.news.next(forWorkers) }

// Info describes the store. It asks the database, so that an error of Info is
// the health of the store.
func (s *Store) Info(ctx context.Context) (ktrdr.StoreInfo, error) {
	info, err := s.db.info(ctx)
	if err != nil {
		return info, err
	}
	info.Lab, err = readRow(ctx, s, scanValue[string], selectMeta, metaBlobRoot)
	return info, ifNoRow(err, nil) // none is bound yet
}

// Close waits for the writes under way and closes the database. Calls that
// come later get CodeUnavailable.
func (s *Store) Close() error { return s.closeOnce() }
