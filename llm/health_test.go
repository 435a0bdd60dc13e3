package llm_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/llm"
)

// A rate of success is of tries that were made: none is made up, and a try
// that failed before a success is not a success.
func TestHealth_ARateOfSuccessIsOfTries(t *testing.T) {
	for name, c := range map[string]struct {
		ends []error
		want float64
	}{
		"one failure":             {[]error{down}, 0},
		"one success":             {[]error{nil}, 1},
		"a success after two":     {[]error{down, down, nil}, 0.369},
		"a failure after success": {[]error{nil, down}, 0.474},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				a := &fake{name: "a", answer: func(_ context.Context, n int) (llm.Answer, error) { return ok("a"), c.ends[n] }}
				b := setUp(t, []*fake{a})
				for i := range c.ends {
					b.asks(fmt.Sprint("q", i))
				}
				h := b.Health()[0]
				if h.Calls != int64(len(c.ends)) || h.SuccessRate == nil || math.Abs(*h.SuccessRate-c.want) > 0.001 {
					t.Errorf("%d calls at a rate of %v, want %d at %v", h.Calls, h.SuccessRate, len(c.ends), c.want)
				}
			})
		})
	}
}

func TestHealth_NoTryIsLostAmongManyCallers(t *testing.T) {
	a := &fake{name: "a"}
	b := setUp(t, []*fake{a}, func(c *llm.ChainConfig) { c.OnDecision = nil })
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 10 {
				b.asks(fmt.Sprint("q ", i, " ", j))
			}
		})
	}
	wg.Wait()
	if h := b.Health()[0]; h.Calls != 500 || a.count() != 500 || *h.SuccessRate < 0.999999 {
		t.Errorf("%d tries are counted of %d, at a rate of %v", h.Calls, a.count(), *h.SuccessRate)
	}
}
