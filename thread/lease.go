package thread

import (
	"cmp"
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Lease makes one holder the only writer of a thread. The zero Lease means that there is no lease.
//
//	free ──lease──▶ held ──renew──▶ held
//	 ▲               │ └──lease by the same holder──▶ held, with a new token
//	 └release/expiry─┘
//
// Leases are optional: a thread without a live lease accepts every write. While a lease is live,
// puts and pending writes must carry its token. An expired token is never accepted again, even when
// no other holder came: other programs may have written since. A writer that paused for longer than
// its lease therefore cannot overwrite newer work. Leases expire by the clock of the store.
//
// A holder that asks again without a token gets a new token, and the old one is no longer accepted.
// A restarted program need not wait for its own lease to expire, and an old process of it that
// still runs cannot write. Deleting the thread ends its lease.
type Lease struct {
	Token   int64     `json:"token"` // greater than all earlier ones
	Holder  string    `json:"holder"`
	Expires time.Time `json:"expires"`
}

// LeaseRequest asks for a lease, or with a token for more time.
type LeaseRequest struct {
	Tenant     string  `json:"tenant,omitempty"`
	Thread     string  `json:"thread_id"`
	Holder     string  `json:"holder"`
	TTLSeconds float64 `json:"ttl_seconds"`
	Token      int64   `json:"token,omitempty"` // of the lease to renew; 0 asks for a new one
}

// LeaseRelease gives a lease back.
type LeaseRelease struct {
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread_id"`
	Token  int64  `json:"token"`
}

// LeaseToken is the lease that a write carries.
type LeaseToken struct {
	Token int64 `json:"token"`
}

// longestLease bounds how long a thread waits for a holder that died.
const longestLease = 24 * time.Hour

// LeaseTTL validates a request for a lease and returns its duration.
func LeaseTTL(r LeaseRequest) (time.Duration, error) {
	if err := cmp.Or(CheckWritable(r.Tenant, r.Thread), required("holder", r.Holder, maxThread)); err != nil {
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

// LeaseTaken refuses a lease because another holder has one, or had it until this moment.
func LeaseTaken(thread string, by Lease) error {
	if by.Token == 0 {
		return ktrdr.Errorf(ktrdr.CodeConflict, "thread %q was leased to another holder until now; ask again", thread)
	}
	return ktrdr.Errorf(ktrdr.CodeConflict, "thread %q is leased to %q until %s; ask again then, or release it",
		thread, by.Holder, stamp(by.Expires))
}

// LeaseEnded refuses to renew a lease that is no longer live.
func LeaseEnded(thread string, token int64) error {
	return ktrdr.Errorf(ktrdr.CodeStaleEpoch,
		"thread %q has no live lease %d: take a new one, and read the thread again before writing", thread, token)
}

// CheckLease refuses a write with the given token, nil for none, to a thread
// whose live lease does not permit it.
func CheckLease(thread string, given *LeaseToken, by Lease) error {
	switch {
	case given == nil && by.Token == 0, given != nil && given.Token == by.Token && by.Token != 0:
		return nil
	case given == nil:
		return ktrdr.Errorf(ktrdr.CodeStaleEpoch,
			"thread %q is leased to %q until %s, and this write has no lease: take it when that one is over", thread, by.Holder, stamp(by.Expires))
	case by.Token == 0:
		return LeaseEnded(thread, given.Token)
	default:
		return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "thread %q has no live lease %d: its lease is %d, of %q, so stop writing",
			thread, given.Token, by.Token, by.Holder)
	}
}

// CheckLatest refuses a put that expects another newest checkpoint than latest.
// A repeated put finds itself.
func (d ParsedPut) CheckLatest(latest string) error {
	if d.Latest == nil || latest == *d.Latest || latest == d.Ref.Checkpoint {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeConflict,
		"the newest checkpoint of thread %q in namespace %q is %q, not the expected %q: read it and decide again",
		d.Ref.Thread, d.Ref.NS, latest, *d.Latest)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
