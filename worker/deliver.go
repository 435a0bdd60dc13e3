package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

// deliver makes e durable before it returns nil: acknowledged by the backend, or in the spool when
// the backend is away or something of the same claim is already waiting there. A spool that cannot
// be written keeps it in memory and says so: that is all that is left to do. Without a spool it
// tries until ctx ends. A stale or refused write is returned as the backend's error.
func (w *Worker) deliver(ctx context.Context, e *entry) (acknowledged bool, err error) {
	for try := 0; ; try++ {
		at := w.link.state()
		if w.own == nil || at.up && !w.own.holds(e.claim()) {
			err = w.send(ctx, e)
			switch judge(err) {
			case accepted:
				return true, nil
			case stale, refused:
				return false, err
			case away:
				w.connectionLost(ctx, at, err)
			case later:
				w.log.Warn("backend cannot take a write now", "op", e.claim().op, "epoch", e.claim().epoch, "kind", e.kind(), "err", err)
			}
		}
		if w.own != nil {
			return false, w.toSpool(e)
		}
		if !retries(w.patience()).Wait(ctx, try) {
			return false, fmt.Errorf("%s not delivered: %w", e.kind(), err)
		}
	}
}

func (w *Worker) toSpool(e *entry) error {
	if err := w.own.add(e); err != nil {
		return err
	}
	w.count(func(s *Stats) { s.Spooled++ })
	select {
	case w.added <- struct{}{}:
	default:
	}
	return nil
}

// bandwidth is the slowest upload that is waited for.
const bandwidth = 1 << 20 // bytes a second

// send makes the write: the blobs first, then the row that names them.
func (w *Worker) send(ctx context.Context, e *entry) error {
	c := e.claim()
	for _, a := range e.artifacts() {
		if err := w.putBlob(ctx, c, a, e); err != nil {
			return fmt.Errorf("artifact %s: %w", a.Name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout)
	defer cancel()
	switch {
	case e.Progress != nil:
		return w.backend.Progress(ctx, *e.Progress)
	case e.Checkpoint != nil:
		_, err := w.backend.Checkpoint(ctx, *e.Checkpoint)
		return err
	case e.Finished != nil:
		return w.backend.Finish(ctx, *e.Finished)
	default:
		return w.backend.Release(ctx, *e.Released)
	}
}

func (w *Worker) putBlob(ctx context.Context, c claim, a ktrdr.Artifact, e *entry) error {
	r, err := e.open(a)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	ctx, cancel := context.WithTimeout(ctx, w.cfg.CallTimeout+time.Duration(a.Size/bandwidth)*time.Second)
	defer cancel()
	return w.backend.PutBlob(ctx, c.at(0), a.SHA256, a.Size, r)
}

// drain delivers the spools in order, per claim, and says whether something
// was put off for later. It stops at once when the backend is away.
func (w *Worker) drain(ctx context.Context) (postponed bool) {
	defer w.discard()
	for _, s := range w.spools() {
		putOff := make(map[claim]bool)
		for {
			at := w.link.state()
			if !at.up || ctx.Err() != nil {
				return postponed
			}
			x := s.head(putOff)
			if x == nil {
				break
			}
			if w.deliverSpooled(ctx, s, x, at) == later {
				putOff[x.claim] = true
				postponed = true
			}
		}
	}
	return postponed
}

// deliverSpooled sends one entry and forgets it once it is settled.
func (w *Worker) deliverSpooled(ctx context.Context, s *spool, x *spooled, at linkState) verdict {
	log := w.log.With("op", x.claim.op, "epoch", x.claim.epoch, "kind", x.kind)
	e, err := s.read(x)
	if _, unreadable := errors.AsType[syscall.Errno](err); unreadable && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("spooled write cannot be read now", "err", err) // the disk, or too many open files: it may pass
		s.unmark(x)
		return later
	}
	if err != nil {
		s.setAside(entryName(x.seq), err)
		s.remove(x)
		return refused
	}
	err = w.send(ctx, e)
	v := judge(err)
	switch v {
	case accepted:
		fault.Hit(fault.SpoolSent)
		s.remove(x)
		log.Info("spooled write delivered")
	case away:
		s.unmark(x)
		w.connectionLost(ctx, at, err)
	case later:
		s.unmark(x)
		log.Warn("backend cannot take a spooled write now", "err", err)
	case stale:
		s.drop(x.claim)
		if j := w.job(x.claim); j != nil {
			j.dropClaim()
		} else {
			w.count(func(s *Stats) { s.Lost++ })
		}
		log.Warn("spooled write dropped; its claim is no longer the live one", "err", err)
	case refused:
		log.Error("spooled write refused", "err", err)
		if instead := insteadOf(e, err); instead != nil {
			_ = s.add(instead) // fails only when the spool is closed, and we are using it
		}
		s.remove(x)
	}
	return v
}
