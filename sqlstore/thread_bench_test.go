package sqlstore

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/savertest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/thread"
)

// benchStores runs a benchmark on each database.
func benchStores(b *testing.B, bench func(b *testing.B, open func(b *testing.B) *Store)) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		b.Run(name, func(b *testing.B) {
			bench(b, func(b *testing.B) *Store {
				s, err := Open(b.Context(), Config{URL: url(b)})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() {
					if err := s.Close(); err != nil {
						b.Error(err)
					}
				})
				return s
			})
		})
	}
}

func BenchmarkSaver(b *testing.B) {
	benchStores(b, func(b *testing.B, open func(b *testing.B) *Store) {
		savertest.Bench(b, func(b *testing.B) thread.Saver { return open(b).Saver() })
	})
}

func BenchmarkSaveCheckpoint(b *testing.B) {
	benchStores(b, func(b *testing.B, open func(b *testing.B) *Store) {
		s := open(b)
		op, err := s.Create(b.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy, Spec: json.RawMessage(`{}`)}, ktrdr.IdempotencyKey{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Claim(b.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, ""); err != nil {
			b.Fatal(err)
		}
		state := json.RawMessage(`"` + strings.Repeat("x", 4096) + `"`)
		var seq int64
		for b.Loop() {
			seq++
			c := ktrdr.NewCheckpoint{Operation: op.ID, Epoch: 1, Seq: seq, Type: ktrdr.CheckpointPeriodic, Step: seq, State: state}
			if _, err := s.SaveCheckpoint(b.Context(), c, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
