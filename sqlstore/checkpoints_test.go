package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
)

// saved is an operation under test and the worker that holds it.
type saved struct {
	*testing.T
	s  *Store
	op ktrdr.OperationID
}

// running creates an operation and claims it.
func running(t *testing.T, s *Store) *saved {
	t.Helper()
	op, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy, Spec: json.RawMessage(`{}`)}, ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	x := &saved{t, s, op.ID}
	x.claim(1)
	return x
}

func (x *saved) claim(want ktrdr.Epoch) *ktrdr.Task {
	x.Helper()
	task, err := x.s.Claim(x.Context(), ktrdr.ClaimRequest{
		Worker: "w-1", Key: fmt.Sprint("key of ", x.op, want), Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1,
	}, "")
	if err != nil || task == nil || task.Operation != x.op || task.Epoch != want {
		x.Fatalf("claim = %+v, %v; want %s at epoch %d", task, err, x.op, want)
	}
	return task
}

func (x *saved) finish(epoch ktrdr.Epoch, outcome ktrdr.Status) {
	x.Helper()
	if _, err := x.s.Finish(x.Context(), ktrdr.Finished{Operation: x.op, Epoch: epoch, Outcome: outcome}); err != nil {
		x.Fatal(err)
	}
}

func (x *saved) release(epoch ktrdr.Epoch) {
	x.Helper()
	if err := x.s.Release(x.Context(), ktrdr.Released{Operation: x.op, Epoch: epoch, Reason: "test"}); err != nil {
		x.Fatal(err)
	}
}

func (x *saved) checkpoint(epoch ktrdr.Epoch, seq int64) ktrdr.NewCheckpoint {
	return ktrdr.NewCheckpoint{
		Operation: x.op, Epoch: epoch, Seq: seq, Type: ktrdr.CheckpointPeriodic, Step: seq * 10,
		Fingerprint: map[string]string{"strategy": "abc", "data": "def"},
		State:       json.RawMessage(fmt.Sprintf(`{"seq": %d}`, seq)),
		Artifacts:   []ktrdr.Artifact{{Name: "weights", SHA256: sha256.Sum256([]byte(fmt.Sprint(seq))), Size: 100}},
	}
}

// save stores a checkpoint that must be accepted.
func (x *saved) save(epoch ktrdr.Epoch, seq int64) ktrdr.CheckpointInfo {
	x.Helper()
	info, err := x.s.SaveCheckpoint(x.Context(), x.checkpoint(epoch, seq), nil)
	if err != nil {
		x.Fatalf("save %d: %v", seq, err)
	}
	return info
}

func (x *saved) newest(want string) {
	x.Helper()
	op, err := x.s.Operation(x.Context(), x.op)
	if err != nil {
		x.Fatal(err)
	}
	var named string
	if op.Checkpoint != nil {
		named = op.Checkpoint.ID
	}
	c, err := x.s.Checkpoint(x.Context(), x.op, "")
	if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		x.Fatal(err)
	}
	if c.ID != want || named != want {
		x.Errorf("newest checkpoint is %q, the operation names %q; want %q", c.ID, named, want)
	}
}

