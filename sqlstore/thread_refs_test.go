package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

func TestBlobRefs_NameTheValuesThatAreBlobs(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		const each = refsPage + 3 // so that there is more than a page of both
		saver := s.Saver()
		var want []ktrdr.Hash
		blob := func(kind byte, i int) thread.Value {
			h := ktrdr.Hash{kind, byte(i >> 8), byte(i)}
			want = append(want, h)
			return thread.BlobValue("msgpack", ktrdr.Artifact{Name: "value", SHA256: h, Size: 70_000})
		}
		put := thread.Put{
			Thread: "t", Checkpoint: json.RawMessage(`{"v":4,"id":"1","channel_versions":{}}`),
			Values: map[string]thread.Value{}, NewVersions: map[string]json.RawMessage{},
		}
		versions := map[string]int{"plain": 1}
		put.Values["plain"] = thread.Value{Type: `{"name":"a","sha256":"` + ktrdr.Hash{9}.String() + `","size":1}`, Bytes: []byte("x")}
		put.NewVersions["plain"] = json.RawMessage("1")
		writes := thread.Writes{Thread: "t", Checkpoint: "1", Task: "task"}
		for i := range each {
			channel := fmt.Sprintf("c%d", i)
			put.Values[channel], put.NewVersions[channel], versions[channel] = blob(1, i), json.RawMessage("1"), 1
			writes.Writes = append(writes.Writes, thread.Write{Idx: i, Channel: channel, Value: blob(2, i)})
		}
		text, err := json.Marshal(map[string]any{"v": 4, "id": "1", "channel_versions": versions})
		if err != nil {
			t.Fatal(err)
		}
		put.Checkpoint = text
		if _, err := saver.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		if err := saver.PutWrites(t.Context(), writes); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, compareHashes)

		var refs []ktrdr.Hash
		for ref, err := range s.BlobRefs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if ref.Size != 70_000 || ref.Operation != "t" {
				t.Fatalf("reference %+v, want 70,000 bytes of thread t", ref)
			}
			refs = append(refs, ref.SHA256)
		}
		if slices.SortFunc(refs, compareHashes); !slices.Equal(refs, want) {
			t.Errorf("%d references, want %d, each once", len(refs), len(want))
		}

		var saved []ktrdr.Hash // by a backup
		if err := s.read(t.Context(), func(r queryer) (err error) {
			saved, err = blobsNamed(t.Context(), r)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(saved, want) {
			t.Errorf("a backup holds %d blobs, want %d", len(saved), len(want))
		}
	})
}

func compareHashes(a, b ktrdr.Hash) int { return slices.Compare(a[:], b[:]) }
