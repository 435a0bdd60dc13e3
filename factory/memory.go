package factory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// notes are the memory of one search, by place. They implement research.Notes.
type notes []ktrdr.Note

// Notes returns the notes of a run in one page, in the order of their places.
func (n *notes) Notes(_ context.Context, q ktrdr.NoteQuery) (ktrdr.NotePage, error) {
	page := ktrdr.NotePage{Notes: []ktrdr.Note{}}
	if q.Order != ktrdr.NotesByPlace || q.Run == "" || q.Horizon != "" || q.BeforeGeneration == nil {
		return page, ktrdr.Errorf(ktrdr.CodeInternal, "a search without a store has only notes of its own earlier generations")
	}
	for _, one := range *n {
		if one.Kind == q.Kind && one.Run == q.Run && one.Generation < *q.BeforeGeneration {
			page.Notes = append(page.Notes, one)
		}
	}
	slices.SortFunc(page.Notes, func(a, b ktrdr.Note) int {
		return cmp.Or(a.Generation-b.Generation, a.Index-b.Index, cmp.Compare(a.Key, b.Key))
	})
	return page, nil
}

// files are blobs in memory.
type files map[ktrdr.Hash][]byte

func (f files) put(b []byte) ktrdr.Hash {
	h := ktrdr.Hash(sha256.Sum256(b))
	f[h] = b
	return h
}

// opener opens blobs of several places.
func opener(places ...files) func(context.Context, ktrdr.Hash) (io.ReadCloser, error) {
	return func(_ context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
		for _, f := range places {
			if b, ok := f[h]; ok {
				return io.NopCloser(bytes.NewReader(b)), nil
			}
		}
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "the search made no blob %s", h)
	}
}
