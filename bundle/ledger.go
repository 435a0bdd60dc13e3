package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// ledger is what the chains of a bundle say.
type ledger struct {
	chains  map[string][]ktrdr.ChainEntry
	links   map[string][]ktrdr.ChainLink
	trials  []*ktrdr.TrialEntry
	looks   []*ktrdr.LookEntry
	results []*ktrdr.ResultEntry
	at      map[any]place // of an entry above

	operations map[string]ktrdr.OperationID // that made looks, by the keys of the looks
}

type place struct {
	market   string
	position int
}

func (p place) String() string { return fmt.Sprintf("link %d of %s", p.position, p.market) }

// readLedgers follows every chain link by link, and says what does not fit.
func (v *verification) readLedgers(b *Bundle) *ledger {
	l := &ledger{chains: map[string][]ktrdr.ChainEntry{}, links: b.Ledgers, at: map[any]place{}, operations: map[string]ktrdr.OperationID{}}
	n := 0
	for _, market := range slices.Sorted(maps.Keys(b.Ledgers)) {
		var before ktrdr.Hash
		for i, link := range b.Ledgers[market] {
			e, err := ktrdr.ParseEntry([]byte(link.Entry))
			here := place{market, i + 1}
			switch {
			case err != nil:
				v.refuse(WrongChain, "%v: %v", here, err)
				return nil
			case e.Position != i+1 || e.Market != market:
				v.refuse(WrongChain, "where link %d of %s belongs, the ledger has link %d of %.40s: links were dropped, added or moved",
					i+1, market, e.Position, e.Market)
				return nil
			case ktrdr.LinkHash(before, []byte(link.Entry)) != link.Hash:
				v.refuse(WrongChain, "%v does not have the hash of its entry (%s) and of the link before: it was edited, or one before it "+
					"was dropped or moved", here, about(&e))
				return nil
			}
			if !l.take(e) {
				v.refuse(WrongChain, "%v has no entry of the kind %.20q", here, e.Kind)
				return nil
			}
			before, n = link.Hash, n+1
		}
	}
	v.pass("the ledger is a chain of %d links", n)
	for _, market := range slices.Sorted(maps.Keys(l.chains)) {
		v.countLooks(l, market)
	}
	v.orderTrials(l)
	return l
}

// take notes an entry. Exactly the member of its kind is set.
func (l *ledger) take(e ktrdr.ChainEntry) bool {
	set := 0
	for _, is := range []bool{e.Earlier != nil, e.Trial != nil, e.Look != nil, e.Result != nil, e.Merge != nil, e.Holdout != nil} {
		if is {
			set++
		}
	}
	here := place{e.Market, e.Position}
	ok := set == 1
	switch e.Kind {
	case ktrdr.ChainTrial:
		if ok = ok && e.Trial != nil; ok {
			l.trials, l.at[e.Trial] = append(l.trials, e.Trial), here
		}
	case ktrdr.ChainLook:
		if ok = ok && e.Look != nil; ok {
			l.looks, l.at[e.Look] = append(l.looks, e.Look), here
			l.operations[e.Look.Key] = e.Look.Operation
		}
	case ktrdr.ChainResult:
		if ok = ok && e.Result != nil; ok {
			l.results, l.at[e.Result] = append(l.results, e.Result), here
		}
	case ktrdr.ChainEarlier:
		ok = ok && e.Earlier != nil && e.Position == 1
	case ktrdr.ChainMerge:
		ok = ok && e.Merge != nil
	case ktrdr.ChainHoldout:
		ok = ok && e.Holdout != nil
	default:
		ok = false
	}
	l.chains[e.Market] = append(l.chains[e.Market], e)
	return ok
}

// about is an entry for people.
func about(e *ktrdr.ChainEntry) string {
	switch {
	case e.Trial != nil:
		return "trial " + nameOf(e.Trial)
	case e.Look != nil:
		return fmt.Sprintf("look %d", e.Look.Number)
	case e.Result != nil:
		return fmt.Sprintf("result of the look %.80s", e.Result.Key)
	}
	return string(e.Kind)
}

func nameOf(t *ktrdr.TrialEntry) string {
	if t.Run == "" {
		return fmt.Sprintf("%.80s by hand", t.Operation)
	}
	return fmt.Sprintf("%d/%d of %.40s", t.Generation, t.Index, t.Run)
}

