package local

import (
	"bytes"
	"context"
	"sort"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// ClaimHeads are the ledgers of this lab for markets of a bundle: a claim of the lab
// itself, or of one that it was restored from.
func (l *Lab) ClaimHeads(ctx context.Context, b *bundle.Bundle) (heads []bundle.Head, err error) {
	for id := range b.Ledgers {
		h := bundle.Head{From: "the lab in this data folder"}
		for {
			some, err := l.Store.Links(ctx, id, len(h.Known), 1000)
			if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
				break
			}
			if err != nil {
				return nil, err
			}
			if h.Known = append(h.Known, some...); len(some) < 1000 {
				break
			}
		}
		if n := len(h.Known); n > 0 {
			h.ChainHead = ktrdr.ChainHead{Market: id, Links: n, Hash: h.Known[n-1].Hash}
			heads = append(heads, h)
		}
	}
	return heads, nil
}

// ClaimBars finds the bars that a claim was computed from: the file itself, or the same
// bars in a series of the library. CodeNotFound.
func (l *Lab) ClaimBars(ctx context.Context, want jobs.Bars, span research.Span) ([]byte, error) {
	file, err := library.ReadBlob(ctx, l.Blobs, want.Artifact)
	if err == nil {
		return file, nil
	}
	none := ktrdr.Errorf(ktrdr.CodeNotFound, "the lab has no %s bars of %s with the hash %s", want.Timeframe, want.Symbol, want.Hash)
	entries, err := l.Library.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Symbol != want.Symbol || e.Timeframe != want.Timeframe {
			continue
		}
		if file, err := l.sliced(ctx, e, want, span); err != nil || file != nil {
			return file, err
		}
	}
	return nil, none
}

// sliced is a part of a series as a file; nil if it is not what is wanted.
func (l *Lab) sliced(ctx context.Context, e jobs.SeriesInfo, want jobs.Bars, span research.Span) (_ []byte, err error) {
	f, err := library.ReadBlob(ctx, l.Blobs, e.File)
	if err != nil {
		return nil, err
	}
	b, err := market.Decode(f)
	if err != nil {
		return nil, err
	}
	first := sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= span.From.Unix() })
	last := sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > span.To.Unix() })
	if first >= last {
		return nil, nil
	}
	part := b.Slice(first, last)
	if ktrdr.Hash(part.Hash()) != want.Hash {
		return nil, nil
	}
	var file bytes.Buffer
	err = market.Encode(&file, part)
	return file.Bytes(), err
}
