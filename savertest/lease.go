package savertest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// Times of leases in tests: one that outlives its test, and one that a test
// waits for.
const (
	longLease  = 600.0
	shortLease = 0.05
)

// lease asks for a lease that must be granted.
func (l *lab) lease(threadID, holder string, seconds float64) thread.Lease {
	l.Helper()
	got, err := l.Lease(l.ctx(), thread.LeaseRequest{Tenant: l.tenant, Thread: threadID, Holder: holder, TTLSeconds: seconds})
	if err != nil {
		l.Fatalf("lease of %s to %s: %v", threadID, holder, err)
	}
	return got
}

// held asks for a lease in vain.
func (l *lab) held(threadID, holder string, want ktrdr.Code) {
	l.Helper()
	_, err := l.Lease(l.ctx(), thread.LeaseRequest{Tenant: l.tenant, Thread: threadID, Holder: holder, TTLSeconds: longLease})
	l.refused(err, want)
}

// putWith and writeWith show a token; 0 shows none.
func (l *lab) putWith(p point, token int64) error {
	l.Helper()
	put := l.request(p)
	put.Lease = shown(token)
	_, err := l.Put(l.ctx(), put)
	return err
}

func (l *lab) writeWith(id string, token int64) error {
	return l.PutWrites(l.ctx(), thread.Writes{
		Tenant: l.tenant, Thread: "t", Checkpoint: id, Task: "task", Lease: shown(token),
		Writes: []thread.Write{{Channel: "c", Value: text("written")}},
	})
}

func shown(token int64) *thread.LeaseToken {
	if token == 0 {
		return nil
	}
	return &thread.LeaseToken{Token: token}
}

// outlive waits until the lease is over by the saver's clock, which shows in
// that its renewal is refused.
func (l *lab) outlive(threadID, holder string, lease thread.Lease) {
	l.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
		_, err := l.Lease(l.ctx(), thread.LeaseRequest{Tenant: l.tenant, Thread: threadID, Holder: holder, TTLSeconds: 1e-6, Token: lease.Token})
		switch {
		case ktrdr.CodeOf(err) == ktrdr.CodeStaleEpoch:
			return
		case err != nil, time.Now().After(deadline):
			l.Fatalf("the lease does not end: %v", err)
		}
	}
}

