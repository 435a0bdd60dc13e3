package storetest

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
)

var finishes = map[string]func(*lab){
	"FinishCompletes": func(l *lab) {
		task := l.running()
		op := l.finish(task, ktrdr.Completed)
		if op.Status != ktrdr.Completed || string(op.Result) != `{"ok":true}` || op.ErrorMessage != "" || op.Error != nil ||
			op.CompletedAt.Before(op.StartedAt) {
			l.Errorf("finished: %+v", op)
		}
		same(l, "read back", l.op(task.Operation), op)
	},

	"FinishFailsWithTheReasonForPeopleAndForPrograms": func(l *lab) {
		task := l.running()
		f := ending(task, ktrdr.Failed)
		op := l.finish(task, ktrdr.Failed)
		if op.Status != ktrdr.Failed || op.ErrorMessage != f.ErrorMessage || op.CompletedAt.IsZero() {
			l.Errorf("finished: %+v", op)
		}
		same(l, "failure", op.Error, f.Error)
	},

	"FinishWithoutAReasonStillHasOne": func(l *lab) {
		task := l.running()
		op, err := l.Finish(l.ctx(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Failed})
		l.must(err)
		if op.ErrorMessage == "" || op.Error == nil || op.Error.Code == "" {
			l.Errorf("failed without a reason: %+v", op)
		}
	},

	"FinishMayCancelByItself": func(l *lab) {
		task := l.running()
		if op := l.finish(task, ktrdr.Cancelled); op.Status != ktrdr.Cancelled || op.Error == nil || op.Error.Code != ktrdr.CodeCancelled {
			l.Errorf("finished: %+v", op)
		}
	},

	"FinishStoresItsLastCheckpoint": func(l *lab) {
		task := l.running()
		last := checkpoint(task, 4, 40)
		last.Type = ktrdr.CheckpointFinal
		f := ending(task, ktrdr.Completed)
		f.Checkpoint = &last
		op, err := l.Finish(l.ctx(), f)
		l.must(err)
		if op.Checkpoint == nil || op.Checkpoint.ID != ktrdr.CheckpointID(1, 4) || op.Checkpoint.Type != ktrdr.CheckpointFinal {
			l.Errorf("finished with checkpoint %+v", op.Checkpoint)
		}
		_, err = l.Finish(l.ctx(), f)
		l.must(err)
		history, err := l.History(l.ctx(), task.Operation)
		l.must(err)
		if len(history) != 1 {
			l.Errorf("%d checkpoints after the same finish twice, want 1", len(history))
		}
	},

	"FinishOfWhatWasCancelledKeepsWhatCanBeResumed": func(l *lab) {
		task := l.running()
		l.save(task, 1, 10)
		_, _, err := l.Cancel(l.ctx(), task.Operation, "enough")
		l.must(err)
		last := checkpoint(task, 2, 20)
		last.Type = ktrdr.CheckpointFinal
		f := ending(task, ktrdr.Completed)
		f.Checkpoint = &last
		for range 2 { // the second answer is the first one's
			op, err := l.Finish(l.ctx(), f)
			l.must(err)
			if op.Status != ktrdr.Cancelled || op.Checkpoint == nil || op.Checkpoint.ID != ktrdr.CheckpointID(1, 1) {
				l.Errorf("%s with checkpoint %+v, want the one before the end: the last cannot be resumed from", op.Status, op.Checkpoint)
			}
		}
	},

	"FinishMayNameItsStateAsABlob": func(l *lab) {
		task := l.running()
		last := checkpoint(task, 1, 1)
		last.State, last.Type = nil, ktrdr.CheckpointFinal
		f := ending(task, ktrdr.Completed)
		f.Checkpoint = &last
		f.StateBlob = &ktrdr.Artifact{Name: "state", SHA256: ktrdr.Hash{5}, Size: ktrdr.InlineState + 1}
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		got, err := l.Checkpoint(l.ctx(), task.Operation, "")
		l.must(err)
		if got.StateBlob == nil || got.StateBlob.SHA256 != f.StateBlob.SHA256 || got.Size != f.StateBlob.Size {
			l.Errorf("stored with blob %+v", got.StateBlob)
		}
	},

	"FinishStoresItsProgress": func(l *lab) {
		task := l.running()
		f := ending(task, ktrdr.Completed)
		f.Progress = &ktrdr.Progress{Percentage: 100, CurrentStep: "done", StepsCompleted: 3, StepsTotal: 3}
		op, err := l.Finish(l.ctx(), f)
		l.must(err)
		same(l, "progress", op.Progress, *f.Progress)

		old := l.finish(l.running(), ktrdr.Failed)
		late := ending(ktrdr.Task{Operation: old.ID, Epoch: old.Epoch}, ktrdr.Failed)
		late.Progress = f.Progress
		_, _ = l.Finish(l.ctx(), late) // a repetition changes nothing
		same(l, "the operation", l.op(old.ID), old)

		task = l.running()
		bad := ending(task, ktrdr.Completed)
		bad.Progress = &ktrdr.Progress{Percentage: math.Inf(1)}
		_, err = l.Finish(l.ctx(), bad)
		l.refused(err, ktrdr.CodeInvalid)
		l.is(task.Operation, ktrdr.Running)
	},

	"TheSameFinishAgainIsAnsweredAsTheFirstWas": func(l *lab) {
		for _, outcome := range []ktrdr.Status{ktrdr.Completed, ktrdr.Failed, ktrdr.Cancelled} {
			task := l.running()
			first := l.finish(task, outcome)
			same(l, "second answer", l.finish(task, outcome), first)
		}
		l.logIsLegal()
	},

	"AnotherFinishIsRefusedAndTheFirstStands": func(l *lab) {
		for _, outcome := range []ktrdr.Status{ktrdr.Completed, ktrdr.Failed, ktrdr.Cancelled} {
			task := l.running()
			first := l.finish(task, outcome)
			for name, f := range map[string]ktrdr.Finished{
				"another outcome": ending(task, map[ktrdr.Status]ktrdr.Status{
					ktrdr.Completed: ktrdr.Failed, ktrdr.Failed: ktrdr.Cancelled,
					ktrdr.Cancelled: ktrdr.Completed,
				}[outcome]),
				"another result": {Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome, Result: json.RawMessage(`{"ok":false}`)},
				"another failure": {
					Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome,
					Error: ktrdr.NewFailure(ktrdr.CodePanic, errors.New("boom")),
				},
			} {
				_, err := l.Finish(l.ctx(), f)
				if ktrdr.CodeOf(err) != ktrdr.CodeKeyReused {
					l.Errorf("%s after %s: got %v, want %s", name, outcome, err, ktrdr.CodeKeyReused)
				}
			}
			same(l, "the operation", l.op(task.Operation), first)
		}
		l.logIsLegal()
	},

	"TheSameFinishInOtherWhiteSpaceIsTheSame": func(l *lab) {
		task := l.running()
		first := l.finish(task, ktrdr.Completed)
		f := ending(task, ktrdr.Completed)
		f.Result = json.RawMessage(" { \"ok\" : true }\n")
		again, err := l.Finish(l.ctx(), f)
		l.must(err)
		same(l, "second answer", again, first)
	},

	"AFinishWithAnotherCheckpointIsAnotherFinish": func(l *lab) {
		for _, cancelled := range []bool{false, true} {
			task := l.running()
			if cancelled {
				_, _, err := l.Cancel(l.ctx(), task.Operation, "")
				l.must(err)
			}
			with := func(seq, step int64) ktrdr.Finished {
				last := checkpoint(task, seq, step)
				f := ending(task, ktrdr.Completed)
				f.Checkpoint = &last
				return f
			}
			first, err := l.Finish(l.ctx(), with(4, 40))
			l.must(err)
			for _, other := range []ktrdr.Finished{with(5, 40), with(4, 41)} {
				_, err := l.Finish(l.ctx(), other)
				l.refused(err, ktrdr.CodeKeyReused)
			}
			again, err := l.Finish(l.ctx(), with(4, 40))
			l.must(err)
			same(l, "second answer", again, first)
			_, err = l.DeleteCheckpoints(l.ctx(), task.Operation)
			l.must(err)
			_, err = l.Finish(l.ctx(), with(4, 40))
			l.must(err)
		}
	},

	"NoResultMayBeSpelledOut": func(l *lab) {
		for _, texts := range [][2]string{{"", "null"}, {" null\n", ""}} {
			task := l.running()
			f := ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Completed, Result: json.RawMessage(texts[0])}
			first, err := l.Finish(l.ctx(), f)
			l.must(err)
			same(l, "result", string(first.Result), "")
			f.Result = json.RawMessage(texts[1])
			again, err := l.Finish(l.ctx(), f)
			l.must(err)
			same(l, "second answer", again, first)
		}
	},

	"TheFinishOfAnEndThatWasResumedIsRefused": func(l *lab) {
		op := l.failed()
		task := ktrdr.Task{Operation: op.ID, Epoch: op.Epoch}
		_, err := l.Resume(l.ctx(), op.ID)
		l.must(err)
		pending := l.op(op.ID)
		_, err = l.Finish(l.ctx(), ending(task, ktrdr.Failed))
		l.stale(err, ktrdr.Finish, pending, task.Epoch)
		same(l, "the operation", l.op(op.ID), pending)
	},

	"FinishOfAnOldEpochChangesNothing": func(l *lab) {
		old := l.running()
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: old.Operation, Epoch: old.Epoch}))
		l.claim("w2")
		before := l.op(old.Operation)
		for _, epoch := range []ktrdr.Epoch{1, 3, 0} {
			old.Epoch = epoch
			f := ending(old, ktrdr.Completed)
			last := checkpoint(old, 9, 9)
			f.Checkpoint = &last
			_, err := l.Finish(l.ctx(), f)
			l.stale(err, ktrdr.Finish, before, epoch)
		}
		same(l, "the operation", l.op(old.Operation), before)
	},

	"FinishWithoutAClaimIsRefused": func(l *lab) {
		op := l.create(ktrdr.NewOperation{})
		_, err := l.Finish(l.ctx(), ktrdr.Finished{Operation: op.ID, Epoch: 0, Outcome: ktrdr.Completed})
		l.stale(err, ktrdr.Finish, op, 0)
		_, err = l.Finish(l.ctx(), ktrdr.Finished{Operation: "op_dummy_nobody", Epoch: 1, Outcome: ktrdr.Completed})
		l.refused(err, ktrdr.CodeNotFound)
		same(l, "the operation", l.op(op.ID), op)
	},

	"FinishNeedsAnEnd": func(l *lab) {
		task := l.running()
		before := l.op(task.Operation)
		for _, outcome := range []ktrdr.Status{"", ktrdr.Pending, ktrdr.Running, "DONE"} {
			_, err := l.Finish(l.ctx(), ending(task, outcome))
			l.refused(err, ktrdr.CodeInvalid)
		}
		same(l, "the operation", l.op(task.Operation), before)
	},

	"FinishOfAReconcilingOperationIsAccepted": func(l *lab) {
		task := l.running()
		l.start("b", "i1", keep)
		if op := l.finish(task, ktrdr.Completed); op.Status != ktrdr.Completed || op.Attempts != 1 {
			l.Errorf("finished: %+v", op)
		}
	},

	"AnAcknowledgedCancelWinsOverAFinish": func(l *lab) {
		for _, outcome := range []ktrdr.Status{ktrdr.Completed, ktrdr.Failed, ktrdr.Cancelled} {
			task := l.running()
			l.cancel(task.Operation)
			op := l.finish(task, outcome)
			if op.Status != ktrdr.Cancelled || op.Result != nil || op.Error == nil || op.Error.Code != ktrdr.CodeCancelled ||
				op.ErrorMessage != "enough" {
				l.Errorf("%s became %+v", outcome, op)
			}
			same(l, "second answer", l.finish(task, outcome), op)
		}
	},

	"FinishSavesWhatItCanOfABadText": func(l *lab) {
		task := l.running()
		op, err := l.Finish(l.ctx(), ktrdr.Finished{
			Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Failed,
			ErrorMessage: "a NUL \x00 and a bad byte \xff",
			Error:        &ktrdr.Failure{Code: ktrdr.CodeFailed, Chain: []string{"NUL \x00 here"}},
		})
		l.must(err)
		if op.Status != ktrdr.Failed || !clean(op.ErrorMessage) || !strings.HasPrefix(op.ErrorMessage, "a NUL") {
			l.Errorf("finished as %s: %q", op.Status, op.ErrorMessage)
		}
	},

	"FinishRefusesAResultThatIsNotJSON": func(l *lab) {
		task := l.running()
		_, err := l.Finish(l.ctx(), ktrdr.Finished{
			Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Completed,
			Result: json.RawMessage(`{"a":`),
		})
		l.refused(err, ktrdr.CodeInvalid)
		l.is(task.Operation, ktrdr.Running)
	},
}

