package e2e

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// Ten requests at once on one market: each counts all before it, and every look
// has a number of its own.
func TestRuns_TenAtOnceCountEachOther(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.MarketWith("GBPUSD", 4000, 1, 0.8)
		l.ServeWith(2)
		made := make([]research.Triggered, 10)
		var all sync.WaitGroup
		for i := range made {
			all.Go(func() {
				r := research.Request{Brief: "mean reversion on GBPUSD 1h, simple", Count: 1, Force: true, Seed: new(uint64(i))}
				made[i] = l.Research(r, fmt.Sprintf("ten-%d", i))
			})
		}
		all.Wait()
		var counted, numbers []int
		looks := 0
		for _, m := range made {
			looks += l.RunEnds(m.Run).Looks
			counted = append(counted, l.Op(m.Operation).Trials)
			for _, look := range l.Looks(m.Run) {
				numbers = append(numbers, look.Number)
			}
		}
		slices.Sort(counted)
		slices.Sort(numbers)
		if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(counted, want) {
			t.Errorf("the ten count %v trials, want each number from 1 to 10 once", counted)
		}
		if len(numbers) < 2 || len(numbers) != looks {
			t.Fatalf("%d looks with the numbers %v, want several", looks, numbers)
		}
		for i, n := range numbers {
			if n != i+1 {
				t.Errorf("looks have the numbers %v, want each from 1 on once", numbers)
				break
			}
		}
	})
}