func (x *saved) history(want ...string) {
	x.Helper()
	all, err := x.s.History(x.Context(), x.op)
	if err != nil {
		x.Fatal(err)
	}
	var got []string
	for _, i := range all {
		got = append(got, i.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		x.Errorf("history (-want +got):\n%s", diff)
	}
}

func (x *saved) refused(err error, want ktrdr.Code) {
	x.Helper()
	if got := ktrdr.CodeOf(err); got != want {
		x.Errorf("error %v has code %q, want %q", err, got, want)
	}
}

// events counts the operation's events of a kind.
func (x *saved) events(kind ktrdr.EventKind, want int) {
	x.Helper()
	var n int
	err := x.s.readOne(x.Context(), func(r queryer) error {
		return r.row(x.Context(), `SELECT COUNT(*) FROM events WHERE operation_id = $1 AND kind = $2`, x.op, kind).Scan(&n)
	})
	if err != nil || n != want {
		x.Errorf("%d events %s, %v; want %d", n, kind, err, want)
	}
}

func (x *saved) sql(text query, args ...any) {
	x.Helper()
	err := x.s.write(x.Context(), normal, func(t *tx) error {
		_, err := t.exec(x.Context(), text, args...)
		return err
	})
	if err != nil {
		x.Fatal(err)
	}
}

// plant stores many old checkpoints at once.
func (x *saved) plant(n int64, artifacts func(seq int64) []ktrdr.Artifact) {
	x.Helper()
	all := make([]string, n)
	for seq := range n {
		all[seq] = "[]"
		if artifacts != nil {
			text, err := marshal(artifacts(seq))
			if err != nil {
				x.Fatal(err)
			}
			all[seq] = text
		}
	}
	err := x.s.write(x.Context(), normal, func(t *tx) error {
		for seq, text := range all {
			_, err := t.exec(x.Context(), `INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type, epoch, seq, step, size,
				artifacts)
				VALUES ('', $1, '', $2, 1, 'periodic', 1, $3, 0, 0, $4)`, x.op, id(1, int64(seq)), seq, text)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		x.Fatal(err)
	}
}

func id(epoch ktrdr.Epoch, seq int64) string { return ktrdr.CheckpointID(epoch, seq) }

func TestCheckpoint_ComesBackAsItWasSaved(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.save(1, 1)
		info := x.save(1, 2)
		got, err := s.Checkpoint(t.Context(), x.op, "")
		if err != nil {
			t.Fatal(err)
		}
		c := x.checkpoint(1, 2)
		want := ktrdr.StoredCheckpoint{Checkpoint: ktrdr.Checkpoint{
			CheckpointInfo: info, Operation: x.op, Parent: id(1, 1), Fingerprint: c.Fingerprint, State: c.State, Artifacts: c.Artifacts,
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("newest (-want +got):\n%s", diff)
		}
		if info.Size != int64(len(c.State))+100 || info.CreatedAt.IsZero() {
			t.Errorf("info = %+v", info)
		}
		op, err := s.Operation(t.Context(), x.op)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&info, op.Checkpoint); diff != "" {
			t.Errorf("checkpoint of the operation (-want +got):\n%s", diff)
		}
		if op.MaxStep != 20 {
			t.Errorf("max step %d, want 20", op.MaxStep)
		}
		x.history(id(1, 2), id(1, 1))
		x.events(ktrdr.EventCheckpoint, 2)
		_, err = s.Checkpoint(t.Context(), x.op, "unknown")
		x.refused(err, ktrdr.CodeNotFound)
		_, err = s.History(t.Context(), "op_dummy_unknown")
		x.refused(err, ktrdr.CodeNotFound)
	})
}

func TestCheckpoint_SavedAgainIsAnsweredAsBefore(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		first := x.save(1, 1)
		x.save(1, 2)
		again := func() {
			t.Helper()
			if got := x.save(1, 1); got != first {
				t.Errorf("again = %+v, want %+v", got, first)
			}
		}
		again()
		other := x.checkpoint(1, 1)
		other.State = json.RawMessage(`{"other":true}`)
		_, err := s.SaveCheckpoint(t.Context(), other, nil)
		x.refused(err, ktrdr.CodeKeyReused)

		x.release(1)
		x.claim(2)
		again() // the epoch is gone, but it was stored while it lived
		x.events(ktrdr.EventWriteRefused, 0)
		_, err = s.SaveCheckpoint(t.Context(), x.checkpoint(1, 3), nil)
		x.refused(err, ktrdr.CodeStaleEpoch)
		x.events(ktrdr.EventWriteRefused, 1)
		x.history(id(1, 2), id(1, 1))
		x.events(ktrdr.EventCheckpoint, 2)
	})
}

func TestCheckpoint_LateOneIsNotTheNewest(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.save(1, 1)
		x.save(1, 3)
		x.save(1, 2)
		x.newest(id(1, 3))
		x.history(id(1, 3), id(1, 2), id(1, 1))
		x.release(1)
		x.claim(2)
		x.save(2, 0)
		x.newest(id(2, 0))
		c, err := s.Checkpoint(t.Context(), x.op, "")
		if err != nil || c.Parent != id(1, 3) {
			t.Errorf("parent %q, %v; want %q", c.Parent, err, id(1, 3))
		}
	})
}

func TestCheckpoint_LargeStateIsABlob(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		c := x.checkpoint(1, 1)
		c.State = json.RawMessage(`"` + strings.Repeat("x", ktrdr.InlineState) + `"`)
		_, err := s.SaveCheckpoint(t.Context(), c, nil)
		x.refused(err, ktrdr.CodeTooLarge)

		blob := &ktrdr.Artifact{Name: "state", SHA256: sha256.Sum256(c.State), Size: int64(len(c.State))}
		c.State = nil
		info, err := s.SaveCheckpoint(t.Context(), c, blob)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size != blob.Size+100 {
			t.Errorf("size %d, want %d", info.Size, blob.Size+100)
		}
		got, err := s.Checkpoint(t.Context(), x.op, info.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(blob, got.StateBlob); diff != "" || got.State != nil {
			t.Errorf("state %s, blob (-want +got):\n%s", got.State, diff)
		}
		if again, err := s.SaveCheckpoint(t.Context(), c, blob); err != nil || again != info {
			t.Errorf("again = %+v, %v; want %+v", again, err, info)
		}
		blob.Size = ktrdr.MaxState + 1
		c.Seq = 2
		_, err = s.SaveCheckpoint(t.Context(), c, blob)
		x.refused(err, ktrdr.CodeTooLarge)
	})
}

