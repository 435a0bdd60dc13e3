package bundle_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/research"
)

// A ledger that was made again under the name of another market has no link in common with the head
// that was published, and nothing else in the bundle tells.
func TestVerify_AMarketWithAnotherNameDoesNotEscapeThePublishedHead(t *testing.T) {
	t.Parallel()
	b := claim(t)
	chain(t, b, append(entries(t, b), byHand(1)))
	heads := published(b)
	all := entries(t, b)
	all = all[:len(all)-1] // the trial by hand is dropped

	was, is := heads[0].Market, "mkt_000000000000"
	b.Spec = bytes.ReplaceAll(b.Spec, []byte(was), []byte(is))
	b.Confirm = bytes.ReplaceAll(b.Confirm, []byte(was), []byte(is))
	e := trialIn(all, b.Manifest.Research)
	e.Spec, e.TrialFacts = sha256.Sum256(b.Spec), research.MadeFrom(b.Spec, string(b.Strategy))
	for _, x := range all {
		if x.Look != nil {
			x.Look.Spec = sha256.Sum256(b.Confirm)
		}
	}
	b.Ledgers = map[string][]ktrdr.ChainLink{is: make([]ktrdr.ChainLink, 1)}
	chain(t, b, all)
	b = written(t, b)
	if v := verify(t, b, bundle.Options{Heads: heads}); !slices.Equal(codes(v), []bundle.Flaw{bundle.WrongHead}) {
		t.Errorf("refused: %+v, want %v", v.Refused, bundle.WrongHead)
	}
	// A report shows the heads of all markets: one of the bundle is enough.
	if v := verify(t, b, bundle.Options{Heads: append(heads, published(b)...)}); !v.Verified {
		t.Errorf("with a head of its own too: %+v", v.Refused)
	}
}

// The ledger of another market in the bundle, with a head that was published of it, proves nothing
// of the claim. It does if the market of the claim was merged into it.
func TestVerify_AHeadOfAnotherMarketInTheBundleProvesNothing(t *testing.T) {
	t.Parallel()
	b := claim(t)
	own := b.Heads()[0]
	other := func(e ktrdr.ChainEntry) []bundle.Head {
		const market = "mkt_000000000000"
		b.Ledgers[market] = hashed(t, market, e)
		return []bundle.Head{{ChainHead: ktrdr.ChainHead{Market: market, Links: 1, Hash: b.Ledgers[market][0].Hash}, From: "a report"}}
	}
	heads := other(byHand(1))
	if v := verify(t, written(t, b), bundle.Options{Heads: heads}); !slices.Equal(codes(v), []bundle.Flaw{bundle.WrongHead}) {
		t.Errorf("refused: %+v, want %v", v.Refused, bundle.WrongHead)
	}
	heads = other(ktrdr.ChainEntry{Kind: ktrdr.ChainMerge, Merge: &ktrdr.MergeEntry{Head: own}})
	if v := verify(t, written(t, b), bundle.Options{Heads: heads}); slices.Contains(codes(v), bundle.WrongHead) {
		t.Errorf("of the market that it was merged into: %+v", v.Refused)
	}
}
