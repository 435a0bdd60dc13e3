package library

import (
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
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