// countLooks requires that every look of a market is in its chain, and pays for those
// before it at its holdout. A new holdout keeps the rules.
func (v *verification) countLooks(l *ledger, market string) {
	looks, b := 0, newBudgets()
	for i := range l.chains[market] {
		e := &l.chains[market][i]
		switch {
		case e.Earlier != nil:
			looks += e.Earlier.Looks
			b.earlier = looks > 0
		case e.Merge != nil:
			v.merged(l, e)
			looks += e.Merge.Looks
			b.merge(l, e.Merge)
		case e.Holdout != nil:
			v.renew(b, e, looks)
		case e.Result != nil:
			b.result(l, e.Result)
		case e.Look != nil:
			looks++
			if e.Look.Number != looks {
				v.refuse(WrongLooks, "link %d of %s is look %d, and look %d comes next: a look was dropped", e.Position, market, e.Look.Number, looks)
				looks = e.Look.Number
			}
			past, known := b.look(e.Look)
			if must := looks - 1 - past; e.Look.Before < must {
				v.refuse(WrongLooks, "look %d at %s pays for %s before it; there were %d at its holdout", looks, market,
					plural(e.Look.Before, "look", "looks"), must)
			}
			if !known {
				v.refuse(WrongHoldout, "look %d at %s is at a holdout from %s, and the ledger does not say that one begins there: "+
					"the holdout was swapped, or its link was dropped", looks, market, e.Look.Holdout.UTC().Format(time.RFC3339))
			}
		}
	}
}

func (v *verification) merged(l *ledger, e *ktrdr.ChainEntry) {
	h := e.Merge.Head
	links := l.links[h.Market]
	switch {
	case len(links) != h.Links:
		v.refuse(WrongChain, "link %d of %s ends the ledger of %.40s with %d links, and the bundle has %d of it",
			e.Position, e.Market, h.Market, h.Links, len(links))
	case h.Links > 0 && links[h.Links-1].Hash != h.Hash:
		v.refuse(WrongChain, "link %d of %s ends the ledger of %.40s with another hash than the bundle has", e.Position, e.Market, h.Market)
	}
}

// orderTrials requires that no trial of a run is missing between others, and that
// they are in the order of generation and index. A trial that was tried again comes
// later.
func (v *verification) orderTrials(l *ledger) {
	for _, market := range slices.Sorted(maps.Keys(l.chains)) {
		if first := l.chains[market][0]; first.Earlier != nil && first.Earlier.Trials > 0 {
			return // trials of a run may have ended before the chain began
		}
	}
	type spot struct{ generation, index int }
	runs := map[string]map[spot]bool{}
	last := map[string]map[string]spot{}
	for _, t := range l.trials {
		if t.Run == "" || t.Type != ktrdr.AgentResearch {
			continue
		}
		if runs[t.Run] == nil {
			runs[t.Run], last[t.Run] = map[spot]bool{}, map[string]spot{}
		}
		s, market := spot{t.Generation, t.Index}, l.at[t].market
		if again := runs[t.Run][s]; t.Amends > 0 || again {
			runs[t.Run][s] = true
			continue
		}
		if before, ok := last[t.Run][market]; ok && (s.generation < before.generation || s.generation == before.generation &&
			s.index < before.index) {
			v.refuse(WrongOrder, "%v, trial %s, comes after trial %d/%d: the order was changed", l.at[t], nameOf(t), before.generation, before.index)
		}
		runs[t.Run][s], last[t.Run][market] = true, s
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		largest := map[int]int{}
		for s := range runs[run] {
			largest[s.generation] = max(largest[s.generation], s.index)
		}
		for _, g := range slices.Sorted(maps.Keys(largest)) {
			for i := range min(largest[g], len(l.trials)+1) {
				if !runs[run][spot{g, i}] {
					v.refuse(DroppedTrial, "trial %d/%d of %.40s is missing: it was dropped from the ledger", g, i, run)
				}
				if len(v.Refused) == mostRefusals {
					return // the report is full; a forged index can be so large that the search would not end
				}
			}
		}
		if v.size > 0 && run == v.run {
			for g := range len(largest) {
				if _, ok := largest[g]; !ok || g < len(largest)-1 && largest[g] != v.size-1 {
					v.refuse(DroppedTrial, "generation %d of %.40s has %d trials, and its spec says %d: one was dropped from the ledger",
						g, run, largest[g]+1, v.size)
				}
			}
		}
	}
}

// trialOf is the newest entry of a research.
func (l *ledger) trialOf(op ktrdr.OperationID) (newest *ktrdr.TrialEntry) {
	for _, t := range l.trials {
		if t.Operation == op && (newest == nil || l.at[newest].position < l.at[t].position) {
			newest = t
		}
	}
	return newest
}

func (l *ledger) looksOf(key string) (all []*ktrdr.LookEntry) {
	for _, e := range l.looks {
		if e.Key == key {
			all = append(all, e)
		}
	}
	return all
}

func (l *ledger) resultsOf(key string) (all []*ktrdr.ResultEntry) {
	for _, e := range l.results {
		if e.Key == key {
			all = append(all, e)
		}
	}
	return all
}

// spanHashes are the hashes of the bars that a look names.
func spanHashes(spans json.RawMessage) (hashes []ktrdr.Hash) {
	var all []struct {
		Hash ktrdr.Hash `json:"bars_hash"`
	}
	if json.Unmarshal(spans, &all) != nil {
		return nil
	}
	for _, s := range all {
		hashes = append(hashes, s.Hash)
	}
	return hashes
}
