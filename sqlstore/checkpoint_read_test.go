package sqlstore

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

func TestListCheckpoints_PagesByOperation(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		want := make(map[ktrdr.OperationID]string)
		for i := range 7 {
			x := running(t, s)
			x.save(1, 1)
			if i%2 == 0 {
				x.save(1, 2)
			}
			want[x.op] = id(1, int64(2-i%2))
		}
		running(t, s) // has none
		got := make(map[ktrdr.OperationID]string)
		var q ktrdr.CheckpointQuery
		for q.Limit = 3; ; {
			page, err := s.ListCheckpoints(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page.Checkpoints {
				if _, twice := got[c.Operation]; twice || c.State != nil || len(c.Artifacts) != 1 {
					t.Errorf("checkpoint %+v came twice, or with its state, or without its artifacts", c)
				}
				got[c.Operation] = c.ID
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("newest checkpoints (-want +got):\n%s", diff)
		}
		young, err := s.ListCheckpoints(t.Context(), ktrdr.CheckpointQuery{OlderThan: 1 << 40})
		if err != nil || len(young.Checkpoints) != 0 {
			t.Errorf("%d checkpoints older than they can be, %v", len(young.Checkpoints), err)
		}
		for _, bad := range []ktrdr.CheckpointQuery{{Cursor: "nonsense"}, {Limit: -1}, {Limit: 100_000}, {OlderThan: -1}} {
			if _, err := s.ListCheckpoints(t.Context(), bad); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				t.Errorf("%+v: error %v, want code invalid", bad, err)
			}
		}
		stats, err := s.CheckpointStats(t.Context())
		if err != nil || stats.Total != 11 || stats.Bytes != 11*int64(len(`{"seq": 1}`)+100) || stats.Oldest.IsZero() {
			t.Errorf("stats = %+v, %v", stats, err)
		}
	})
}

func TestBlobRefs_NamesEveryBlobOnce(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x, y := running(t, s), running(t, s)
		want := make(map[ktrdr.BlobRef]int)
		add := func(op ktrdr.OperationID, checkpoint string, a ktrdr.Artifact) {
			want[ktrdr.BlobRef{Artifact: a, Operation: op, Checkpoint: checkpoint}]++
		}
		for seq := range int64(5) {
			c := x.checkpoint(1, seq)
			x.save(1, seq)
			add(x.op, id(1, seq), c.Artifacts[0])
		}
		y.plant(1100, func(seq int64) []ktrdr.Artifact { // more than any page
			a := ktrdr.Artifact{Name: "many", SHA256: sha256.Sum256([]byte(fmt.Sprint("many", seq))), Size: seq}
			add(y.op, id(1, seq), a)
			return []ktrdr.Artifact{a}
		})
		state := ktrdr.Artifact{Name: "state", SHA256: sha256.Sum256([]byte("state")), Size: 70_000}
		if _, err := s.SaveCheckpoint(t.Context(), ktrdr.NewCheckpoint{Operation: x.op, Epoch: 1, Seq: 9, Type: ktrdr.CheckpointPeriodic},
			&state); err != nil {
			t.Fatal(err)
		}
		add(x.op, id(1, 9), state)
		result := ktrdr.Artifact{Name: "model", SHA256: sha256.Sum256([]byte("model")), Size: 5}
		text, err := marshal(map[string]any{"best": []any{map[string]any{"model": result}}, "chain": map[string]string{"sha256": "not one"}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Finish(t.Context(), ktrdr.Finished{Operation: x.op, Epoch: 1, Outcome: ktrdr.Completed, Result: json.RawMessage(text)})
		if err != nil {
			t.Fatal(err)
		}
		add(x.op, "", result)

		got := make(map[ktrdr.BlobRef]int)
		for ref, err := range s.BlobRefs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got[ref]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("references (-want +got):\n%s", diff)
		}
		for range s.BlobRefs(t.Context()) {
			break // the caller may stop
		}
	})
}

func TestThreads_ShowOperationsCheckpoints(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.save(1, 1)
		info := x.save(1, 2)
		threads := s.Saver()
		ref := thread.Ref{Thread: string(x.op)}
		got, err := threads.GetTuple(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		ts, _ := json.Marshal(info.CreatedAt)
		want := thread.Tuple{
			Thread: string(x.op), ID: info.ID, Parent: id(1, 1),
			Checkpoint: json.RawMessage(fmt.Sprintf(`{"v":4,"id":%q,"ts":%s,"channel_versions":{"state":2},"versions_seen":{}}`, info.ID, ts)),
			Values:     map[string]thread.Value{"state": {Type: "json", Bytes: x.checkpoint(1, 2).State}},
			Metadata: json.RawMessage(
				fmt.Sprintf(
					`{"source":"loop","step":20,"checkpoint_type":"periodic","epoch":1,"seq":2,"artifacts":[{"name":"weights","sha256":"%x","size":100}]}`,
					sha256.Sum256([]byte("2")))),
			PendingWrites: []thread.PendingWrite{},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tuple (-want +got):\n%s", diff)
		}
		all, err := threads.List(t.Context(), thread.Query{Filter: map[string]json.RawMessage{"seq": json.RawMessage("1")}})
		if err != nil || len(all) != 1 || all[0].ID != id(1, 1) {
			t.Errorf("list = %+v, %v; want the first checkpoint", all, err)
		}
		h, err := threads.History(t.Context(), ref, []string{"state"})
		if err != nil || h["state"].Seed == nil || string(h["state"].Seed.Bytes) != `{"seq": 1}` {
			t.Errorf("history = %+v, %v; want the parent's state as the seed", h, err)
		}
		if err := threads.CopyThread(t.Context(), "", string(x.op), "copy"); err != nil {
			t.Fatal(err)
		}
		copied, err := threads.GetTuple(t.Context(), thread.Ref{Thread: "copy"})
		want.Thread = "copy"
		if diff := cmp.Diff(want, copied); err != nil || diff != "" {
			t.Errorf("copy, %v (-want +got):\n%s", err, diff)
		}
		x.events(ktrdr.EventCheckpoint, 2)
	})
}

func TestThreads_DamagedValueIsFound(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		threads := s.Saver()
		put := thread.Put{
			Thread: "t", Checkpoint: json.RawMessage(`{"id":"1","v":4,"channel_versions":{"a":1}}`),
			NewVersions: map[string]json.RawMessage{
				"a": json.RawMessage("1"),
			}, Values: map[string]thread.Value{"a": {Type: "json", Bytes: []byte(`"whole"`)}},
		}
		if _, err := threads.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		x := &saved{T: t, s: s}
		x.sql(`UPDATE thread_values SET bytes = $1`, []byte(`"whale"`))
		s.recent = recent{} // as after a restart: until then it remembers
		_, err := threads.GetTuple(t.Context(), thread.Ref{Thread: "t"})
		x.refused(err, ktrdr.CodeCorrupt)
		if te, ok := errors.AsType[*ktrdr.Error](err); !ok || !strings.Contains(te.Message, "hash") {
			t.Errorf("error %v does not say what is wrong", err)
		}
	})
}