var releases = map[string]func(*lab){
	"ReleaseGivesTheOperationBack": func(l *lab) {
		task := l.running()
		l.save(task, 1, 3)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch, Reason: ktrdr.MessageReleased}))
		op := l.is(task.Operation, ktrdr.Pending)
		if op.Epoch != 1 || op.Attempts != 1 || op.Losses != 0 || op.MaxStep != 3 || op.Checkpoint == nil {
			l.Errorf("released: %+v", op)
		}
		if e := l.last(task.Operation, ktrdr.EventReleased); !strings.Contains(string(e.Data), ktrdr.MessageReleased) {
			l.Errorf("the event does not say why: %s", e.Data)
		}
		if next := l.claim("w2"); next.Operation != task.Operation || next.Epoch != 2 {
			l.Errorf("claimed %+v", next)
		}
	},

	"ReleaseUnderACancelEndsTheOperation": func(l *lab) {
		task := l.running()
		l.cancel(task.Operation)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		op := l.is(task.Operation, ktrdr.Cancelled)
		if op.CompletedAt.IsZero() || op.Error == nil || op.Error.Code != ktrdr.CodeCancelled {
			l.Errorf("released: %+v", op)
		}
	},

	"ReleaseOfAnOldEpochChangesNothing": func(l *lab) {
		task := l.running()
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		pending := l.op(task.Operation)
		l.stale(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}), ktrdr.Release, pending, task.Epoch)
		same(l, "the operation", l.op(task.Operation), pending)
		l.claim("w2")
		running := l.op(task.Operation)
		l.stale(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}), ktrdr.Release, running, task.Epoch)
		same(l, "the operation", l.op(task.Operation), running)
		l.refused(l.Release(l.ctx(), ktrdr.Released{Operation: "op_dummy_nobody", Epoch: 1}), ktrdr.CodeNotFound)
	},

	"ReleaseOfAReconcilingOperationGivesItBack": func(l *lab) {
		task := l.running()
		l.start("b", "i1", keep)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		l.is(task.Operation, ktrdr.Pending)
	},
}

// clean says whether a text is fit for every database.
func clean(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
