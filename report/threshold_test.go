package report

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

func (e *pastEngine) Markets(context.Context) ([]ktrdr.Market, error) {
	return []ktrdr.Market{
		{ID: "mkt_new", Series: []ktrdr.MarketSeries{{Symbol: "NEW", Timeframe: "1d"}}},
		{ID: "mkt_a", Looks: 2, Series: []ktrdr.MarketSeries{{Symbol: "A", Timeframe: "1d"}, {Symbol: "A", Timeframe: "1h"}}},
		{ID: "mkt_other", Looks: 9},
	}, nil
}

// The shares of the looks are 1/2, 1/6, 1/12: so the third look of a market counts
// as 12, and the first as 2.
func TestThresholds_RiseWithEachLookAtAMarket(t *testing.T) {
	points := []ktrdr.TrialPoint{{Market: "mkt_new"}, {Market: "mkt_a"}, {Market: "mkt_a"}}
	got, err := NewReporter(somePast(t), nil).thresholds(t.Context(), points)
	if err != nil || len(got) != 2 || got[0].Market != "mkt_a" || got[1].Market != "mkt_new" {
		t.Fatalf("%+v, %v: want the two markets that were tried, the one with looks first", got, err)
	}
	a, first := got[0], got[1]
	if a.Name != "A 1d, 1h" || a.Looks != 2 || a.Counted != 12 || math.Abs(a.NeededP-0.02/12) > 1e-15 {
		t.Errorf("after two looks: %+v", a)
	}
	if want := -evidence.NormQuantile(0.02/12) * 1.25; a.Needed == nil || math.Abs(*a.Needed-want) > 1e-12 {
		t.Errorf("the next look needs %v, want %v", a.Needed, want)
	}
	if len(a.Newest) != 2 || a.Newest[0].Number != 1 || a.Newest[1].Number != 2 ||
		*a.Newest[1].Needed >= *a.Needed || a.Newest[1].Returns != nil {
		t.Errorf("looks %+v: want both, oldest first, each needing less than the next", a.Newest)
	}
	if first.Counted != 2 || first.NeededP != 0.01 || first.Needed != nil {
		t.Errorf("before the first look: %+v", first)
	}
	if text, err := json.Marshal(first); err != nil || !json.Valid(text) || first.Newest == nil {
		t.Errorf("%s, %v: want an empty list of looks", text, err)
	}
}
