package bundle_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/research"
)

// renewed is the claim on a market that had another holdout before, with two looks. The
// look of the claim is the first at the new one. The place of the new holdout in the
// chain is returned too.
func renewed(t *testing.T) (b *bundle.Bundle, all []ktrdr.ChainEntry, at int) {
	t.Helper()
	b = claim(t)
	confirm, err := ktrdr.ParseSpec[research.ConfirmSpec](b.Confirm)
	if err != nil {
		t.Fatal(err)
	}
	before := confirm.From.AddDate(0, -2, 0)
	for i := range 2 {
		key := fmt.Sprint("old", i)
		spans, err := json.Marshal([]map[string]time.Time{{"to": confirm.From.AddDate(0, 0, -i)}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all,
			ktrdr.ChainEntry{Kind: ktrdr.ChainLook, Look: &ktrdr.LookEntry{
				Key: key, Kind: ktrdr.LookByHand, Number: i + 1, Before: i, Holdout: before, Spans: spans,
			}},
			ktrdr.ChainEntry{Kind: ktrdr.ChainResult, Result: &ktrdr.ResultEntry{Key: key}})
	}
	at = len(all)
	all = append(all, ktrdr.ChainEntry{Kind: ktrdr.ChainHoldout, Holdout: &ktrdr.HoldoutEntry{
		From: confirm.From, Looks: 2, HoldoutLength: ktrdr.HoldoutLength{
			Before: before, LookedUntil: confirm.From, Until: confirm.From.AddDate(0, 4, 0), Bars: 2000, BarsBefore: 1000,
		},
	}})
	all = append(all, entries(t, b)...)
	for _, e := range all[at+1:] {
		if e.Look != nil {
			e.Look.Number, e.Look.Holdout = 3, confirm.From
		}
	}
	return b, all, at
}

func TestVerify_ALookAtANewHoldoutPaysForTheLooksThere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(all []ktrdr.ChainEntry, at int)
		want   []bundle.Flaw
	}{
		"untouched": {func([]ktrdr.ChainEntry, int) {}, nil},
		"a claim that is followed there": {func(all []ktrdr.ChainEntry, at int) {
			all[at].Holdout.Claims = []ktrdr.OperationID{"op_a"}
		}, onlyLooks},
		"a claim that came later": {func(all []ktrdr.ChainEntry, at int) {
			all[at-1], all[at] = all[at], all[at-1]
			all[at].Result.Claim = true
		}, onlyLooks},
		"a look that shows its bars": {func(all []ktrdr.ChainEntry, at int) { shift(all[0].Look, time.Hour) }, onlyLooks},
		"a look that it leaves out": {func(all []ktrdr.ChainEntry, at int) {
			all[at].Holdout.LookedUntil = all[at].Holdout.LookedUntil.AddDate(0, 0, -1)
		}, onlyLooks},
		"too few bars": {func(all []ktrdr.ChainEntry, at int) { all[at].Holdout.Bars = 999 }, onlyLooks},
		"too short": {func(all []ktrdr.ChainEntry, at int) {
			all[at].Holdout.Until = all[at].Holdout.From.AddDate(0, 1, 0)
		}, onlyLooks},
		"looks that were not counted":  {func(all []ktrdr.ChainEntry, at int) { all[at].Holdout.Looks = 1 }, onlyLooks},
		"without the new holdout":      {func(all []ktrdr.ChainEntry, at int) { all[at] = byHand(1) }, onlyLooks},
		"a look that trades before it": {func(all []ktrdr.ChainEntry, at int) { later(all, at) }, []bundle.Flaw{bundle.WrongHoldout}},
		"a look at the old holdout":    {func(all []ktrdr.ChainEntry, at int) { atTheOld(all) }, onlyLooks},
		"one that replaces an old one": {func(all []ktrdr.ChainEntry, at int) { all[at-1] = all[at] }, onlyLooks},
	} {
		t.Run(name, func(t *testing.T) {
			b, all, at := renewed(t)
			c.change(all, at)
			chain(t, b, all)
			v := verify(t, written(t, b), bundle.Options{Heads: published(b)})
			if got := slices.Compact(codes(v)); !slices.Equal(got, c.want) {
				t.Errorf("refused: %v %+v, want %v", got, v.Refused, c.want)
			}
		})
	}
}

var onlyLooks = []bundle.Flaw{bundle.WrongLooks}

// shift makes a look show bars that come later.
func shift(l *ktrdr.LookEntry, by time.Duration) {
	last := ktrdr.LookedUntil(l.Spans).Add(by)
	l.Spans = json.RawMessage(fmt.Sprintf(`[{"to":%q}]`, last.Format(time.RFC3339)))
}

// later counts the look of the claim at a holdout that begins after it trades.
func later(all []ktrdr.ChainEntry, at int) {
	for _, e := range all[at+1:] {
		if e.Look != nil {
			e.Look.Holdout = e.Look.Holdout.Add(time.Hour)
		}
	}
}

// atTheOld counts the look of the claim at the holdout before.
func atTheOld(all []ktrdr.ChainEntry) {
	for _, e := range all {
		if e.Look != nil {
			e.Look.Holdout = all[0].Look.Holdout
		}
	}
}
