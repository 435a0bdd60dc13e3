package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// newSeries is a series that was compared with as many as seen.
func newSeries(symbol string, seen int) ktrdr.NewSeries {
	return ktrdr.NewSeries{Seen: &seen, MarketSeries: ktrdr.MarketSeries{
		Symbol: symbol, Timeframe: "1h", Hash: ktrdr.Hash{symbol[0]}, Bars: 10,
		First: time.Unix(3600, 0).UTC(), Last: time.Unix(39600, 0).UTC(),
		Prices: ktrdr.Artifact{Name: "prices", SHA256: ktrdr.Hash{symbol[0], 1}, Size: 20}, Reason: "new market",
	}}
}

var comparisons = map[string]func(*lab){
	"SeriesAreListedOldestFirst": func(l *lab) {
		all, err := l.Series(l.ctx())
		l.must(err)
		same(l, "series of an empty ledger", len(all), 0)
		var want []ktrdr.MarketSeries
		for i, symbol := range []string{"C", "A", "B"} {
			added, err := l.AddSeries(l.ctx(), newSeries(symbol, i))
			l.must(err)
			want = append(want, added)
		}
		first := want[0]
		slices.SortStableFunc(want, func(a, b ktrdr.MarketSeries) int { // of one instant by symbol
			return cmp.Or(a.AddedAt.Compare(b.AddedAt), cmp.Compare(a.Symbol, b.Symbol))
		})
		all, err = l.Series(l.ctx())
		l.must(err)
		same(l, "series", all, want)
		again, err := l.AddSeries(l.ctx(), newSeries("C", 3))
		l.must(err)
		same(l, "a series that was there", again, first)
	},

	"ASeriesIsComparedWithAllOthersBeforeItIsAdded": func(l *lab) {
		_, err := l.AddSeries(l.ctx(), newSeries("A", 0))
		l.must(err)
		_, err = l.AddSeries(l.ctx(), newSeries("B", 0))
		l.refused(err, ktrdr.CodeConflict)
		_, err = l.AddSeries(l.ctx(), newSeries("B", 1))
		l.must(err)
	},

	"OfSeriesThatAreComparedAtOnceOneIsAdded": func(l *lab) {
		const n = 6
		var added atomic.Int64
		each(n, n, func(i int) {
			_, err := l.AddSeries(l.ctx(), newSeries(string(rune('A'+i)), 0))
			if err == nil {
				added.Add(1)
			} else {
				l.refused(err, ktrdr.CodeConflict)
			}
		})
		same(l, "series that were added", added.Load(), 1)
	},

	"BlobRefsNameThePricesOfSeries": func(l *lab) {
		_, err := l.AddSeries(l.ctx(), newSeries("A", 0))
		l.must(err)
		without := newSeries("B", 1)
		without.Prices = ktrdr.Artifact{}
		_, err = l.AddSeries(l.ctx(), without)
		l.must(err)
		var got []string
		for ref, err := range l.BlobRefs(l.ctx()) {
			l.must(err)
			got = append(got, fmt.Sprint(ref.Series, " ", ref.SHA256 == ktrdr.Hash{'A', 1}, " ", ref.Size))
		}
		sameSet(l, "references", got, "A 1h true 20")
		for range l.BlobRefs(l.ctx()) {
			break // a reader may stop early
		}
	},
}
