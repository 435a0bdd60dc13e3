package bundle

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

// budgets are the holdouts of a market as its chain tells them, and how many looks of the
// market each does not pay for. They follow from the links as the store counts them.
type budgets struct {
	all   []budget             // oldest first; the first begins at no known time and pays for all looks
	ended map[string]time.Time // close of the last bar of each look
	last  time.Time            // of all of them
}

type budget struct {
	from time.Time
	past int
}

func newBudgets() *budgets { return &budgets{all: []budget{{}}, ended: map[string]time.Time{}} }

// look notes a look, and returns how many looks before it the holdout does not pay for.
func (b *budgets) look(e *ktrdr.LookEntry) (past int) {
	for _, h := range b.all {
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
	return past
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
func (b *budgets) result(e *ktrdr.ResultEntry) {
	if e.Claim {
		b.change(b.ended[e.Key], -1)
	}
}

// merge leaves one holdout, which pays for all looks of both markets.
func (b *budgets) merge() { b.all = []budget{{}} }

// renew adds a new holdout, and requires that it keeps the rules.
func (v *verification) renew(b *budgets, e *ktrdr.ChainEntry, looks int) {
	h := e.Holdout
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
		wrong("it comes after %d looks, and the ledger has %d before it", h.Looks, looks)
	}
	b.all = append(b.all, budget{h.From, looks - len(h.Claims)})
}
