package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Head is a head of a ledger that was published, and where it was found.
type Head struct {
	ktrdr.ChainHead
	From string // for people, such as the name of a file
	// Known is the chain of a lab that has it, to name what differs; nil where only the
	// head is known.
	Known []ktrdr.ChainLink
}

// HeadsIn finds the heads in a text: a report, its file, a message of the webhook.
func HeadsIn(text []byte, from string) (heads []Head) {
	for _, found := range ktrdr.HeadPattern.FindAll(text, 1000) {
		var h ktrdr.ChainHead
		if h.UnmarshalText(found) == nil && !slices.ContainsFunc(heads, func(known Head) bool { return known.ChainHead == h }) {
			heads = append(heads, Head{ChainHead: h, From: from})
		}
	}
	return heads
}

// checkHeads compares the chains with heads that were published. One of them has to be of a
// market of the claim.
func (v *verification) checkHeads(l *ledger, heads []Head, claim []place) {
	covered := false          // the claim lies before a head
	until := map[string]int{} // how many links of each chain lie before a head
	ours := false             // a head is of the market of the claim
	var others []string       // markets of heads that say nothing of the claim
	for _, h := range heads {
		market, ok := v.find(l, &h)
		switch {
		case ok && (len(claim) == 0 || slices.ContainsFunc(claim, func(p place) bool { return l.reaches(market)[p.market] })):
			ours = true
		case market != "" && !slices.Contains(others, market):
			others = append(others, market)
		}
		if !ok {
			continue
		}
		links := l.links[market]
		if len(h.Known) > len(links) && len(links) > 0 { // the bundle is older than what is known
			h.Links, h.Hash = len(links), h.Known[len(links)-1].Hash
		}
		switch {
		case h.Links > len(links):
			v.refuse(WrongHead, "the head of %s has %d links, and the bundle has %d: %s dropped from the ledger, or the bundle was exported before "+
				"the head was published (%s)", market, h.Links, len(links), plural(h.Links-len(links), "link was", "links were"), h.From)
		case h.Links > 0 && links[h.Links-1].Hash != h.Hash:
			v.refuse(WrongHead, "link %d of %s has the hash %.12s, and the published head has %.12s: the chain was made again, and at least one "+
				"entry up to there was edited, added or dropped (%s)", h.Links, market, links[h.Links-1].Hash, h.Hash, h.From)
			v.nameDifference(l, market, h.Known)
		default:
			v.pass("the ledger of %s goes through the published head of %d links (%s)", market, h.Links, h.From)
			covered = covered || slices.ContainsFunc(claim, func(p place) bool { return p.market == market && p.position <= h.Links })
			until[market] = max(until[market], h.Links)
		}
	}
	switch {
	case !ours && len(others) > 0: // a ledger that was made again can be given another market's name
		v.refuse(WrongHead, "the published heads are of %s, and the claim is in the ledger of %s: it is a claim of another market, or its "+
			"ledger was made again under another name. Give a head of its market with --head.", firstOf(others), firstOf(marketsOf(claim)))
	case !ours:
		v.warn("no head of this ledger is known here: a chain that was made again cannot be told. Give --head with a head that was " +
			"published, or a report that shows it.")
	case !covered && len(v.Refused) == 0:
		v.warn("the claim was added after the heads that are known: what lies between them and the claim may have been made again. Give a " +
			"later head with --head.")
	}
	v.warnOfUnlisted(until)
}

// find is the chain that a head belongs to. A head that was given as a hash alone is
// looked for in all.
func (v *verification) find(l *ledger, h *Head) (string, bool) {
	if h.Market != "" {
		_, ok := l.links[h.Market]
		return h.Market, ok
	}
	for _, market := range slices.Sorted(maps.Keys(l.links)) {
		for _, link := range l.links[market] {
			if link.Hash == h.Hash {
				h.Links = link.Position
				return market, true
			}
		}
	}
	v.refuse(WrongHead, "no link has the published hash %.12s: the chain was made again, and at least one entry was edited, added or "+
		"dropped (%s)",
		h.Hash, h.From)
	return "", false
}

// reaches are the markets whose entries a head of a market proves: its own, and those that were
// merged into it.
func (l *ledger) reaches(market string) map[string]bool {
	all := map[string]bool{}
	for next := []string{market}; len(next) > 0; next = next[1:] {
		if all[next[0]] {
			continue
		}
		all[next[0]] = true
		for i := range l.chains[next[0]] {
			if m := l.chains[next[0]][i].Merge; m != nil {
				next = append(next, m.Head.Market)
			}
		}
	}
	return all
}

// marketsOf are the markets of some places.
func marketsOf(places []place) (all []string) {
	for _, p := range places {
		all = append(all, p.market)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// firstOf names at most three markets.
func firstOf(markets []string) string {
	const most = 3
	if more := len(markets) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(markets[:most], ", "), more)
	}
	return strings.Join(markets, ", ")
}

// nameDifference names the first entry that differs from a chain that is known.
func (v *verification) nameDifference(l *ledger, market string, known []ktrdr.ChainLink) {
	for i, link := range known {
		if i >= len(l.links[market]) {
			return
		}
		if link.Entry == l.links[market][i].Entry {
			continue
		}
		was, err := ktrdr.ParseEntry([]byte(link.Entry))
		if err != nil {
			return
		}
		is := l.chains[market][i]
		switch {
		case was.Trial != nil && is.Trial != nil && was.Trial.Key == is.Trial.Key:
			for _, d := range differences(was.Trial, is.Trial) {
				v.refuse(d.code, "link %d of %s, trial %s: %s", i+1, market, nameOf(was.Trial), d.text)
			}
		case was.Trial != nil:
			v.refuse(DroppedTrial, "link %d of %s is trial %s in the lab, and %s in the bundle: a trial was dropped, added or moved",
				i+1, market, nameOf(was.Trial), about(&is))
		default:
			v.refuse(WrongChain, "link %d of %s is %s in the lab, and %s in the bundle: they differ", i+1, market, about(&was), about(&is))
		}
		return
	}
}

func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
