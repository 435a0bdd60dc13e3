package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// age makes the operation's checkpoints a day older.
func (x *saved) age() {
	x.Helper()
	x.sql(`UPDATE checkpoints SET put_at = put_at - 86400000000 WHERE thread_id = $1`, x.op)
}

func expires(t *testing.T, s *Store, want int) {
	t.Helper()
	if n, err := s.ExpireCheckpoints(t.Context(), time.Hour); err != nil || n != want {
		t.Errorf("expired %d, %v; want %d", n, err, want)
	}
}

func TestExpire_LeavesTheNewestTwoOfAnOperationThatHasNotEnded(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x, young := running(t, s), running(t, s)
		for seq := range int64(5) {
			x.save(1, seq)
			young.save(1, seq)
		}
		x.age()
		expires(t, s, 3)
		x.history(id(1, 4), id(1, 3))
		x.newest(id(1, 4))
		young.history(id(1, 4), id(1, 3), id(1, 2), id(1, 1), id(1, 0))
		expires(t, s, 0)

		if err := s.SkipCheckpoint(t.Context(), ktrdr.Skip{Operation: x.op, Epoch: 1, Checkpoint: id(1, 4)}); err != nil {
			t.Fatal(err)
		}
		x.save(1, 5)
		x.age()
		expires(t, s, 0) // two that can be used, and the one that was skipped between them
		x.save(1, 6)
		x.age()
		expires(t, s, 2)
		x.history(id(1, 6), id(1, 5))
		x.release(1)
		expires(t, s, 0)
		x.newest(id(1, 6))
	})
}

func TestExpire_EndedOperationKeepsOnlyItsFinalCheckpoint(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		done, failed := running(t, s), running(t, s)
		done.save(1, 1)
		failed.save(1, 1)
		last := done.checkpoint(1, 2)
		last.Type = ktrdr.CheckpointFinal
		if _, err := s.Finish(t.Context(), ktrdr.Finished{
			Operation: done.op, Epoch: 1, Outcome: ktrdr.Completed, Checkpoint: &last,
		}); err != nil {
			t.Fatal(err)
		}
		failed.finish(1, ktrdr.Failed)
		done.age()
		failed.age()
		expires(t, s, 2)
		done.newest(id(1, 2))
		failed.newest("")
		_, err := s.Resume(t.Context(), failed.op)
		failed.refused(err, ktrdr.CodeNoCheckpoint)
		if !strings.Contains(err.Error(), "expired") {
			t.Errorf("resume says %q, want it to say that they expired", err)
		}
	})
}

func TestExpire_IsBounded(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.plant(700, nil)
		expires(t, s, 500)
		expires(t, s, 198)
		expires(t, s, 0)
		x.history(id(1, 699), id(1, 698))
	})
}

func putFor(t *testing.T, s *Store, threadID, checkpoint, value string, ttl time.Duration) {
	t.Helper()
	if _, err := s.Saver().Put(t.Context(), threadPut(threadID, checkpoint, value, ttl)); err != nil {
		t.Fatal(err)
	}
}

func threadPut(threadID, checkpoint, value string, ttl time.Duration) thread.Put {
	return thread.Put{
		Thread: threadID, Checkpoint: json.RawMessage(fmt.Sprintf(`{"id":%q,"v":4,"channel_versions":{"a":%q}}`, checkpoint, checkpoint)),
		NewVersions: map[string]json.RawMessage{"a": json.RawMessage(fmt.Sprintf("%q", checkpoint))},
		Values:      map[string]thread.Value{"a": {Type: "text", Bytes: []byte(value)}}, TTLSeconds: ttl.Seconds(),
	}
}

func rowCount(t *testing.T, s *Store, table string) (n int) {
	t.Helper()
	err := s.readOne(t.Context(), func(r queryer) error {
		return r.row(t.Context(), query(`SELECT COUNT(*) FROM `+table)).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestExpire_ThreadsOnlyByTheirOwnTTL(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := &saved{T: t, s: s}
		putFor(t, s, "short", "1", "v", time.Minute)
		putFor(t, s, "short", "2", "v", time.Minute)
		putFor(t, s, "renewed", "1", "v", time.Minute)
		putFor(t, s, "kept", "1", "v", time.Minute)
		putFor(t, s, "forever", "1", "v", 0)
		expires(t, s, 0)
		x.sql(`UPDATE threads SET expires_at = expires_at - 61000000`)
		x.sql(`UPDATE checkpoints SET put_at = put_at - 86400000000`)
		putFor(t, s, "renewed", "2", "v", time.Minute)
		next := threadPut("kept", "2", "", 0) // names its parent and brings nothing new
		next.Parent, next.NewVersions, next.Values = "1", nil, nil
		next.Checkpoint = json.RawMessage(`{"id":"2","v":4,"channel_versions":{"a":"1"}}`)
		if _, err := s.Saver().Put(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if n, err := s.ExpireCheckpoints(t.Context(), time.Hour); err != nil || n == 0 {
			t.Errorf("expired %d rows, %v", n, err)
		}
		for threadID, want := range map[string]ktrdr.Code{"short": ktrdr.CodeNotFound, "renewed": "", "kept": "", "forever": ""} {
			_, err := s.Saver().GetTuple(t.Context(), thread.Ref{Thread: threadID, Checkpoint: "1"})
			if ktrdr.CodeOf(err) != want {
				t.Errorf("%s: error %v, want code %q", threadID, err, want)
			}
		}
		expires(t, s, 0)
	})
}

func TestThreads_ValuesGoWithWhatHoldsThem(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		values := func(want int) {
			t.Helper()
			if got := rowCount(t, s, "thread_values"); got != want {
				t.Errorf("%d values, want %d", got, want)
			}
		}
		threads := s.Saver()
		putFor(t, s, "t", "1", "shared", 0)
		putFor(t, s, "t", "2", "own", 0)
		putFor(t, s, "u", "1", "shared", 0)
		if err := threads.CopyThread(t.Context(), "", "t", "copy"); err != nil {
			t.Fatal(err)
		}
		values(5)
		if err := threads.DeleteThread(t.Context(), "", "t"); err != nil {
			t.Fatal(err)
		}
		values(3)
		if err := threads.Prune(t.Context(), "", []string{"copy"}, true); err != nil {
			t.Fatal(err)
		}
		values(2)
		for threadID, want := range map[string]string{"copy": "own", "u": "shared"} {
			got, err := threads.GetTuple(t.Context(), thread.Ref{Thread: threadID})
			if err != nil || string(got.Values["a"].Bytes) != want {
				t.Errorf("value %q, %v; want %s", got.Values["a"].Bytes, err, want)
			}
			if err := threads.DeleteThread(t.Context(), "", threadID); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"checkpoints", "checkpoint_writes", "threads", "thread_values"} {
			if n := rowCount(t, s, table); n != 0 {
				t.Errorf("%d rows left in %s", n, table)
			}
		}
	})
}
