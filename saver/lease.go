package saver

import (
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
)

// longestLease is how long a thread may wait for a holder that died.
const longestLease = 24 * time.Hour

// Holding is the live lease of a thread, as a saver found it; the zero Holding
// is nobody's.
type Holding struct {
	Token  int64
	Holder string
	Until  time.Time
}

// ReadLease understands a request for a lease and returns how long it shall
// last.
func ReadLease(r ktrdr.LeaseRequest) (time.Duration, error) {
	if err := CheckWritable(r.Tenant, r.Thread); err != nil {
		return 0, err
	}
	if err := required("holder", r.Holder, maxThread); err != nil {
		return 0, err
	}
	if r.Token < 0 {
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "token is %d; leave it out for a new lease", r.Token)
	}
	ttl := time.Duration(math.Round(r.TTLSeconds*1e6)) * time.Microsecond
	if math.IsNaN(r.TTLSeconds) || r.TTLSeconds > longestLease.Seconds() || ttl <= 0 {
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "ttl_seconds of a lease must be over 0 and at most %.0f", longestLease.Seconds())
	}
	return ttl, nil
}

// Taken refuses a lease because somebody else has one, or had it a moment ago.
func Taken(thread string, by Holding) error {
	if by.Token == 0 {
		return ktrdr.Errorf(ktrdr.CodeConflict, "thread %q was leased to somebody else until now; ask again", thread)
	}
	return ktrdr.Errorf(ktrdr.CodeConflict, "thread %q is leased to %q until %s; ask again then, or have it released", thread, by.Holder, stamp(by.Until))
}

// Over refuses to renew a lease that is no longer live.
func Over(thread string, token int64) error {
	return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "thread %q has no live lease %d: take a new one, and read the thread again before writing", thread, token)
}

// Admit says whether a write with the given token, nil for none, may go into a
// thread whose live lease is by.
func Admit(thread string, given *ktrdr.LeaseToken, by Holding) error {
	switch {
	case given == nil && by.Token == 0, given != nil && given.Token == by.Token && by.Token != 0:
		return nil
	case given == nil:
		return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "thread %q is leased to %q until %s, and this write has no lease: take it when that one is over", thread, by.Holder, stamp(by.Until))
	case by.Token == 0:
		return Over(thread, given.Token)
	default:
		return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "thread %q has no live lease %d: its lease is %d, of %q, so stop writing", thread, given.Token, by.Token, by.Holder)
	}
}

// Expected refuses a put that was made for another newest checkpoint than
// there is. A repeated put finds itself.
func (d Draft) Expected(latest string) error {
	if d.Latest == nil || latest == *d.Latest || latest == d.Ref.Checkpoint {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeConflict, "the newest checkpoint of thread %q in namespace %q is %q, not the expected %q: read it and decide anew",
		d.Ref.Thread, d.Ref.NS, latest, *d.Latest)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
