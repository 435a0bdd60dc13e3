package library

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// Where no more series can be kept current, one that is can still be changed.
func TestFollow_ReplacesAtTheLimit(t *testing.T) {
	l := newLab(t)
	f := jobs.Follow{Source: "kraken", Symbol: "XBTUSD", Timeframe: "1h", Seconds: 3600}
	for i := range MostFollows {
		f.As = fmt.Sprintf("S%d", i)
		if err := l.store.SaveDocument(t.Context(), ktrdr.Document{
			Kind: ktrdr.FollowDocument, Name: f.Name(), Content: fmt.Sprintf(`{"as": %q, "timeframe": "1h"}`, f.As), Origin: ktrdr.DocumentFromUser,
		}, true); err != nil {
			t.Fatal(err)
		}
	}
	f.As, f.Timeframe = "S7", "1h"
	if err := l.library.Follow(t.Context(), f); err != nil {
		t.Errorf("a change: %v", err)
	}
	f.As = "ONE-MORE"
	if err := l.library.Follow(t.Context(), f); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("one more: %v, want CodeInvalid", err)
	}
}

// A series that a source keeps current would come back after it was deleted or renamed.
func TestDelete_RefusesWhatIsKeptCurrent(t *testing.T) {
	l := newLab(t)
	ctx := t.Context()
	for _, tf := range []market.Timeframe{market.H1, market.H4} {
		b := market.Synth(market.SynthConfig{Symbol: "BTC", Timeframe: tf, Bars: 300, Seed: 4})
		if _, err := l.library.Import(ctx, Import{Bars: b, Origin: ktrdr.BarsFromFile}); err != nil {
			t.Fatal(err)
		}
	}
	f := jobs.Follow{Source: "kraken", Symbol: "XBTUSD", As: "BTC", Timeframe: "1h", Seconds: 3600}
	folder := jobs.Follow{Folder: t.TempDir(), Seconds: 3600}
	for _, f := range []jobs.Follow{f, folder} {
		if err := l.library.Follow(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	const unfollow = "`ktrdr data unfollow BTC 1h`"
	if _, err := l.library.Delete(ctx, "BTC", market.H1); ktrdr.CodeOf(err) != ktrdr.CodeConflict || !strings.Contains(err.Error(), unfollow) {
		t.Errorf("deleting it: %v, want CodeConflict with %s", err, unfollow)
	}
	if _, err := NewMarkets(l.store, l.blobs).RenameSeries(ctx, l.library, "btc", "XBT"); ktrdr.CodeOf(err) != ktrdr.CodeConflict ||
		!strings.Contains(err.Error(), unfollow) {
		t.Errorf("renaming it: %v, want CodeConflict with %s", err, unfollow)
	}
	if _, err := l.library.Delete(ctx, "BTC", market.H4); err != nil {
		t.Errorf("deleting another timeframe: %v", err)
	}
	if err := l.library.Unfollow(ctx, f); err != nil {
		t.Fatal(err)
	}
	if _, err := l.library.Delete(ctx, "BTC", market.H1); err != nil {
		t.Errorf("deleting it after that: %v", err)
	}
}
