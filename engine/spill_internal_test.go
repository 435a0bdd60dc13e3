package engine

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/savertest"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/thread"
)

// memBlobs is blobs in memory.
type memBlobs struct {
	ktrdr.Blobs
	mu  sync.Mutex
	all map[ktrdr.Hash][]byte
}

func (m *memBlobs) Put(_ context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[want] = b
	return int64(len(b)), err
}

func (m *memBlobs) Open(_ context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.all[h]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return memReader{bytes.NewReader(b)}, nil
}

type memReader struct{ *bytes.Reader }

func (memReader) Close() error { return nil }

func TestSpilling_KeepsEveryPromiseOfASaver(t *testing.T) {
	blobs := &memBlobs{all: map[ktrdr.Hash][]byte{}}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	savertest.Run(t, func(*testing.T) thread.Saver {
		return spilling{store.Saver(), blobs, 0, slog.New(slog.DiscardHandler)}
	})
	if len(blobs.all) == 0 {
		t.Error("no value became a blob")
	}
}
