package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

var checkpoints = map[string]func(*lab){
	"SaveCheckpointStoresIt": func(l *lab) {
		task := l.running()
		n := ktrdr.NewCheckpoint{
			Operation: task.Operation, Epoch: task.Epoch, Seq: 3, Type: ktrdr.CheckpointPeriodic, Step: 30,
			Fingerprint: map[string]string{"data": "abc"},
			State:       json.RawMessage(`{"w": [1.0, 2], "é": "\u0000"}`),
			Artifacts:   []ktrdr.Artifact{{Name: "weights", SHA256: ktrdr.Hash{1, 2}, Size: 1000}},
		}
		info, err := l.SaveCheckpoint(l.ctx(), n, nil)
		l.must(err)
		if info.ID != ktrdr.CheckpointID(1, 3) || info.Type != n.Type || info.Epoch != 1 || info.Seq != 3 || info.Step != 30 ||
			info.CreatedAt.IsZero() || info.Size != int64(len(n.State))+1000 {
			l.Errorf("stored: %+v", info)
		}
		got, err := l.Checkpoint(l.ctx(), task.Operation, info.ID)
		l.must(err)
		same(l, "read back", got, ktrdr.StoredCheckpoint{Checkpoint: ktrdr.Checkpoint{
			CheckpointInfo: info, Operation: task.Operation, Fingerprint: n.Fingerprint, State: n.State, Artifacts: n.Artifacts,
		}})
		op := l.op(task.Operation)
		same(l, "the operation's", op.Checkpoint, &info)
		if op.MaxStep != 30 {
			l.Errorf("furthest step %d, want 30", op.MaxStep)
		}
		l.last(task.Operation, ktrdr.EventCheckpoint)
	},

	"TheSameCheckpointAgainIsAnsweredAsTheFirstWas": func(l *lab) {
		task := l.running()
		first := l.save(task, 1, 1)
		same(l, "second answer", l.save(task, 1, 1), first)
		l.finish(task, ktrdr.Completed)
		same(l, "answer after the end", l.save(task, 1, 1), first)
		history, err := l.History(l.ctx(), task.Operation)
		l.must(err)
		same(l, "history", history, []ktrdr.CheckpointInfo{first})
	},

	"ACheckpointOfAnOldEpochChangesNothing": func(l *lab) {
		old := l.running()
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: old.Operation, Epoch: old.Epoch}))
		l.claim("w2")
		before := l.op(old.Operation)
		_, err := l.SaveCheckpoint(l.ctx(), checkpoint(old, 9, 9), nil)
		l.stale(err, ktrdr.Save, before, old.Epoch)
		same(l, "the operation", l.op(old.Operation), before)
		_, err = l.Checkpoint(l.ctx(), old.Operation, "")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"TheNewestCheckpointIsTheGreatestByEpochAndSeq": func(l *lab) {
		task := l.running()
		l.save(task, 2, 20)
		l.save(task, 1, 10) // delivered late
		l.save(task, 10, 100)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: 1}))
		task = l.claim("w")
		if task.Checkpoint == nil || task.Checkpoint.ID != ktrdr.CheckpointID(1, 10) {
			l.Errorf("the new claim begins at %+v", task.Checkpoint)
		}
		l.save(task, 1, 101)
		newest, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		if newest.ID != ktrdr.CheckpointID(2, 1) || newest.Parent != ktrdr.CheckpointID(1, 10) {
			l.Errorf("newest: %+v", newest)
		}
		if op := l.op(task.Operation); op.Checkpoint.ID != newest.ID {
			l.Errorf("the operation shows %s, want %s", op.Checkpoint.ID, newest.ID)
		}
		history, err := l.History(l.ctx(), task.Operation)
		l.must(err)
		var ids []string
		for _, info := range history {
			ids = append(ids, info.ID)
		}
		same(l, "history", ids, []string{
			ktrdr.CheckpointID(2, 1), ktrdr.CheckpointID(1, 10), ktrdr.CheckpointID(1, 2), ktrdr.CheckpointID(1, 1),
		})
	},

	"ALargeStateIsABlob": func(l *lab) {
		task := l.running()
		n := checkpoint(task, 1, 1)
		n.State = nil
		blob := ktrdr.Artifact{Name: "state", SHA256: ktrdr.Hash{7}, Size: ktrdr.InlineState + 1}
		info, err := l.SaveCheckpoint(l.ctx(), n, &blob)
		l.must(err)
		if info.Size != blob.Size {
			l.Errorf("size %d, want %d", info.Size, blob.Size)
		}
		got, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		if got.State != nil {
			l.Errorf("state %s beside its blob", got.State)
		}
		if got.StateBlob == nil || got.StateBlob.SHA256 != blob.SHA256 || got.StateBlob.Size != blob.Size {
			l.Errorf("blob %+v, want %+v", got.StateBlob, blob)
		}
	},

	"ABadCheckpointIsRefused": func(l *lab) {
		task := l.running()
		for what, spoil := range map[string]func(*ktrdr.NewCheckpoint){
			"an unknown type":     func(c *ktrdr.NewCheckpoint) { c.Type = "hourly" },
			"a state not of JSON": func(c *ktrdr.NewCheckpoint) { c.State = json.RawMessage(`{"a":`) },
			"a state too large to stay in its row": func(c *ktrdr.NewCheckpoint) {
				c.State = json.RawMessage(`"` + strings.Repeat("x", ktrdr.InlineState) + `"`)
			},
		} {
			c := checkpoint(task, 1, 1)
			spoil(&c)
			if _, err := l.SaveCheckpoint(l.ctx(), c, nil); !slices.Contains([]ktrdr.Code{ktrdr.CodeInvalid, ktrdr.CodeTooLarge},
				ktrdr.CodeOf(err)) {
				l.Errorf("%s: got %v", what, err)
			}
		}
		_, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.SaveCheckpoint(l.ctx(), checkpoint(ktrdr.Task{Operation: "op_dummy_nobody", Epoch: 1}, 1, 1), nil)
		l.refused(err, ktrdr.CodeNotFound)
	},

	"AMissingCheckpointIsNotFound": func(l *lab) {
		task := l.running()
		for _, id := range []string{"", "rubbish", ktrdr.CheckpointID(1, 1), "\x00"} {
			_, err := l.Checkpoint(l.ctx(), task.Operation, id)
			l.refused(err, ktrdr.CodeNotFound)
		}
		_, err := l.Checkpoint(l.ctx(), "op_dummy_nobody", "")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"ListCheckpointsShowsTheNewestOfEach": func(l *lab) {
		var want []string
		var last ktrdr.Operation
		for i := range 7 {
			last = l.createAfter(last, ktrdr.NewOperation{})
			task := l.claim("w")
			l.save(task, 1, 1)
			l.save(task, 2, int64(i))
			l.finish(task, ktrdr.Failed)
			want = append(want, string(last.ID)+" "+ktrdr.CheckpointID(1, 2))
		}
		l.finish(l.running(), ktrdr.Completed) // one without
		slices.Reverse(want)
		var got []string
		q := ktrdr.CheckpointQuery{Limit: 3}
		for range 10 {
			page, err := l.ListCheckpoints(l.ctx(), q)
			l.must(err)
			for _, c := range page.Checkpoints {
				got = append(got, string(c.Operation)+" "+c.ID)
				if c.State != nil {
					l.Errorf("%s carries its state", c.Operation)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		same(l, "listed", got, want)
		page, err := l.ListCheckpoints(l.ctx(), ktrdr.CheckpointQuery{OlderThan: time.Hour})
		l.must(err)
		same(l, "older than an hour", len(page.Checkpoints), 0)
		_, err = l.ListCheckpoints(l.ctx(), ktrdr.CheckpointQuery{Cursor: "rubbish"})
		l.refused(err, ktrdr.CodeInvalid)
	},
}

var skips = map[string]func(*lab){
	"ASkippedCheckpointIsNoLongerTheNewest": func(l *lab) {
		task := l.running()
		good, bad := l.save(task, 1, 1), l.save(task, 2, 2)
		skip := ktrdr.Skip{Operation: task.Operation, Epoch: task.Epoch, Checkpoint: bad.ID, Reason: "its blob is gone"}
		l.must(l.SkipCheckpoint(l.ctx(), skip))
		newest, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		same(l, "newest", newest.CheckpointInfo, good)
		same(l, "the operation's", l.op(task.Operation).Checkpoint, &good)
		if e := l.last(task.Operation, ktrdr.EventCheckpointSkipped); !strings.Contains(string(e.Data), bad.ID) ||
			!strings.Contains(string(e.Data), skip.Reason) {
			l.Errorf("the event says %s", e.Data)
		}
		l.must(l.SkipCheckpoint(l.ctx(), skip))
		newest, err = l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		same(l, "newest after skipping it again", newest.ID, good.ID)

		skip.Checkpoint = good.ID
		l.must(l.SkipCheckpoint(l.ctx(), skip))
		_, err = l.Checkpoint(l.ctx(), task.Operation, "")
		l.refused(err, ktrdr.CodeNotFound)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		if next := l.claim("w"); next.Checkpoint != nil {
			l.Errorf("the next claim begins at %s", next.Checkpoint.ID)
		}
	},

	"ASkipNeedsTheLiveEpoch": func(l *lab) {
		task := l.running()
		info := l.save(task, 1, 1)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		l.claim("w2")
		err := l.SkipCheckpoint(l.ctx(), ktrdr.Skip{Operation: task.Operation, Epoch: task.Epoch, Checkpoint: info.ID})
		l.refused(err, ktrdr.CodeStaleEpoch)
		newest, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		same(l, "newest", newest.ID, info.ID)
	},

	"ASkipOfNothingIsNotFound": func(l *lab) {
		task := l.running()
		err := l.SkipCheckpoint(l.ctx(), ktrdr.Skip{Operation: task.Operation, Epoch: task.Epoch, Checkpoint: ktrdr.CheckpointID(1, 1)})
		l.refused(err, ktrdr.CodeNotFound)
	},

	"ACheckpointAfterASkipIsTheNewest": func(l *lab) {
		task := l.running()
		bad := l.save(task, 1, 1)
		l.must(l.SkipCheckpoint(l.ctx(), ktrdr.Skip{Operation: task.Operation, Epoch: task.Epoch, Checkpoint: bad.ID}))
		next := l.save(task, 2, 2)
		newest, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		if newest.ID != next.ID || newest.Parent == bad.ID {
			l.Errorf("newest: %+v", newest)
		}
	},
}
