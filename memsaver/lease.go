package memsaver

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// enter returns the thread to write to, making it when there is none, unless
// somebody's lease forbids it.
func (s *Saver) enter(tenant, thread string, given *ktrdr.LeaseToken) (*thread, error) {
	t := s.thread(tenant, thread)
	return t, saver.Admit(thread, given, t.holding())
}

// holding is the lease that is live now.
func (t *thread) holding() saver.Holding {
	if time.Now().Before(t.lease.Until) {
		return t.lease
	}
	return saver.Holding{}
}

// Lease implements ktrdr.Saver.
func (s *Saver) Lease(ctx context.Context, r ktrdr.LeaseRequest) (ktrdr.Lease, error) {
	ttl, err := saver.ReadLease(r)
	if err != nil {
		return ktrdr.Lease{}, err
	}
	if err := ctx.Err(); err != nil {
		return ktrdr.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	now := time.Now()
	t := s.thread(r.Tenant, r.Thread)
	live := t.holding()
	next := saver.Holding{Token: max(t.lease.Token+1, now.UnixMicro()), Holder: r.Holder, Until: now.Add(ttl)}
	switch {
	case r.Token != 0 && (live.Token != r.Token || live.Holder != r.Holder):
		return ktrdr.Lease{}, saver.Over(r.Thread, r.Token)
	case r.Token != 0:
		next.Token = r.Token
	case live.Token != 0 && live.Holder != r.Holder:
		return ktrdr.Lease{}, saver.Taken(r.Thread, live)
	}
	t.lease = next
	return ktrdr.Lease{Token: next.Token, Holder: next.Holder, Expires: next.Until.UTC()}, nil
}

// Release implements ktrdr.Saver.
func (s *Saver) Release(ctx context.Context, r ktrdr.LeaseRelease) error {
	if err := saver.CheckWritable(r.Tenant, r.Thread); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.threads[threadKey{r.Tenant, r.Thread}]; t != nil && t.lease.Token == r.Token {
		t.lease.Until = time.Time{}
	}
	return nil
}
