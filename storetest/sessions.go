package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

var sessions = map[string]func(*lab){
	"ALinkSignsInOnce": func(l *lab) {
		token := ktrdr.Token{ID: "t1", Name: "laptop", Scope: ktrdr.ScopeRead, Hash: ktrdr.Hash{9}}
		l.must(l.AddToken(l.ctx(), token))
		link, session := ktrdr.Hash{1}, ktrdr.Hash{2}
		l.must(l.AddLink(l.ctx(), link, "t1", time.Minute))
		_, err := l.SessionToken(l.ctx(), link)
		l.refused(err, ktrdr.CodeNotFound) // a link is not a session
		_, err = l.SpendLink(l.ctx(), session, ktrdr.Hash{3}, time.Hour)
		l.refused(err, ktrdr.CodeNotFound)
		got, err := l.SpendLink(l.ctx(), link, session, time.Hour)
		l.must(err)
		same(l, "token of the link", got.ID, "t1")
		same(l, "scope", got.Scope, ktrdr.ScopeRead)
		_, err = l.SpendLink(l.ctx(), link, ktrdr.Hash{3}, time.Hour)
		l.refused(err, ktrdr.CodeNotFound)
		got, err = l.SessionToken(l.ctx(), session)
		l.must(err)
		same(l, "token of the session", got.ID, "t1")
		_, err = l.SpendLink(l.ctx(), session, ktrdr.Hash{3}, time.Hour)
		l.refused(err, ktrdr.CodeNotFound) // a session is not a link
		l.must(l.EndSession(l.ctx(), session))
		_, err = l.SessionToken(l.ctx(), session)
		l.refused(err, ktrdr.CodeNotFound)
		l.must(l.EndSession(l.ctx(), session))
	},

	"ASessionEndsWithItsTokenAndItsTime": func(l *lab) {
		l.must(l.AddToken(l.ctx(), ktrdr.Token{ID: "t1", Scope: ktrdr.ScopeAdmin, Hash: ktrdr.Hash{9}}))
		l.refused(l.AddLink(l.ctx(), ktrdr.Hash{1}, "t2", time.Minute), ktrdr.CodeNotFound)
		l.must(l.AddLink(l.ctx(), ktrdr.Hash{1}, "t1", -time.Second))
		_, err := l.SpendLink(l.ctx(), ktrdr.Hash{1}, ktrdr.Hash{2}, time.Hour)
		l.refused(err, ktrdr.CodeNotFound)
		l.must(l.AddLink(l.ctx(), ktrdr.Hash{3}, "t1", time.Minute))
		_, err = l.SpendLink(l.ctx(), ktrdr.Hash{3}, ktrdr.Hash{4}, -time.Second)
		l.must(err)
		_, err = l.SessionToken(l.ctx(), ktrdr.Hash{4})
		l.refused(err, ktrdr.CodeNotFound)
		l.must(l.AddLink(l.ctx(), ktrdr.Hash{5}, "t1", time.Minute))
		_, err = l.SpendLink(l.ctx(), ktrdr.Hash{5}, ktrdr.Hash{6}, time.Hour)
		l.must(err)
		l.must(l.AddLink(l.ctx(), ktrdr.Hash{7}, "t1", time.Minute))
		l.must(l.RevokeToken(l.ctx(), "t1"))
		_, err = l.SessionToken(l.ctx(), ktrdr.Hash{6})
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.SpendLink(l.ctx(), ktrdr.Hash{7}, ktrdr.Hash{8}, time.Hour)
		l.refused(err, ktrdr.CodeNotFound)
		l.refused(l.AddLink(l.ctx(), ktrdr.Hash{9}, "t1", time.Minute), ktrdr.CodeNotFound)
	},

	"OfManyWhoSpendALinkOneSignsIn": func(l *lab) {
		l.must(l.AddToken(l.ctx(), ktrdr.Token{ID: "t1", Scope: ktrdr.ScopeAdmin, Hash: ktrdr.Hash{9}}))
		l.must(l.AddLink(l.ctx(), ktrdr.Hash{1}, "t1", time.Minute))
		var signedIn atomic.Int64
		var all sync.WaitGroup
		for i := range byte(8) {
			all.Go(func() {
				if _, err := l.SpendLink(l.ctx(), ktrdr.Hash{1}, ktrdr.Hash{2, i}, time.Hour); err == nil {
					signedIn.Add(1)
				} else if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
					l.Errorf("spend: %v", err)
				}
			})
		}
		all.Wait()
		same(l, "signed in", signedIn.Load(), int64(1))
	},
}
