package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

var retention = map[string]func(*lab){
	"DeleteCheckpointsWantsAnEndedOperation": func(l *lab) {
		task := l.running()
		l.save(task, 1, 1)
		l.save(task, 2, 2)
		_, err := l.DeleteCheckpoints(l.ctx(), task.Operation)
		l.refused(err, ktrdr.CodeConflict)
		l.finish(task, ktrdr.Failed)
		n, err := l.DeleteCheckpoints(l.ctx(), task.Operation)
		l.must(err)
		same(l, "deleted", n, 2)
		if op := l.op(task.Operation); op.Checkpoint != nil {
			l.Errorf("the operation still shows %+v", op.Checkpoint)
		}
		_, err = l.DeleteCheckpoints(l.ctx(), task.Operation)
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.DeleteCheckpoints(l.ctx(), "op_dummy_nobody")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"StatsSumCheckpointsUp": func(l *lab) {
		empty, err := l.CheckpointStats(l.ctx())
		l.must(err)
		same(l, "of nothing", empty, ktrdr.CheckpointStats{})
		task := l.running()
		first, second := l.save(task, 1, 1), l.save(task, 2, 2)
		got, err := l.CheckpointStats(l.ctx())
		l.must(err)
		same(l, "of two", got, ktrdr.CheckpointStats{Total: 2, Bytes: first.Size + second.Size, Oldest: first.CreatedAt})
	},

	"ExpireKeepsTheNewestTwoOfALiveOperation": func(l *lab) {
		task := l.running()
		for seq := range int64(5) {
			l.save(task, seq+1, seq)
		}
		same(l, "left", l.expire(task.Operation, 2), []string{ktrdr.CheckpointID(1, 5), ktrdr.CheckpointID(1, 4)})
	},

	"ExpireKeepsTheFinalOne": func(l *lab) {
		task := l.running()
		l.save(task, 1, 1)
		final := checkpoint(task, 2, 2)
		final.Type = ktrdr.CheckpointFinal
		f := ending(task, ktrdr.Completed)
		f.Checkpoint = &final
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		same(l, "left", l.expire(task.Operation, 1), []string{ktrdr.CheckpointID(1, 2)})
	},

	"ExpireKeepsWhatIsYoung": func(l *lab) {
		op := l.failed()
		n, err := l.ExpireCheckpoints(l.ctx(), time.Hour)
		l.must(err)
		same(l, "expired", n, 0)
		if now := l.op(op.ID); now.Checkpoint == nil {
			l.Error("the young checkpoint is gone")
		}
	},

	"ExpireGoesInBoundedSteps": func(l *lab) {
		const total = 620
		task := l.running()
		each(total, 8, func(i int) {
			if _, err := l.SaveCheckpoint(l.ctx(), checkpoint(task, int64(i+1), int64(i)), nil); err != nil {
				l.Error(err)
			}
		})
		l.finish(task, ktrdr.Failed)
		deleted := 0
		l.eventually("all are expired", func() bool {
			n, err := l.ExpireCheckpoints(l.ctx(), 0)
			l.must(err)
			if n > 500 {
				l.Errorf("expired %d at once, want at most 500", n)
			}
			deleted += n
			return deleted >= total
		})
	},

	"ExpireTouchesForeignThreadsOnlyByTheirTTL": func(l *lab) {
		put := func(threadID string, ttl float64) {
			_, err := l.Saver().Put(l.ctx(), thread.Put{
				Thread: threadID, TTLSeconds: ttl, Metadata: json.RawMessage(`{}`),
				Checkpoint: json.RawMessage(`{"v":4,"id":"1","ts":"2026-01-01T00:00:00Z","channel_versions":{},"versions_seen":{}}`),
			})
			l.must(err)
		}
		put("kept", 0)
		put("young", 3600)
		put("expired", 0.001)
		has := func(threadID string) bool {
			_, err := l.Saver().GetTuple(l.ctx(), thread.Ref{Thread: threadID})
			if err != nil {
				l.refused(err, ktrdr.CodeNotFound)
			}
			return err == nil
		}
		l.eventually("the thread expires", func() bool {
			_, err := l.ExpireCheckpoints(l.ctx(), 0)
			l.must(err)
			return !has("expired")
		})
		if !has("kept") || !has("young") {
			l.Error("a thread without a time to live expired")
		}
	},

	"ABlobIsGivenToWorkersWhileOneRunsWhatNamesIt": func(l *lab) {
		input, saved, state, inside := ktrdr.Hash{1}, ktrdr.Hash{2}, ktrdr.Hash{3}, ktrdr.Hash{4}
		naming := func(h ktrdr.Hash) ktrdr.NewOperation {
			return ktrdr.NewOperation{Spec: json.RawMessage(fmt.Sprintf(`{"bars":{"name":"x","sha256":"%s","size":1}}`, h))}
		}
		given := func(when string, want ...bool) {
			l.Helper()
			for i, h := range []ktrdr.Hash{input, saved, state, inside} {
				got, err := l.BlobGiven(l.ctx(), h)
				l.must(err)
				same(l, fmt.Sprintf("%s, blob %d is given", when, i+1), got, want[i])
			}
		}
		l.create(naming(inside))
		l.claimLocal("i1")
		l.create(naming(input))
		given("before the claim", false, false, false, false)
		task := l.claim("w")
		given("after the claim", true, false, false, false)
		n := checkpoint(task, 1, 1)
		n.Artifacts = []ktrdr.Artifact{{Name: "a", SHA256: saved, Size: 1}}
		_, err := l.SaveCheckpoint(l.ctx(), n, nil)
		l.must(err)
		n = checkpoint(task, 2, 2)
		n.State = nil
		_, err = l.SaveCheckpoint(l.ctx(), n, &ktrdr.Artifact{Name: "state", SHA256: state, Size: ktrdr.InlineState + 1})
		l.must(err)
		given("with two checkpoints", true, true, true, false)
		l.finish(task, ktrdr.Failed)
		given("after the end", false, false, false, false)
	},

	"BlobRefsNameEveryBlobThatARowNames": func(l *lab) {
		task := l.running()
		n := checkpoint(task, 1, 1)
		n.Artifacts = []ktrdr.Artifact{{Name: "a", SHA256: ktrdr.Hash{1}, Size: 1}, {Name: "b", SHA256: ktrdr.Hash{2}, Size: 2}}
		_, err := l.SaveCheckpoint(l.ctx(), n, nil)
		l.must(err)
		n = checkpoint(task, 2, 2)
		n.State = nil
		_, err = l.SaveCheckpoint(l.ctx(), n, &ktrdr.Artifact{Name: "state", SHA256: ktrdr.Hash{3}, Size: ktrdr.InlineState + 1})
		l.must(err)
		var got []string
		for ref, err := range l.BlobRefs(l.ctx()) {
			l.must(err)
			got = append(got, fmt.Sprintf("%s %s %d %d", ref.Operation, ref.Checkpoint, ref.SHA256[0], ref.Size))
		}
		id := string(task.Operation)
		sameSet(l, "references", got,
			id+" "+ktrdr.CheckpointID(1, 1)+" 1 1", id+" "+ktrdr.CheckpointID(1, 1)+" 2 2",
			fmt.Sprintf("%s %s 3 %d", id, ktrdr.CheckpointID(1, 2), ktrdr.InlineState+1))
		for range l.BlobRefs(l.ctx()) {
			break // a reader may stop early
		}
	},
}

// expire expires all it may and returns what is left, newest first.
func (l *lab) expire(op ktrdr.OperationID, want int) []string {
	l.Helper()
	var left []string
	l.eventually("the rest expires", func() bool {
		_, err := l.ExpireCheckpoints(l.ctx(), 0)
		l.must(err)
		history, err := l.History(l.ctx(), op)
		l.must(err)
		left = nil
		for _, info := range history {
			left = append(left, info.ID)
		}
		return len(left) <= want
	})
	_, err := l.ExpireCheckpoints(l.ctx(), 0) // nothing more goes
	l.must(err)
	history, err := l.History(l.ctx(), op)
	l.must(err)
	same(l, "left in the end", len(history), want)
	return left
}
