package library

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// memoryBlobs is a blob store in memory.
type memoryBlobs map[ktrdr.Hash][]byte

type openBlob struct{ *bytes.Reader }

func (openBlob) Close() error { return nil }

func (m memoryBlobs) Put(_ context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	m[want] = data
	return int64(len(data)), err
}

func (m memoryBlobs) Open(_ context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	data, ok := m[h]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return openBlob{bytes.NewReader(data)}, nil
}

func (m memoryBlobs) Stat(_ context.Context, h ktrdr.Hash) (ktrdr.BlobInfo, error) {
	data, ok := m[h]
	if !ok {
		return ktrdr.BlobInfo{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return ktrdr.BlobInfo{Hash: h, Size: int64(len(data))}, nil
}

// lab is a library with its store and its blobs.
type lab struct {
	t       testing.TB
	library *Library
	store   *sqlstore.Store
	blobs   memoryBlobs
}

// newLab makes a library that has 300 hourly bars of each symbol.
func newLab(t testing.TB, symbols ...string) *lab {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: filepath.Join(t.TempDir(), "ktrdr.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := &lab{t: t, store: store, blobs: memoryBlobs{}}
	o.library = NewLibrary(store, o.blobs)
	for i, symbol := range symbols {
		o.synth(symbol, market.H1, 300, uint64(i+1))
	}
	return o
}

func (o *lab) synth(symbol string, tf market.Timeframe, bars int, seed uint64) {
	o.t.Helper()
	b := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: tf, Bars: bars, Seed: seed, Edge: 0.3})
	if _, err := o.library.Import(o.t.Context(), Import{Bars: b, Mode: jobs.ImportReplace, Origin: ktrdr.BarsSynthetic}); err != nil {
		o.t.Fatal(err)
	}
}
