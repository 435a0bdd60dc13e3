package sqlstore

import (
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

func TestThreads_ALostValueHidesNoOtherCheckpoint(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		for _, id := range []string{"1", "2", "3"} {
			_, err := s.Saver().Put(t.Context(), thread.Put{
				Thread: "t", Checkpoint: json.RawMessage(`{"v":4,"id":"` + id + `","channel_versions":{"c":` + id + `}}`),
				Values:      map[string]thread.Value{"c": {Type: "s", Bytes: []byte("value " + id)}},
				NewVersions: map[string]json.RawMessage{"c": json.RawMessage(id)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		x := &saved{T: t, s: s}
		x.sql(`UPDATE thread_values SET bytes = $1 WHERE bytes = $2`, []byte("another"), []byte("value 2"))
		s.recent = recent{} // as after a restart: until then it remembers
		all, err := s.Saver().List(t.Context(), thread.Query{Thread: new("t"), MaxBytes: 1 << 20})
		if err != nil || len(all) != 3 {
			t.Fatalf("list = %d checkpoints, %v; want 3", len(all), err)
		}
		for i, id := range []string{"3", "2", "1"} {
			lost := id == "2"
			if got := all[i]; got.ID != id || (got.Damaged != "") != lost || (len(got.Values) == 0) != lost {
				t.Errorf("checkpoint %s is listed as %+v", id, got)
			}
			_, err := s.Saver().GetTuple(t.Context(), thread.Ref{Thread: "t", Checkpoint: id})
			if want := map[bool]ktrdr.Code{true: ktrdr.CodeCorrupt}[lost]; ktrdr.CodeOf(err) != want {
				t.Errorf("get %s: %v, want code %q", id, err, want)
			}
		}
	})
}
