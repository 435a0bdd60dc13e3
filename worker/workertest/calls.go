package workertest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Register admits a worker.
func (b *FakeBackend) Register(_ context.Context, r ktrdr.Registration) (ktrdr.Registered, error) {
	var answer ktrdr.Registered
	err := b.carry(Call{Name: "Register", Worker: r.Worker.ID, Arg: r}, func() error {
		b.workers[r.Worker.ID] = r.Worker
		answer.HeartbeatSeconds = cmp.Or(b.Every, time.Second).Seconds()
		answer.CheckpointSeconds = b.SaveEvery.Seconds()
		answer.Orders = b.report(r.Running, true)
		answer.Lost = append(answer.Lost, b.report(r.Finished, true).Lost...)
		return nil
	})
	return answer, err
}

// report refreshes claims and answers what is cancelled or lost.
func (b *FakeBackend) report(running []ktrdr.Claimed, write bool) ktrdr.Orders {
	var o ktrdr.Orders
	for _, c := range running {
		op := b.ops[c.Operation]
		switch {
		case op == nil || op.Epoch != c.Epoch || !op.Status.Live():
			o.Lost = append(o.Lost, c)
			continue
		case op.CancelRequested:
			o.Cancel = append(o.Cancel, c)
		}
		if write {
			_ = b.step(op, ktrdr.Act{Input: ktrdr.Report, Epoch: c.Epoch, Step: c.Step}) // live, as was just seen
		}
	}
	return o
}

// Heartbeat refreshes a worker's claims.
func (b *FakeBackend) Heartbeat(_ context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	var o ktrdr.Orders
	err := b.carry(Call{Name: "Heartbeat", Worker: h.Worker, Arg: h}, func() error {
		if _, ok := b.workers[h.Worker]; !ok {
			return ktrdr.Errorf(ktrdr.CodeNotFound, "no worker %s", h.Worker)
		}
		o = b.report(h.Running, true)
		return nil
	})
	return o, err
}

// Claim hands out the oldest PENDING operation, waiting for one.
func (b *FakeBackend) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	over := time.NewTimer(time.Duration(c.Wait * float64(time.Second)))
	defer over.Stop()
	for {
		var reply ktrdr.ClaimReply
		var changed chan struct{}
		err := b.carry(Call{Name: "Claim", Worker: c.Worker, Arg: c}, func() error {
			changed = b.changed
			if _, ok := b.workers[c.Worker]; !ok {
				return ktrdr.Errorf(ktrdr.CodeNotFound, "no worker %s", c.Worker)
			}
			if c.Free > 0 {
				reply.Task = b.next(c.Key)
			}
			reply.Orders = b.report(c.Running, false)
			return nil
		})
		if err != nil || reply.Task != nil || !reply.Orders.Empty() {
			return reply, err
		}
		select {
		case <-changed:
		case <-over.C:
			return reply, nil
		case <-ctx.Done():
			return reply, ctx.Err()
		}
	}
}

func (b *FakeBackend) next(key string) *ktrdr.Task {
	if c, ok := b.keys[key]; ok {
		if op := b.ops[c.Operation]; op.Epoch == c.Epoch && op.Status.Live() {
			return b.task(op)
		}
	}
	for _, id := range b.order {
		op := b.ops[id]
		if op.Status == ktrdr.Pending && !time.Now().Before(op.NotBefore) && b.step(op, ktrdr.Act{Input: ktrdr.Claim}) == nil {
			op.NotBefore = time.Time{}
			b.keys[key] = ktrdr.Claimed{Operation: id, Epoch: op.Epoch}
			return b.task(op)
		}
	}
	return nil
}

func (b *FakeBackend) task(op *ktrdr.Operation) *ktrdr.Task {
	return &ktrdr.Task{
		Operation: op.ID, Type: op.Type, Epoch: op.Epoch, Attempts: op.Attempts, Spec: op.Spec,
		Checkpoint: b.newest(op.ID), Cancel: op.CancelRequested, Inject: b.Inject, InChild: op.BackendDied,
	}
}

func (b *FakeBackend) newest(id ktrdr.OperationID) *ktrdr.StoredCheckpoint {
	h := b.history[id]
	if len(h) == 0 {
		return nil
	}
	c := h[len(h)-1]
	if b.StateBlobs {
		hash := ktrdr.Hash(sha256.Sum256(c.State))
		b.blobs[hash] = c.State
		c.StateBlob, c.State = &ktrdr.Artifact{Name: "state", SHA256: hash, Size: int64(len(c.State))}, nil
	}
	return &c
}