func TestCheckpoint_FinishMayBringAStateTooLargeForARow(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		c := x.checkpoint(1, 9)
		c.Type = ktrdr.CheckpointFinal
		c.State = json.RawMessage(`"` + strings.Repeat("x", 2*ktrdr.InlineState) + `"`)
		_, err := s.Finish(t.Context(), ktrdr.Finished{Operation: x.op, Epoch: 1, Outcome: ktrdr.Completed, Checkpoint: &c})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Checkpoint(t.Context(), x.op, "")
		if err != nil || !bytes.Equal(got.State, c.State) {
			t.Errorf("state of %d bytes, %v; want %d", len(got.State), err, len(c.State))
		}
	})
}

func TestCheckpoint_BadOnesAreRefusedAndChangeNothing(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		for name, change := range map[string]func(c *ktrdr.NewCheckpoint) ktrdr.Code{
			"unknown operation": func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Operation = "op_dummy_nobody"; return ktrdr.CodeNotFound },
			"bad operation":     func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Operation = "../x"; return ktrdr.CodeNotFound },
			"epoch 0":           func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Epoch = 0; return ktrdr.CodeInvalid },
			"newer epoch":       func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Epoch = 2; return ktrdr.CodeStaleEpoch },
			"negative seq":      func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Seq = -1; return ktrdr.CodeInvalid },
			"seq of 11 digits":  func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Seq = 10_000_000_000; return ktrdr.CodeInvalid },
			"unknown type":      func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Type = "whim"; return ktrdr.CodeInvalid },
			"broken state":      func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.State = json.RawMessage(`{`); return ktrdr.CodeInvalid },
			"state not UTF-8": func(c *ktrdr.NewCheckpoint) ktrdr.Code {
				c.State = json.RawMessage("\"\xff\"")
				return ktrdr.CodeInvalid
			},
			"nameless artifact": func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Artifacts[0].Name = ""; return ktrdr.CodeInvalid },
			"NUL in a name":     func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Artifacts[0].Name = "\x00"; return ktrdr.CodeInvalid },
			"negative size":     func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Artifacts[0].Size = -1; return ktrdr.CodeInvalid },
			"bad fingerprint":   func(c *ktrdr.NewCheckpoint) ktrdr.Code { c.Fingerprint["x"] = "\xff"; return ktrdr.CodeInvalid },
		} {
			c := x.checkpoint(1, 1)
			want := change(&c)
			if _, err := s.SaveCheckpoint(t.Context(), c, nil); ktrdr.CodeOf(err) != want {
				t.Errorf("%s: error %v, want code %s", name, err, want)
			}
		}
		x.history()
		x.newest("")
	})
}

func TestSkip_HidesACheckpointFromAResume(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.save(1, 1)
		x.save(1, 2)
		x.save(1, 3)
		skip := func(epoch ktrdr.Epoch, checkpoint string) error {
			return s.SkipCheckpoint(t.Context(), ktrdr.Skip{Operation: x.op, Epoch: epoch, Checkpoint: checkpoint, Reason: "blob is missing"})
		}
		for range 2 { // again changes nothing
			if err := skip(1, id(1, 3)); err != nil {
				t.Fatal(err)
			}
		}
		x.newest(id(1, 2))
		x.events(ktrdr.EventCheckpointSkipped, 1)
		x.history(id(1, 3), id(1, 2), id(1, 1))
		x.save(1, 4)
		if c, err := s.Checkpoint(t.Context(), x.op, ""); err != nil || c.Parent != id(1, 2) {
			t.Errorf("parent %q, %v; want the newest that could be used, %q", c.Parent, err, id(1, 2))
		}
		x.refused(skip(1, "unknown"), ktrdr.CodeNotFound)
		x.refused(skip(2, id(1, 2)), ktrdr.CodeStaleEpoch)
		for seq := range int64(4) {
			if err := skip(1, id(1, seq+1)); err != nil {
				t.Fatal(err)
			}
		}
		x.newest("")
		x.release(1)
		if task := x.claim(2); task.Checkpoint != nil {
			t.Errorf("claimed from checkpoint %s, want from nothing", task.Checkpoint.ID)
		}
	})
}

func TestDeleteCheckpoints_OnlyOfWhatDoesNotRun(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.plant(1100, nil)
		x.save(1, 5000)
		_, err := s.DeleteCheckpoints(t.Context(), x.op)
		x.refused(err, ktrdr.CodeConflict)
		x.finish(1, ktrdr.Failed)
		if n, err := s.DeleteCheckpoints(t.Context(), x.op); err != nil || n != 1101 {
			t.Errorf("deleted %d, %v; want 1101", n, err)
		}
		x.newest("")
		x.history()
		_, err = s.DeleteCheckpoints(t.Context(), x.op)
		x.refused(err, ktrdr.CodeNotFound)
		_, err = s.DeleteCheckpoints(t.Context(), "op_dummy_nobody")
		x.refused(err, ktrdr.CodeNotFound)
		_, err = s.Resume(t.Context(), x.op)
		x.refused(err, ktrdr.CodeNoCheckpoint)
		if !strings.Contains(err.Error(), "deleted") {
			t.Errorf("resume says %q, want it to say that they were deleted", err)
		}
	})
}
