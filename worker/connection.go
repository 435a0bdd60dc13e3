package worker

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// These are used when the backend names no interval.
const (
	defaultBeat       = 10 * time.Second
	defaultCheckpoint = 300 * time.Second
)

// maintainConnection registers, delivers the spool, and does both again whenever
// the backend has been away. It returns nil when life ends, or the refusal of a
// backend that will never admit this worker.
func (w *Worker) maintainConnection(life context.Context) error {
	for first := true; ; first = false {
		if registered, err := w.register(life, first); !registered {
			return err
		}
		if !w.deliverSpool(life) {
			return nil
		}
	}
}

// register introduces the worker, for ever while the backend is away. It
// returns false with the refusal, or without when life ends.
func (w *Worker) register(life context.Context, first bool) (bool, error) {
	for try := 0; ; try++ {
		w.adopt()
		err := w.registerOnce(life)
		if err == nil {
			return true, nil
		}
		if final(ktrdr.CodeOf(err), first) {
			return false, fmt.Errorf("the backend does not admit this worker: %w", err)
		}
		if first && try == 0 && life.Err() == nil {
			w.log.Warn("backend cannot be reached yet", "err", err)
		} else {
			w.log.Debug("backend is still out of reach", "err", err)
		}
		if !retries(w.patience()).Wait(life, try) {
			return false, nil
		}
	}
}

// final says whether trying again is pointless. Once admitted, a worker that is refused for its
// token continues computing: the token may be repaired, and the spool keeps the results until then.
func final(code ktrdr.Code, first bool) bool {
	switch code {
	case ktrdr.CodeProtocol:
		return true
	case ktrdr.CodeUnauthorized, ktrdr.CodeForbidden, ktrdr.CodeInvalid:
		return first
	}
	return false
}

// patience is the longest wait between tries: never past a heartbeat, or a
// backend that returns could take us for dead.
func (w *Worker) patience() time.Duration {
	if every := w.link.state().every; every > 0 {
		return min(every, longestDelay)
	}
	return longestDelay
}

func (w *Worker) registerOnce(life context.Context) error {
	ctx, cancel := context.WithTimeout(life, w.cfg.CallTimeout)
	defer cancel()
	r := w.registration()
	answer, err := w.backend.Register(ctx, r)
	if err != nil {
		return err
	}
	every := seconds(answer.HeartbeatSeconds)
	if every <= 0 {
		every = defaultBeat
	}
	w.saveDue.Store(int64(cmp.Or(w.cfg.CheckpointEvery, seconds(answer.CheckpointSeconds), defaultCheckpoint)))
	w.link.raise(every)
	w.log.Info("connected to backend", "backend", answer.Backend, "heartbeat", every, "running", len(r.Running), "finished", len(r.Finished))
	w.applyOrders(answer.Orders)
	return nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func (w *Worker) registration() ktrdr.Registration {
	host, _ := os.Hostname() // for people; empty will do
	r := ktrdr.Registration{
		Protocol: ktrdr.Protocol,
		Worker: ktrdr.Worker{
			ID: w.cfg.ID, Name: w.cfg.Name, Types: w.types, Slots: w.cfg.Slots, HeldBy: w.cfg.HeldBy,
			Host: host, PID: os.Getpid(), Version: w.cfg.Version,
		},
		Running: w.claims((*job).reported),
	}
	for _, s := range w.spools() {
		r.Finished = append(r.Finished, s.ended()...)
	}
	return r
}

// adopt takes over the folders of workers that died with something in them.
func (w *Worker) adopt() {
	if w.own == nil {
		return
	}
	dead, err := deadSpools(filepath.Join(w.cfg.Dir, "spool"), w.log)
	if err != nil {
		w.log.Warn("spools of earlier workers cannot be looked for", "err", err)
	}
	for _, s := range dead {
		if s.empty() {
			s.close()
			continue
		}
		w.log.Info("delivering what an earlier worker left", "folder", filepath.Base(s.dir))
		w.mu.Lock()
		w.adopted = append(w.adopted, s)
		w.mu.Unlock()
	}
}

// beat sends heartbeats: one call for everything that runs.
func (w *Worker) beat(life context.Context) {
	for {
		at, ok := w.link.await(life)
		if !ok {
			return
		}
		wait := at.every/2 + rand.N(at.every/2+1) //nolint:gosec // workers admitted together must not beat together
		for backoff.Sleep(life, wait) && w.link.state().life == at.life && w.beatOnce(life, at) {
			wait = at.every
		}
	}
}

// beatOnce sends one heartbeat and says whether the link held.
func (w *Worker) beatOnce(life context.Context, at linkState) bool {
	ctx, cancel := context.WithTimeout(life, max(at.every, w.cfg.CallTimeout/2))
	defer cancel()
	orders, err := w.backend.Heartbeat(ctx, ktrdr.Heartbeat{Worker: w.cfg.ID, Running: w.claims((*job).reported)})
	if err != nil {
		return !w.connectionLost(life, at, err)
	}
	w.applyOrders(orders)
	return true
}

// connectionLost notes an error of a call that was not about one operation, and
// says whether the worker must register again.
func (w *Worker) connectionLost(ctx context.Context, at linkState, err error) bool {
	if ctx.Err() != nil {
		return false // we ended the call ourselves
	}
	switch judge(err) {
	case away, stale: // no backend, or one that does not know us
		if w.link.drop(at) {
			w.log.Warn("backend cannot be reached; the worker continues", "err", err)
		}
		return true
	default:
		w.log.Warn("backend refuses a call", "err", err)
		return false
	}
}

// applyOrders passes orders to the jobs that they name.
func (w *Worker) applyOrders(o ktrdr.Orders) {
	for _, c := range o.Cancel {
		if j := w.job(claim{c.Operation, c.Epoch}); j != nil {
			j.askToStop()
		}
	}
	for _, c := range o.Lost {
		if j := w.job(claim{c.Operation, c.Epoch}); j != nil {
			j.dropClaim()
		}
	}
}

func (w *Worker) job(c claim) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jobs[c]
}

// deliverSpool delivers what waits, and what is added, until the backend is
// away; false means that life ended first.
func (w *Worker) deliverSpool(life context.Context) bool {
	for try := 0; ; {
		at := w.link.state()
		var again <-chan time.Time
		if w.drain(life) {
			again = time.After(retries(longestDelay).Delay(try))
			try++
		} else {
			try = 0
		}
		if life.Err() != nil {
			return false
		}
		if !at.up {
			return true
		}
		select {
		case <-life.Done():
			return false
		case <-at.turned:
			return true
		case <-w.added:
		case <-again:
		}
	}
}

// discard gives up the adopted folders that are delivered.
func (w *Worker) discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.adopted = slices.DeleteFunc(w.adopted, func(s *spool) bool {
		if s.empty() {
			s.close()
			return true
		}
		return false
	})
}
