package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

const (
	// pollWait is how long a claim is held open.
	pollWait = 20 * time.Second
	// listenAfter is how long a full worker waits for a slot before it opens a
	// poll that only listens: short work would end nearly every one of them.
	listenAfter = 250 * time.Millisecond
)

// poll claims operations and hears orders until ctx ends. The jobs it starts belong to life.
func (w *Worker) poll(ctx, life context.Context) {
	key := rand.Text()
	unsure := false // whether a claim may have been made whose answer we did not get
	idle := 0
	for {
		at, ok := w.link.await(ctx)
		if !ok {
			break
		}
		began := time.Now()
		reply, asked, err := w.claim(ctx, key)
		switch {
		case errors.Is(err, errSlotFree):
			continue
		case err != nil:
			unsure = unsure || asked
			if !w.connectionLost(ctx, at, err) {
				idle++
				retries(longestDelay).Wait(ctx, idle)
			}
			continue
		case reply.Task != nil:
			key, unsure = rand.Text(), false
			w.start(life, *reply.Task)
		}
		w.applyOrders(reply.Orders)
		// Orders leave nothing to wait for: there may be work beside them, and the
		// next poll does not name their claims again, obeyed or ended as they are.
		if reply.Task == nil && reply.Empty() && time.Since(began) < firstDelay {
			idle++ // answered at once with nothing to do: do not spin
			retries(longestDelay).Wait(ctx, idle)
		} else {
			idle = 0
		}
	}
	if unsure && w.link.state().up {
		w.giveBack(life, key)
	}
}

// errSlotFree interrupts a poll that only listened.
var errSlotFree = errors.New("a slot is free")

// claim asks for one operation, or only listens while every slot is taken; asked says which.
func (w *Worker) claim(ctx context.Context, key string) (reply ktrdr.ClaimReply, asked bool, err error) {
	call, cancel := context.WithTimeout(ctx, pollWait+w.cfg.CallTimeout)
	defer cancel()
	free := w.freeSlots(cancel)
	if free > 0 || backoff.Sleep(call, listenAfter) {
		reply, err = w.backend.Claim(call, ktrdr.ClaimRequest{
			Worker: w.cfg.ID, Key: key, Types: w.types, Free: free,
			Running: w.claims((*job).acceptsOrders), Wait: pollWait.Seconds(),
		})
	}
	if free == 0 && reply.Task == nil && errors.Is(call.Err(), context.Canceled) && ctx.Err() == nil {
		err = errSlotFree
	}
	return reply, free > 0, err
}

// freeSlots counts the free slots. When no slot is free, hangUp is called as soon as one is.
func (w *Worker) freeSlots(hangUp context.CancelFunc) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	free := max(0, w.cfg.Slots-len(w.jobs))
	w.hangUp = nil
	if free == 0 {
		w.hangUp = hangUp
	}
	return free
}

// giveBack releases the operation of a claim whose answer was cut off by the
// stop: asked again under the same key, the backend hands it out again. If
// there was no such claim it may be a new one, and is released all the same.
func (w *Worker) giveBack(life context.Context, key string) {
	ctx, cancel := context.WithTimeout(life, w.cfg.CallTimeout/2)
	defer cancel()
	reply, err := w.backend.Claim(ctx, ktrdr.ClaimRequest{Worker: w.cfg.ID, Key: key, Types: w.types, Free: 1})
	if err != nil || reply.Task == nil {
		return
	}
	t := reply.Task
	e := &entry{Released: &ktrdr.Released{Operation: t.Operation, Epoch: t.Epoch, Reason: messageUntouched}}
	if _, err := w.deliver(ctx, e); err != nil {
		w.log.Warn("operation cannot be released", "op", t.Operation, "epoch", t.Epoch, "err", err)
	}
}

// start runs a claimed operation.
func (w *Worker) start(life context.Context, t ktrdr.Task) {
	ctx, j := newJob(life, w, t)
	w.mu.Lock()
	_, twice := w.jobs[j.claim]
	if !twice {
		w.jobs[j.claim] = j
		w.stats.Claimed++
	}
	w.mu.Unlock()
	if twice { // a claim whose answer came twice
		j.close()
		return
	}
	if t.Cancel {
		j.askToStop()
	}
	w.running.Go(func() {
		defer w.ended(j)
		j.run(ctx)
	})
}

// ended frees the job's slot.
func (w *Worker) ended(j *job) {
	j.close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, j.claim)
	if w.hangUp != nil {
		w.hangUp()
		w.hangUp = nil
	}
}
