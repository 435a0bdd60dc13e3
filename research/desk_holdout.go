package research

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// renewal is what a request for new holdouts comes to. Of each market it is one of three:
// a new holdout, the same again, or the one that it has, because no look has used it.
type renewal struct {
	from     time.Time // zero: the request asks for none
	holdouts []ktrdr.NewHoldout
	begin    int      // markets whose holdouts begin at from
	kept     []string // why others keep theirs
}

// of returns where the holdout of a market begins then: at from, or where it did. b is the
// series that holdouts of the market are measured in.
func (r *renewal) of(b *market.Bars, m *ktrdr.Market) (time.Time, error) {
	switch {
	case r.from.Equal(m.HoldoutFrom):
		r.begin++
		return r.from, nil
	case !m.LookedUntil.After(m.HoldoutFrom) || m.HoldoutFrom.IsZero():
		r.kept = append(r.kept, fmt.Sprintf("no look was made at the holdout of %s, so its budget is not used and it stays", b.Symbol))
		return m.HoldoutFrom, nil
	case b.Time[0] > m.HoldoutFrom.Unix():
		return r.from, wrong("holdout_from (--holdout-from): the %s bars of %s begin at %s, after the holdout that would be replaced (%s), "+
			"so their numbers of bars cannot be compared: import the bars before",
			b.Timeframe, b.Symbol, text.Minute(b.Time[0]), text.Minute(m.HoldoutFrom.Unix()))
	}
	n := ktrdr.NewHoldout{Market: m.ID, From: r.from, HoldoutLength: lengthFrom(b, m, r.from)}
	if err := n.Check(r.from); err != nil {
		return r.from, wrong("holdout_from (--holdout-from): a holdout of %s from %s: %w. %s", b.Symbol, text.Minute(r.from.Unix()), err,
			earliest(lengthFrom(b, m, m.LookedUntil)))
	}
	r.holdouts, r.begin = append(r.holdouts, n), r.begin+1
	return r.from, nil
}

// lengthFrom compares a holdout from an instant with the newest one of a market.
func lengthFrom(b *market.Bars, m *ktrdr.Market, from time.Time) ktrdr.HoldoutLength {
	return ktrdr.HoldoutLength{
		Before: m.HoldoutFrom, LookedUntil: m.LookedUntil, Until: time.Unix(b.Timeframe.End(b.Time[b.Len()-1]), 0).UTC(),
		Bars: b.Len() - opensAt(b, from), BarsBefore: max(CutAt(b, m.LookedUntil.Unix())-opensAt(b, m.HoldoutFrom), 0),
	}
}

// check refuses a request for new holdouts that changes none.
func (r *renewal) check() error {
	if r.from.IsZero() || r.begin > 0 {
		return nil
	}
	return wrong("holdout_from (--holdout-from) changes nothing: %s; leave it out", strings.Join(r.kept, "; "))
}

// renews says whether the holdout of a market is replaced.
func (r *renewal) renews(id string) bool {
	return slices.ContainsFunc(r.holdouts, func(n ktrdr.NewHoldout) bool { return n.Market == id })
}

// earliest says from when on a new holdout is possible, and what is missing for it.
func earliest(l ktrdr.HoldoutLength) string {
	said := fmt.Sprintf("The earliest possible start is %s", text.Minute(l.LookedUntil.Unix()))
	enough := l.LookedUntil.Add(l.LookedUntil.Sub(l.Before))
	switch short := l.BarsBefore - l.Bars; {
	case short > 0 && l.Until.Before(enough):
		return fmt.Sprintf("%s; from there %d of %d bars are missing, and the bars must reach %s: import newer bars", said, short, l.BarsBefore,
			text.Minute(enough.Unix()))
	case short > 0:
		return fmt.Sprintf("%s; from there %d of %d bars are missing: import newer bars", said, short, l.BarsBefore)
	case l.Until.Before(enough):
		return fmt.Sprintf("%s; from there 0 bars are missing, but the bars must reach %s: import newer bars", said, text.Minute(enough.Unix()))
	}
	return said + "; from there enough bars are there, and 0 are missing"
}

// opensAt is the index of the first bar that opens at an instant or later.
func opensAt(b *market.Bars, at time.Time) int {
	return sort.Search(b.Len(), func(i int) bool { return b.Time[i] >= at.Unix() })
}

// holdoutDay reads where a request wants the new holdout to begin; zero if it wants none.
func (t Request) holdoutDay() (time.Time, error) {
	if t.HoldoutFrom == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.RFC3339} {
		if at, err := time.Parse(layout, t.HoldoutFrom); err == nil {
			return at.UTC().Truncate(time.Second), nil
		}
	}
	return time.Time{}, wrong("holdout_from (--holdout-from) %.40q is not a date; write it as 2024-06-30, \"2024-06-30 12:00\" or "+
		"2024-06-30T12:00:00Z (UTC)", t.HoldoutFrom)
}
