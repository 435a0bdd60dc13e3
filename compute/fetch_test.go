package compute

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/market"
)

// A fetch that was stopped counts no piece of an address that was changed meanwhile as done.
func TestFetch_StartsOverWhereItsPiecesAreOthers(t *testing.T) {
	pieces := func(address string) []fetch.Piece {
		f, err := fetch.New(fetch.Config{Addresses: map[string]ktrdr.Secret{"mine": ktrdr.Secret(address)}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := f.Pieces(fetch.Request{Source: "mine", Symbol: "A", Timeframe: market.H1, From: 1704067200, To: 1767225600})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	months, years := pieces("https://x.example/{symbol}-{year}-{month}.csv"), pieces("https://x.example/{symbol}-{year}.csv")
	got := &fetched{}
	for i, piece := range months[:5] {
		if !got.isOf(months) || got.isOf(years) != (i == 0) {
			t.Errorf("after %d months: of months %v, of years %v", i, got.isOf(months), got.isOf(years))
		}
		got.take(fetch.Fetched{Bars: &market.Bars{}}, piece)
	}
}
