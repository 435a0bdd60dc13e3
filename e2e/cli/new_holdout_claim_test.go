package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// A claim at a new holdout is exported and verified like any other. What is refused is
// named, also when each hash of the ledger was made again.
func TestClaim_AtANewHoldoutIsVerified(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := market.Synth(market.SynthConfig{Symbol: "SYNTH", Timeframe: market.H1, Bars: 24_000, Seed: 101, Edge: 0.5})
	const first = 20_000 // a fifth of them is the holdout
	l.imports(all.Slice(0, first))
	l.serve()
	goal := []string{"research", "mean reversion on SYNTH 1h", "--count", "8", "--seed", "101", "--costs", "SYNTH=0.5/0/0", "--follow"}
	l.must(goal...)
	l.imports(all.Slice(first, all.Len()), "--append")
	from := time.Unix(market.H1.End(all.Time[first-1]), 0).UTC()
	l.must(append(goal, "--holdout-from", from.Format("2006-01-02 15:04"))...)
	page, err := l.client().Looks(t.Context(), ktrdr.LookQuery{Claims: true, Limit: 10})
	if err != nil || len(page.Looks) != 2 || !page.Looks[0].Markets[0].Holdout.Equal(from) {
		t.Fatalf("looks that claim: %+v (%v), want the newer of two at the holdout from %v", page.Looks, err, from)
	}
	older, newer := page.Looks[1], page.Looks[0]
	if newer.Before != 1 { // the older claim is followed over its bars
		t.Errorf("the look at the new holdout pays for %d before it, want 1", newer.Before)
	}
	file, report := filepath.Join(t.TempDir(), "claim.zip"), filepath.Join(t.TempDir(), "report.html")
	l.must("claim", "export", string(newer.Operation), file, "--bars")
	l.must("report", "--since", "12h", "--html", report)

	other := newLab(t)
	said := other.must("claim", "verify", file, "--head", report)
	if !strings.HasSuffix(strings.TrimSpace(said), "Verified.") || !strings.Contains(said, "goes through the published head") ||
		!strings.Contains(said, "counts each claim before it: 1 claim") || strings.Contains(said, " ! ") {
		t.Errorf("the claim is not verified:\n%s", said)
	}

	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	holdout := func(chain []ktrdr.ChainEntry) int {
		return slices.IndexFunc(chain, func(e ktrdr.ChainEntry) bool { return e.Holdout != nil })
	}
	for name, c := range map[string]struct {
		edit func(b *bundle.Bundle, chain []ktrdr.ChainEntry) []ktrdr.ChainEntry
		says string
		head bool // only a head that was published tells
	}{
		"the bars of the holdout are those of the older claim": {func(b *bundle.Bundle, chain []ktrdr.ChainEntry) []ktrdr.ChainEntry {
			was, err := ktrdr.ParseSpec[research.ConfirmSpec](l.op(string(older.Operation)).Spec)
			is, err2 := ktrdr.ParseSpec[research.ConfirmSpec](b.Confirm)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			b.Confirm = bytes.ReplaceAll(b.Confirm, []byte(is.Holdout[0].Hash.String()), []byte(was.Holdout[0].Hash.String()))
			return chain
		}, "the holdout was swapped", false},
		"the new holdout is dropped": {func(_ *bundle.Bundle, chain []ktrdr.ChainEntry) []ktrdr.ChainEntry {
			return slices.Delete(chain, holdout(chain), holdout(chain)+1)
		}, "the ledger does not say that one begins there", false},
		"it begins an hour earlier": {func(_ *bundle.Bundle, chain []ktrdr.ChainEntry) []ktrdr.ChainEntry {
			h := chain[holdout(chain)].Holdout
			h.From = h.From.Add(-time.Hour)
			return chain
		}, "a new holdout begins after the bars of every look", false},
		"the older look is dropped": {func(_ *bundle.Bundle, chain []ktrdr.ChainEntry) []ktrdr.ChainEntry {
			return slices.DeleteFunc(chain, func(e ktrdr.ChainEntry) bool {
				return e.Look != nil && e.Look.Operation == older.Operation || e.Result != nil && e.Result.Key == string(older.Operation)
			})
		}, "a look was dropped", false},
		"the older claim is not counted": {func(_ *bundle.Bundle, chain []ktrdr.ChainEntry) []ktrdr.ChainEntry {
			chain[holdout(chain)].Holdout.Claims = nil
			return chain
		}, "It does not count 1 claim (" + string(older.Operation) + ") as followed over its bars", true},
	} {
		b, err := bundle.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		id := b.Heads()[0].Market
		var chain []ktrdr.ChainEntry
		for _, link := range b.Ledgers[id] {
			e, err := ktrdr.ParseEntry([]byte(link.Entry))
			if err != nil {
				t.Fatal(err)
			}
			chain = append(chain, e)
		}
		b.Ledgers[id] = hashed(t, id, c.edit(b, chain))
		tampered := filepath.Join(t.TempDir(), "tampered.zip")
		var content bytes.Buffer
		if err := bundle.Write(&content, b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tampered, content.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		alone, headed := other.run("claim", "verify", tampered), other.run("claim", "verify", tampered, "--head", report)
		if headed.code != exitFailed || !strings.Contains(headed.out, "REFUSED.") {
			t.Errorf("%s: verified with a head: %v", name, headed)
		}
		if !strings.Contains(alone.out, c.says) || alone.code != exitFailed && !c.head {
			t.Errorf("%s: without a head it does not say %q: %v", name, c.says, alone)
		}
	}
}

// hashed makes the ledger of a market again: each hash fits.
func hashed(t *testing.T, id string, chain []ktrdr.ChainEntry) (links []ktrdr.ChainLink) {
	t.Helper()
	var before ktrdr.Hash
	for i, e := range chain {
		e.Market, e.Position = id, i+1
		text, err := ktrdr.EncodeEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		before = ktrdr.LinkHash(before, text)
		links = append(links, ktrdr.ChainLink{Market: id, Position: i + 1, Hash: before, Entry: string(text)})
	}
	return links
}
