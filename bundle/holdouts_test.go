package bundle_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
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
		"looks that were not counted": {func(all []ktrdr.ChainEntry, at int) { all[at].Holdout.Looks = 1 }, onlyLooks},
		"without the new holdout": {func(all []ktrdr.ChainEntry, at int) { all[at] = byHand(1) }, []bundle.Flaw{
			bundle.WrongLooks, bundle.WrongHoldout,
		}},
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

// Which claims a new holdout counts is checked against the ledger. When a claim was retired
// is not in the ledger, so a claim that is left out is named.
func TestVerify_TheClaimsOfANewHoldoutAreThoseOfTheLedger(t *testing.T) {
	const (
		listed  = "counts each claim before it: 1 claim"
		leftOut = "It does not count 1 claim (op_a) as followed"
		edited  = "may have been edited"
	)
	for name, c := range map[string]struct {
		claims    []ktrdr.OperationID
		published bool
		before    int // looks that the look of the claim pays for
		want      []bundle.Flaw
		says      []string
		not       []string
	}{
		"all of them":                 {[]ktrdr.OperationID{"op_a"}, false, 1, nil, []string{listed}, []string{leftOut, edited}},
		"one is left out":             {nil, false, 0, nil, []string{leftOut, edited}, []string{listed}},
		"and a head was published":    {nil, true, 0, nil, []string{leftOut}, []string{listed, edited}},
		"one that is not there":       {[]ktrdr.OperationID{"op_a", "op_b"}, true, 2, onlyLooks, []string{"it counts the claim op_b"}, nil},
		"one is counted twice":        {[]ktrdr.OperationID{"op_a", "op_a"}, true, 2, onlyLooks, []string{"it counts the claim op_a"}, nil},
		"one is counted and not paid": {[]ktrdr.OperationID{"op_a"}, true, 0, onlyLooks, []string{"there were 1 at its holdout"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, all, at := renewed(t)
			all[0].Look.Operation, all[1].Result.Claim = "op_a", true
			all[at].Holdout.Claims = c.claims
			for _, e := range all[at+1:] {
				if e.Look != nil {
					e.Look.Before = c.before
				}
			}
			chain(t, b, all)
			var o bundle.Options
			if c.published {
				o.Heads = published(b)
			}
			v := verify(t, written(t, b), o)
			if got := slices.Compact(codes(v)); !slices.Equal(got, c.want) {
				t.Errorf("refused: %v %+v, want %v", got, v.Refused, c.want)
			}
			said := fmt.Sprint(v.Passed, v.Refused, v.Warnings)
			for _, text := range c.says {
				if !strings.Contains(said, text) {
					t.Errorf("it does not say %q: %s", text, said)
				}
			}
			for _, text := range c.not {
				if strings.Contains(said, text) {
					t.Errorf("it says %q: %s", text, said)
				}
			}
		})
	}
}

// A claim of a market that was merged is a claim of the market that is left.
func TestVerify_AMergedMarketBringsItsClaims(t *testing.T) {
	b, all, at := renewed(t)
	other := "mkt_000000000000"
	spans := all[0].Look.Spans
	ledger := hashed(t, other,
		ktrdr.ChainEntry{Kind: ktrdr.ChainLook, Look: &ktrdr.LookEntry{
			Key: "m", Operation: "op_m", Kind: ktrdr.LookByHand, Number: 1, Spans: spans,
		}},
		ktrdr.ChainEntry{Kind: ktrdr.ChainResult, Result: &ktrdr.ResultEntry{Key: "m", Claim: true}})
	all = slices.Insert(all, at, ktrdr.ChainEntry{Kind: ktrdr.ChainMerge, Merge: &ktrdr.MergeEntry{
		Head: ktrdr.ChainHead{Market: other, Links: 2, Hash: ledger[1].Hash}, Looks: 1,
	}})
	all[at+1].Holdout.Looks = 3
	for _, e := range all[at+2:] {
		if e.Look != nil {
			e.Look.Number = 4
		}
	}
	chain(t, b, all) // while the first market is the only one
	b.Ledgers[other] = ledger
	v := verify(t, written(t, b), bundle.Options{})
	if said := fmt.Sprint(v.Warnings); len(v.Refused) > 0 || !strings.Contains(said, "It does not count 1 claim (op_m) as followed") {
		t.Errorf("refused %+v, warned %s: want a warning that names op_m", v.Refused, said)
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

// Who makes a chain again can write as many holdouts, claims and indexes as fit into a file.
// The time and the words that a check takes do not grow with their product.
func TestVerify_ManyHoldoutsAndClaimsAreCheckedInTime(t *testing.T) {
	b, all, at := renewed(t)
	holdout, looks := *all[at].Holdout, 2
	many := slices.Clone(all[:at])
	for i := range 3000 {
		key := fmt.Sprint("claim", i)
		looks++
		many = append(many, ktrdr.ChainEntry{Kind: ktrdr.ChainLook, Look: &ktrdr.LookEntry{
			Key: key, Operation: ktrdr.OperationID(key), Kind: ktrdr.LookByHand, Number: looks, Before: looks - 1,
			Holdout: all[0].Look.Holdout, Spans: all[0].Look.Spans,
		}}, ktrdr.ChainEntry{Kind: ktrdr.ChainResult, Result: &ktrdr.ResultEntry{Key: key, Claim: true}})
	}
	for i := range 3000 {
		h := holdout
		h.Looks, h.From = looks, h.From.Add(time.Duration(i)*time.Hour)
		many = append(many, ktrdr.ChainEntry{Kind: ktrdr.ChainHoldout, Holdout: &h})
	}
	chain(t, b, append(many, all[at+1:]...))
	before := allocated()
	v := verify(t, written(t, b), bundle.Options{})
	if used := (allocated() - before) >> 20; used > 200 { // 800 where each holdout kept all claims that it leaves out
		t.Errorf("%d MiB were allocated", used)
	}
	if said := fmt.Sprint(v.Warnings); len(v.Warnings) > 30 || !strings.Contains(said, "(claim0, claim1, claim2, 2997 others)") ||
		!strings.Contains(said, "979 other new holdouts do not count each claim either") {
		t.Errorf("%d warnings: %.2000s", len(v.Warnings), said)
	}
	if len(v.Refused) == 0 || v.Verified {
		t.Error("holdouts that keep no rule are not refused")
	}
}

// The number of trials times the number of generations is no bound that a check can wait for.
func TestVerify_LargeIndexesAreRefusedInTime(t *testing.T) {
	b := claim(t)
	var all []ktrdr.ChainEntry
	for i := range 40_000 {
		e := byHand(i)
		e.Trial.Type, e.Trial.Run, e.Trial.Generation, e.Trial.Index = ktrdr.AgentResearch, "run", i, 1<<40
		all = append(all, e)
	}
	chain(t, b, append(all, entries(t, b)...))
	began := time.Now()
	v := verify(t, written(t, b), bundle.Options{})
	if took := time.Since(began); took > 2*time.Minute { // 3 seconds; where each trial is looked for among all, several minutes
		t.Errorf("it took %v", took)
	}
	if got := slices.Compact(codes(v)); !slices.Equal(got, []bundle.Flaw{bundle.DroppedTrial}) {
		t.Errorf("refused: %v, want %v", got, bundle.DroppedTrial)
	}
}

// allocated is how many bytes were allocated until now.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