// Progress overwrites an operation's progress.
func (b *FakeBackend) Progress(_ context.Context, p ktrdr.ProgressReport) error {
	return b.carry(Call{Name: "Progress", Operation: p.Operation, Epoch: p.Epoch, Arg: p}, func() error {
		op := b.ops[p.Operation]
		if err := b.step(op, ktrdr.Act{Input: ktrdr.Save, Epoch: p.Epoch, Step: p.Progress.StepsCompleted}); err != nil {
			return err
		}
		op.Progress = p.Progress
		return nil
	})
}

// Checkpoint stores one; the same again stores nothing more.
func (b *FakeBackend) Checkpoint(_ context.Context, c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	var info ktrdr.CheckpointInfo
	err := b.carry(Call{Name: "Checkpoint", Operation: c.Operation, Epoch: c.Epoch, Arg: c}, func() (err error) {
		info, err = b.store(c)
		return err
	})
	return info, err
}

func (b *FakeBackend) store(c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	info := ktrdr.CheckpointInfo{ID: ktrdr.CheckpointID(c.Epoch, c.Seq), Type: c.Type, Epoch: c.Epoch, Seq: c.Seq, Step: c.Step}
	for _, have := range b.history[c.Operation] {
		if have.ID == info.ID {
			return have.CheckpointInfo, nil
		}
	}
	if err := b.step(b.ops[c.Operation], ktrdr.Act{Input: ktrdr.Save, Epoch: c.Epoch, Step: c.Step}); err != nil {
		return info, err
	}
	for _, a := range c.Artifacts {
		if _, ok := b.blobs[a.SHA256]; !ok {
			return info, ktrdr.Errorf(ktrdr.CodeConflict, "blob %s is not there", a.SHA256)
		}
	}
	b.history[c.Operation] = append(b.history[c.Operation], ktrdr.StoredCheckpoint{Checkpoint: ktrdr.Checkpoint{
		CheckpointInfo: info, Operation: c.Operation, Fingerprint: c.Fingerprint, State: c.State, Artifacts: c.Artifacts,
	}})
	return info, nil
}

// SkipCheckpoint forgets the newest checkpoint and returns the one before it.
func (b *FakeBackend) SkipCheckpoint(_ context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	var before *ktrdr.StoredCheckpoint
	err := b.carry(Call{Name: "SkipCheckpoint", Operation: s.Operation, Epoch: s.Epoch, Arg: s}, func() error {
		if err := b.step(b.ops[s.Operation], ktrdr.Act{Input: ktrdr.Save, Epoch: s.Epoch}); err != nil {
			return err
		}
		if h := b.history[s.Operation]; len(h) > 0 && h[len(h)-1].ID == s.Checkpoint {
			b.history[s.Operation] = h[:len(h)-1]
		}
		before = b.newest(s.Operation)
		return nil
	})
	return before, err
}

// Finish ends an operation; the same again is answered as the first was.
func (b *FakeBackend) Finish(_ context.Context, f ktrdr.Finished) error {
	return b.carry(Call{Name: "Finish", Operation: f.Operation, Epoch: f.Epoch, Arg: f}, func() error {
		key := ktrdr.Claimed{Operation: f.Operation, Epoch: f.Epoch}
		if b.ended[key] {
			return nil
		}
		if f.Checkpoint != nil {
			if _, err := b.store(*f.Checkpoint); err != nil {
				return err
			}
		}
		op := b.ops[f.Operation]
		if err := b.step(op, ktrdr.Act{Input: ktrdr.Finish, Epoch: f.Epoch, Outcome: f.Outcome}); err != nil {
			return err
		}
		op.Result, op.ErrorMessage, op.Error = f.Result, f.ErrorMessage, f.Error
		if f.Progress != nil {
			op.Progress = *f.Progress
		}
		b.ended[key] = true
		return nil
	})
}

// Release gives an operation back.
func (b *FakeBackend) Release(_ context.Context, r ktrdr.Released) error {
	return b.carry(Call{Name: "Release", Operation: r.Operation, Epoch: r.Epoch, Arg: r}, func() error {
		op := b.ops[r.Operation]
		input := ktrdr.Release
		if r.ChildDied {
			input = ktrdr.LoseChild
		}
		err := b.step(op, ktrdr.Act{Input: input, Epoch: r.Epoch})
		if err == nil && r.AfterSeconds > 0 {
			op.NotBefore = time.Now().Add(time.Duration(r.AfterSeconds * float64(time.Second)))
		}
		return err
	})
}

// Unregister forgets a worker.
func (b *FakeBackend) Unregister(_ context.Context, id ktrdr.WorkerID) error {
	return b.carry(Call{Name: "Unregister", Worker: id}, func() error {
		delete(b.workers, id)
		return nil
	})
}
