package storetest

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

var probes = map[string]func(*lab){
	"OneMayProbeAndGivesTheRightBack": func(l *lab) {
		mine, err := l.TakeProbe(l.ctx(), anthropic, "a", time.Hour)
		l.must(err)
		same(l, "breaker that is not stored", mine.Breaker, ktrdr.Breaker{})
		_, err = l.TakeProbe(l.ctx(), anthropic, "b", time.Hour)
		l.refused(err, ktrdr.CodeConflict)
		_, err = l.TakeProbe(l.ctx(), "provider:other", "b", time.Hour)
		l.must(err)

		stored := l.saved(anthropic, 0)
		again, err := l.TakeProbe(l.ctx(), anthropic, "a", time.Hour)
		l.must(err)
		same(l, "breaker", again.Breaker, stored)
		l.must(l.EndProbe(l.ctx(), anthropic, mine.Token))
		_, err = l.TakeProbe(l.ctx(), anthropic, "b", time.Hour)
		l.refused(err, ktrdr.CodeConflict) // what has ended was ended before
		l.must(l.EndProbe(l.ctx(), anthropic, again.Token))
		_, err = l.TakeProbe(l.ctx(), anthropic, "b", time.Hour)
		l.must(err)
	},

	"TheRightToProbeEndsByItself": func(l *lab) {
		_, err := l.TakeProbe(l.ctx(), anthropic, "dead", time.Microsecond)
		l.must(err)
		l.eventually("another may probe", func() bool {
			_, err := l.TakeProbe(l.ctx(), anthropic, "alive", time.Hour)
			return err == nil
		})
	},

	"OfManyWhoAskOneMayProbe": func(l *lab) {
		var token int64
		for range 5 {
			l.must(l.EndProbe(l.ctx(), anthropic, token))
			var won atomic.Int64
			each(8, 8, func(i int) {
				p, err := l.TakeProbe(l.ctx(), anthropic, ktrdr.Incarnation(rune('a'+i)), time.Hour)
				if err == nil {
					won.Add(1)
					atomic.StoreInt64(&token, p.Token)
				} else if ktrdr.CodeOf(err) != ktrdr.CodeConflict {
					l.Error(err)
				}
			})
			same(l, "who may probe", won.Load(), 1)
		}
	},

	"AProbeThatMakesNoSenseIsRefused": func(l *lab) {
		for what, c := range map[string]struct {
			name  string
			owner ktrdr.Incarnation
			d     time.Duration
		}{
			"no name":       {"", "a", time.Hour},
			"no prober":     {anthropic, "", time.Hour},
			"NUL":           {anthropic + "\x00", "a", time.Hour},
			"name too long": {strings.Repeat("x", 256), "a", time.Hour},
			"no time":       {anthropic, "a", 0},
			"for years":     {anthropic, "a", 1e6 * time.Hour},
		} {
			if _, err := l.TakeProbe(l.ctx(), c.name, c.owner, c.d); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: %v, want CodeInvalid", what, err)
			}
		}
	},
}
