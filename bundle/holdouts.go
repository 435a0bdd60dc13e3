package bundle

import (
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// budgets are the holdouts of a market as its chain tells them, and how many looks of the
// market each does not pay for. They follow from the links as the store counts them.
type budgets struct {
	all   []budget             // oldest first; the first pays for all looks and begins where the first look says
	ended map[string]time.Time // close of the last bar of each look
	last  time.Time            // of all of them

	claims  map[ktrdr.OperationID]bool
	order   []ktrdr.OperationID // of the claims, as the ledger has them
	earlier bool                // looks were made before the chain began: claims may be unknown
	markets map[string]bool     // that were merged
}

type budget struct {
	from time.Time
	past int
}

func newBudgets() *budgets {
	return &budgets{
		all: []budget{{}}, ended: map[string]time.Time{}, claims: map[ktrdr.OperationID]bool{}, markets: map[string]bool{},
	}
}

// look notes a look, and returns how many looks before it the holdout does not pay for. known
// says that the ledger has the holdout that the look is at.
func (b *budgets) look(e *ktrdr.LookEntry) (past int, known bool) {
	if b.all[0].from.IsZero() {
		b.all[0].from = e.Holdout
	}
	for _, h := range b.all {
		known = known || h.from.Equal(e.Holdout)
		if !h.from.After(e.Holdout) {
			past = h.past
		}
	}
	last := ktrdr.LookedUntil(e.Spans)
	b.ended[e.Key] = last
	if last.After(b.last) {
		b.last = last
	}
	b.change(last, 1)
	return past, known || e.Holdout.IsZero()
}

// change adds to what is past in the holdouts that begin when a look has ended, or later.
func (b *budgets) change(ended time.Time, by int) {
	for i := range b.all {
		if h := &b.all[i]; i > 0 && !ended.IsZero() && !h.from.Before(ended) {
			h.past = max(h.past+by, 0)
		}
	}
}

// result notes what a look showed: a claim is followed over the bars of later holdouts.
func (b *budgets) result(l *ledger, e *ktrdr.ResultEntry) {
	if e.Claim {
		b.change(b.ended[e.Key], -1)
		b.claim(l, e)
	}
}

// claim notes a claim. Of a look that was made before the chain began nothing is known.
func (b *budgets) claim(l *ledger, e *ktrdr.ResultEntry) {
	if id, known := l.operations[e.Key]; known && !b.claims[id] {
		b.claims[id], b.order = true, append(b.order, id)
	}
}

// merge leaves one holdout, which pays for all looks of both markets.
func (b *budgets) merge(l *ledger, m *ktrdr.MergeEntry) {
	b.all = []budget{{}}
	b.merged(l, m)
}

// mostHoldouts bounds the number of holdouts of a market: each look is compared with all of
// them. Each lasts as long as the one before it, so no market has as many.
const mostHoldouts = 1000

// renew adds a new holdout, and requires that it keeps the rules.
func (v *verification) renew(b *budgets, e *ktrdr.ChainEntry, looks int) {
	h := e.Holdout
	if len(b.all) == mostHoldouts {
		v.refuse(WrongLooks, "link %d of %s is one holdout too many: at most %d are checked", e.Position, e.Market, mostHoldouts)
		return
	}
	wrong := func(text string, args ...any) {
		v.refuse(WrongLooks, "link %d of %s is a holdout from %v: "+text, append([]any{e.Position, e.Market, h.From.UTC().Format(time.RFC3339)},
			args...)...)
	}
	if err := h.Check(h.From); err != nil {
		wrong("%v", err)
	}
	switch newest := b.all[len(b.all)-1]; {
	case !newest.from.IsZero() && !newest.from.Equal(h.Before):
		wrong("it replaces one from %s, and the newest begins at %s", h.Before.Format(time.RFC3339), newest.from.Format(time.RFC3339))
	case h.LookedUntil.Before(b.last):
		wrong("it says that looks have used bars until %s, and one has used bars until %s", h.LookedUntil.Format(time.RFC3339),
			b.last.Format(time.RFC3339))
	case h.Looks != looks:
		wrong("it comes after %s, and the ledger has %d before it", plural(h.Looks, "look", "looks"), looks)
	}
	v.listed(b, e, wrong)
	b.all = append(b.all, budget{h.From, looks - len(h.Claims)})
}

// unlisted are claims that a new holdout does not count as followed over its bars. Each is
// one look less that is paid for there.
type unlisted struct {
	at    place
	from  time.Time
	names []string // of a few of them
	n     int
}

const (
	mostUnlisted = 20 // holdouts that are named
	mostNames    = 3  // claims that are named of each
)

// listed requires that the claims that a new holdout counts are in the ledger before it. It
// notes those that are in the ledger and that it does not count.
func (v *verification) listed(b *budgets, e *ktrdr.ChainEntry, wrong func(string, ...any)) {
	h, counted, left := e.Holdout, map[ktrdr.OperationID]bool{}, len(b.claims)
	for _, id := range h.Claims {
		switch {
		case b.claims[id] && !counted[id]:
			left--
		case !b.earlier:
			wrong("it counts the claim %.80s, and the ledger does not have it before, or it is counted twice", id)
		}
		counted[id] = true
	}
	switch {
	case left > 0 && len(v.unlisted) == mostUnlisted:
		v.unnamed++
	case left > 0:
		u := unlisted{at: place{e.Market, e.Position}, from: h.From, n: left}
		for i := 0; i < len(b.order) && len(u.names) < mostNames; i++ {
			if id := b.order[i]; !counted[id] {
				u.names = append(u.names, ktrdr.ToPrintable(string(id)))
			}
		}
		v.unlisted = append(v.unlisted, u)
	case !b.earlier:
		v.pass("the holdout from %s counts each claim before it: %s", h.From.UTC().Format(time.RFC3339),
			plural(len(h.Claims), "claim", "claims"))
	}
}

// merged takes over the claims of a market that was merged into this one, and of those that
// were merged into that.
func (b *budgets) merged(l *ledger, m *ktrdr.MergeEntry) {
	if b.markets[m.Head.Market] {
		return
	}
	b.markets[m.Head.Market] = true
	b.earlier = b.earlier || m.Head.Links == 0 && m.Looks > 0
	for i := range l.chains[m.Head.Market] {
		switch e := &l.chains[m.Head.Market][i]; {
		case e.Earlier != nil:
			b.earlier = b.earlier || e.Earlier.Looks > 0
		case e.Result != nil && e.Result.Claim:
			b.claim(l, e.Result)
		case e.Merge != nil:
			b.merged(l, e.Merge)
		}
	}
}

// warnOfUnlisted says which claims a new holdout leaves out. covered is how many links of a
// chain lie before a head that is known.
func (v *verification) warnOfUnlisted(covered map[string]int) {
	for _, u := range v.unlisted {
		names := u.names
		if more := u.n - len(names); more > 0 {
			names = append(names, plural(more, "other", "others"))
		}
		said := u.at.String() + " is a new holdout from " + u.from.UTC().Format(time.RFC3339) + ". It does not count " +
			plural(u.n, "claim", "claims") + " (" + strings.Join(names, ", ") + ") as followed over its bars. This is right if they were " +
			"retired before. The ledger does not say when a claim was retired, so this was not checked."
		if covered[u.at.market] < u.at.position {
			said += " No head is known that was published after it, so the list of claims may have been edited. Give one with --head."
		}
		v.warn(said)
	}
	if v.unnamed > 0 {
		v.warn(plural(v.unnamed, "other new holdout does", "other new holdouts do") + " not count each claim either.")
	}
}
