package sqlstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

func TestRecent_ForgetsWhatIsOldAndUnused(t *testing.T) {
	var r recent
	value := func(i int) (ktrdr.Hash, thread.Value) {
		v := thread.Value{Type: "s", Bytes: bytes.Repeat(fmt.Appendf(nil, "%08d", i), 512)}
		return contentHash(v), v
	}
	used, first := value(0)
	r.keep(used, first)
	unused, second := value(1)
	r.keep(unused, second)
	const many = 4 * recentBytes / 4096
	for i := range many {
		h, v := value(2 + i)
		r.keep(h, v)
		if _, ok := r.find(used); !ok {
			t.Fatalf("a value that is asked for all the time is forgotten after %d others", i)
		}
	}
	if _, ok := r.find(unused); ok {
		t.Error("a value that was not asked for is kept for ever")
	}
	held := 0
	for _, generation := range []map[ktrdr.Hash]thread.Value{r.young, r.older} {
		for _, v := range generation {
			held += len(v.Bytes)
		}
	}
	if held > 2*recentBytes {
		t.Errorf("%d bytes are held, want at most %d", held, 2*recentBytes)
	}
	large := thread.Value{Type: "s", Bytes: make([]byte, recentLargest+1)}
	r.keep(contentHash(large), large)
	if _, ok := r.find(contentHash(large)); ok {
		t.Error("a large value is kept")
	}
}

// What a caller does to the bytes it gave or got is its own affair.
func TestRecent_LendsNothing(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		given := []byte("as it was")
		ref, err := s.Saver().Put(t.Context(), thread.Put{
			Thread: "t", Checkpoint: json.RawMessage(`{"v":4,"id":"1","channel_versions":{"c":1}}`),
			Values: map[string]thread.Value{"c": {Type: "s", Bytes: given}}, NewVersions: map[string]json.RawMessage{"c": json.RawMessage(`1`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		given[0] = 'X'
		for range 2 {
			got, err := s.Saver().GetTuple(t.Context(), ref)
			if err != nil || string(got.Values["c"].Bytes) != "as it was" {
				t.Fatalf("got %q, %v", got.Values["c"].Bytes, err)
			}
			got.Values["c"].Bytes[0] = 'Y'
		}
	})
}
