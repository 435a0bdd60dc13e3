package report

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// manyMarkets is a lab with more markets than a report shows heads.
type manyMarkets struct{ Engine }

func (manyMarkets) Markets(context.Context) (all []ktrdr.Market, err error) {
	for i := range mostHeads + 10 {
		id := fmt.Sprintf("mkt_%012d", i)
		all = append(all, ktrdr.Market{ID: id, Head: ktrdr.ChainHead{Market: id, Links: 1 + i}})
	}
	return all, nil
}

// Who keeps a report can later prove its claims only with the heads of their markets.
func TestReport_HasTheHeadsOfTheMarketsOfItsClaims(t *testing.T) {
	l := &lookback{Reporter: Reporter{engine: manyMarkets{}}}
	const claimed = "mkt_000000000057"
	l.out.Claims = []Leader{{Trial: ktrdr.Trial{Market: claimed}}}
	if err := l.readHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	markets := map[string]bool{}
	for _, h := range l.out.Heads {
		markets[h.Market] = true
	}
	if len(markets) != mostHeads || !markets[claimed] {
		t.Errorf("%d heads, that of the claim's market among them: %v", len(markets), markets[claimed])
	}
	if !slices.ContainsFunc(l.out.Heads, func(h ktrdr.ChainHead) bool { return h.Market == "mkt_000000000000" }) {
		t.Error("the oldest market has no head")
	}
}
