package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr/savertest"
	"github.com/ktrdr/ktrdr/thread"
)

func TestThreads_Conform(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		savertest.Run(t, func(*testing.T) thread.Saver { return s.Saver() })
	})
}
