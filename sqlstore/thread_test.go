package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/savertest"
)

func TestThreads_Conform(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		savertest.Run(t, func(*testing.T) ktrdr.Saver { return s.Saver() })
	})
}