var leases = map[string]func(*lab){
	"WhileALeaseIsLiveOnlyItsHolderWrites": func(l *lab) {
		l.put(point{id: "1"})
		lease := l.lease("t", "a", longLease)
		for what, err := range map[string]error{
			"no token":      l.putWith(point{id: "2", parent: "1"}, 0),
			"another token": l.putWith(point{id: "2", parent: "1"}, lease.Token-1),
			"first of a ns": l.putWith(point{id: "2", ns: "child"}, 0),
			"with a TTL": func() error {
				p := l.request(point{id: "2"})
				p.TTLSeconds = 60
				_, err := l.Put(l.ctx(), p)
				return err
			}(),
			"writes":       l.writeWith("1", 0),
			"other writes": l.writeWith("1", lease.Token+1),
			"a copy":       l.CopyThread(l.ctx(), l.tenant, "other", "t"),
		} {
			if ktrdr.CodeOf(err) != ktrdr.CodeStaleEpoch || !strings.Contains(err.Error(), `"t"`) {
				l.Errorf("%s: %v, want stale_epoch with the thread's name", what, err)
			}
		}
		l.missing("t", "", "2")
		same(l, "writes", written(l.get("t", "", "1").PendingWrites), nil)

		l.must(l.putWith(point{id: "2", parent: "1"}, lease.Token))
		l.must(l.writeWith("2", lease.Token))
		same(l, "writes", written(l.get("t", "", "2").PendingWrites), []string{"task/c=written"})
		l.put(point{thread: "u", id: "1"}) // others' threads are not concerned
	},

	"ALeaseIsHadByOne": func(l *lab) {
		first := l.lease("t", "a", longLease)
		l.held("t", "b", ktrdr.CodeConflict)
		l.must(l.Release(l.ctx(), thread.LeaseRelease{Tenant: l.tenant, Thread: "t", Token: first.Token}))
		l.must(l.Release(l.ctx(), thread.LeaseRelease{Tenant: l.tenant, Thread: "t", Token: first.Token})) // again
		l.must(l.Release(l.ctx(), thread.LeaseRelease{Tenant: l.tenant, Thread: "unheld", Token: 7}))
		second := l.lease("t", "b", longLease)
		if second.Token <= first.Token || second.Holder != "b" {
			l.Errorf("leases %+v, then %+v: tokens must grow", first, second)
		}
		l.must(l.Release(l.ctx(), thread.LeaseRelease{Tenant: l.tenant, Thread: "t", Token: first.Token})) // changes nothing
		l.refused(l.putWith(point{id: "1"}, first.Token), ktrdr.CodeStaleEpoch)
		l.must(l.putWith(point{id: "1"}, second.Token))
	},

	"TheSameHolderFencesOffItsFormerSelf": func(l *lab) {
		before := l.lease("t", "a", longLease)
		after := l.lease("t", "a", longLease)
		if after.Token <= before.Token {
			l.Errorf("token %d after %d, want a greater one", after.Token, before.Token)
		}
		l.refused(l.putWith(point{id: "1"}, before.Token), ktrdr.CodeStaleEpoch)
		l.must(l.putWith(point{id: "1"}, after.Token))
	},

	"ALeaseEndsByItself": func(l *lab) {
		l.put(point{id: "1"})
		lease := l.lease("t", "a", shortLease)
		l.outlive("t", "a", lease)
		l.refused(l.putWith(point{id: "2", parent: "1"}, lease.Token), ktrdr.CodeStaleEpoch)
		l.refused(l.writeWith("1", lease.Token), ktrdr.CodeStaleEpoch)
		l.must(l.putWith(point{id: "2", parent: "1"}, 0))
		if next := l.lease("t", "b", longLease); next.Token <= lease.Token {
			l.Errorf("token %d after %d, want a greater one", next.Token, lease.Token)
		}
	},

	"RenewingKeepsTheToken": func(l *lab) {
		lease := l.lease("t", "a", 60)
		renew := func(holder string, token int64) (thread.Lease, error) {
			return l.Lease(l.ctx(), thread.LeaseRequest{Tenant: l.tenant, Thread: "t", Holder: holder, TTLSeconds: longLease, Token: token})
		}
		got, err := renew("a", lease.Token)
		l.must(err)
		if got.Token != lease.Token || !got.Expires.After(lease.Expires) {
			l.Errorf("renewed %+v, got %+v", lease, got)
		}
		_, err = renew("b", lease.Token)
		l.refused(err, ktrdr.CodeStaleEpoch)
		_, err = renew("a", lease.Token+1)
		l.refused(err, ktrdr.CodeStaleEpoch)
		l.must(l.Release(l.ctx(), thread.LeaseRelease{Tenant: l.tenant, Thread: "t", Token: lease.Token}))
		_, err = renew("a", lease.Token)
		l.refused(err, ktrdr.CodeStaleEpoch)
	},

	"DeletingAThreadEndsItsLease": func(l *lab) {
		lease := l.lease("t", "a", longLease)
		l.must(l.putWith(point{id: "1"}, lease.Token))
		l.must(l.DeleteThread(l.ctx(), l.tenant, "t"))
		l.refused(l.putWith(point{id: "2"}, lease.Token), ktrdr.CodeStaleEpoch)
		if next := l.lease("t", "b", longLease); next.Token == lease.Token {
			l.Errorf("token %d was given out twice", next.Token)
		}
	},

	"OfManyWhoAskOneGetsTheLease": func(l *lab) {
		var got atomic.Int64
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				_, err := l.Lease(l.ctx(), thread.LeaseRequest{Tenant: l.tenant, Thread: "t", Holder: fmt.Sprint(i), TTLSeconds: longLease})
				switch ktrdr.CodeOf(err) {
				case "":
					got.Add(1)
				case ktrdr.CodeConflict:
				default:
					l.Error(err)
				}
			})
		}
		all.Wait()
		if got.Load() != 1 {
			l.Errorf("%d have the lease, want 1", got.Load())
		}
	},

	"LeasesThatMakeNoSenseAreRefused": func(l *lab) {
		for what, r := range map[string]thread.LeaseRequest{
			"no thread":      {Holder: "a", TTLSeconds: 1},
			"no holder":      {Thread: "t", TTLSeconds: 1},
			"no time":        {Thread: "t", Holder: "a"},
			"negative time":  {Thread: "t", Holder: "a", TTLSeconds: -1},
			"too long":       {Thread: "t", Holder: "a", TTLSeconds: 1e9},
			"negative token": {Thread: "t", Holder: "a", TTLSeconds: 1, Token: -1},
			"a long holder":  {Thread: "t", Holder: strings.Repeat("x", 1000), TTLSeconds: 1},
		} {
			r.Tenant = l.tenant
			if _, err := l.Lease(l.ctx(), r); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: %v, want invalid", what, err)
			}
		}
		_, err := l.Lease(l.ctx(), thread.LeaseRequest{Thread: "op_dummy_1", Holder: "a", TTLSeconds: 1})
		l.refused(err, ktrdr.CodeForbidden)
	},

	"APutMayExpectTheNewestCheckpoint": func(l *lab) {
		expecting := func(p point, latest string) error {
			put := l.request(p)
			put.Latest = &latest
			_, err := l.Put(l.ctx(), put)
			return err
		}
		l.refused(expecting(point{id: "1"}, "0"), ktrdr.CodeConflict)
		l.must(expecting(point{id: "1"}, ""))
		l.must(expecting(point{id: "1"}, "")) // the same put, repeated
		l.must(expecting(point{id: "2", parent: "1"}, "1"))
		l.refused(expecting(point{id: "3", parent: "1"}, "1"), ktrdr.CodeConflict)
		l.must(expecting(point{id: "1", ns: "child"}, "")) // each namespace has its own newest
		l.missing("t", "", "3")
		l.put(point{id: "3", parent: "1"}) // who expects nothing may fork
	},

	"OfTwoWhoExpectTheSameOneWins": func(l *lab) {
		l.put(point{id: "1"})
		latest := "1"
		var won atomic.Int64
		var both sync.WaitGroup
		for i := range 8 {
			both.Go(func() {
				put := l.request(point{id: fmt.Sprint("2-", i), parent: "1", versions: `{"c":1}`})
				put.Latest = &latest
				_, err := l.Put(l.ctx(), put)
				switch ktrdr.CodeOf(err) {
				case "":
					won.Add(1)
				case ktrdr.CodeConflict:
				default:
					l.Error(err)
				}
			})
		}
		both.Wait()
		if won.Load() != 1 {
			l.Errorf("%d puts went in, want 1", won.Load())
		}
	},
}
