package storetest

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ktrdr/ktrdr"
)

var resumes = map[string]func(*lab){
	"ResumeContinuesAFailedOperation": func(l *lab) {
		failed := l.failed()
		op, err := l.Resume(l.ctx(), failed.ID)
		l.must(err)
		if op.ID != failed.ID || op.Status != ktrdr.Pending || op.Epoch != 1 || op.Attempts != 1 ||
			!op.CompletedAt.IsZero() || op.ErrorMessage != "" || op.Error != nil || op.Result != nil || op.Checkpoint == nil {
			l.Errorf("resumed: %+v", op)
		}
		task := l.claim("w2")
		if task.Operation != failed.ID || task.Epoch != 2 || task.Checkpoint == nil || task.Checkpoint.Step != 1 {
			l.Errorf("claimed %+v", task)
		}
	},

	"ResumeContinuesACancelledOperation": func(l *lab) {
		task := l.running()
		l.save(task, 1, 1)
		l.cancel(task.Operation)
		l.finish(task, ktrdr.Cancelled)
		op, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		if op.Status != ktrdr.Pending || op.CancelRequested || op.CancelReason != "" {
			l.Errorf("resumed: %+v", op)
		}
		if next := l.claim("w"); next.Cancel {
			l.Error("the new claim has the old cancel")
		}
	},

	"OneOfManyResumesWins": func(l *lab) {
		failed := l.failed()
		var won atomic.Int64
		each(100, 100, func(int) {
			switch _, err := l.Resume(l.ctx(), failed.ID); {
			case err == nil:
				won.Add(1)
			case ktrdr.CodeOf(err) != ktrdr.CodeConflict:
				l.Errorf("got %v, want %s", err, ktrdr.CodeConflict)
			}
		})
		if won.Load() != 1 {
			l.Errorf("%d resumes won, want 1", won.Load())
		}
		l.logIsLegal()
	},

	"ResumeWithoutACheckpointSaysWhy": func(l *lab) {
		early := l.finish(l.running(), ktrdr.Failed)
		_, err := l.Resume(l.ctx(), early.ID)
		l.refused(err, ktrdr.CodeNoCheckpoint)

		deleted := l.failed()
		_, err = l.DeleteCheckpoints(l.ctx(), deleted.ID)
		l.must(err)
		_, err2 := l.Resume(l.ctx(), deleted.ID)
		l.refused(err2, ktrdr.CodeNoCheckpoint)

		expired := l.failed()
		l.eventually("the checkpoint expires", func() bool {
			n, err := l.ExpireCheckpoints(l.ctx(), 0)
			l.must(err)
			return n > 0
		})
		_, err3 := l.Resume(l.ctx(), expired.ID)
		l.refused(err3, ktrdr.CodeNoCheckpoint)

		if err == nil || err2 == nil || err3 == nil {
			return
		}
		reasons := []string{reason(err, early), reason(err2, deleted), reason(err3, expired)}
		if slices.Sort(reasons); len(slices.Compact(reasons)) != 3 {
			l.Errorf("the reasons do not differ: %q", reasons)
		}
		l.is(early.ID, ktrdr.Failed)
	},

	"ResumeOfWhatIsNotStoppedIsAConflict": func(l *lab) {
		pending := l.create(ktrdr.NewOperation{})
		_, err := l.Resume(l.ctx(), pending.ID)
		l.refused(err, ktrdr.CodeConflict)
		task := l.claim("w")
		l.save(task, 1, 1)
		_, err = l.Resume(l.ctx(), task.Operation)
		l.refused(err, ktrdr.CodeConflict)
		done := l.finish(task, ktrdr.Completed)
		_, err = l.Resume(l.ctx(), task.Operation)
		l.refused(err, ktrdr.CodeConflict)
		same(l, "the operation", l.op(task.Operation), done)
		_, err = l.Resume(l.ctx(), "op_dummy_nobody")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"ResumeUnderACancelledParentIsRefused": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true})
		ended, live := l.claim("w"), l.claim("w")
		l.save(ended, 1, 1)
		l.finish(ended, ktrdr.Failed)
		l.cancel(top.ID)
		_, err := l.Resume(l.ctx(), ended.Operation) // the parent is being cancelled
		l.refused(err, ktrdr.CodeConflict)
		l.finish(live, ktrdr.Cancelled)
		l.is(top.ID, ktrdr.Cancelled)
		_, err = l.Resume(l.ctx(), ended.Operation)
		l.refused(err, ktrdr.CodeConflict)
		if err != nil && !strings.Contains(err.Error(), string(top.ID)) {
			l.Errorf("the refusal does not name the parent to resume: %v", err)
		}
	},

	"ResumeKeepsTheLosses": func(l *lab) {
		task := l.lossesOf(2)
		if op := l.op(task.Operation); op.Losses != 2 {
			l.Errorf("losses %d, want 2", op.Losses)
		}
	},
}

// reason is a refusal's sentence without the name of its operation.
func reason(err error, op ktrdr.Operation) string {
	return strings.ReplaceAll(err.Error(), string(op.ID), "it")
}
