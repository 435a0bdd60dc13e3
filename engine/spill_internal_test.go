package engine

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/memsaver"
	"github.com/ktrdr/ktrdr/savertest"
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
	savertest.Run(t, func(*testing.T) ktrdr.Saver { return spilling{memsaver.New(), blobs, 0, slog.New(slog.DiscardHandler)} })
	if len(blobs.all) == 0 {
		t.Error("no value became a blob")
	}
}
