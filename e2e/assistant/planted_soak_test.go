//go:build soak

package assistant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// idea is what a planted assistant varies.
type idea struct{ period, zone, width, hold int }

func randomIdea(r *rand.Rand) idea {
	return idea{5 + r.IntN(40), 15 + r.IntN(25), 8 + r.IntN(12), 4 + r.IntN(20)}
}

// near is an idea close to one that looked good.
func (i idea) near(r *rand.Rand) idea {
	return idea{max(3, i.period+r.IntN(5)-2), max(5, i.zone+r.IntN(5)-2), max(5, i.width+r.IntN(3)-1), max(3, i.hold+r.IntN(5)-2)}
}

func (i idea) yaml(name, symbol string) string {
	return strategytest.Small("name: small", "name: "+name, "EURUSD", symbol, "epochs: 24", "epochs: 6",
		"rsi_14: {type: rsi, period: 14}", fmt.Sprintf("rsi_14: {type: rsi, period: %d}", i.period),
		"[25, 15]", fmt.Sprintf("[%d, %d]", i.zone, i.width), "[75, 15]", fmt.Sprintf("[%d, %d]", 100-i.zone, i.width),
		"max_holding_period: 12", fmt.Sprintf("max_holding_period: %d", i.hold))
}

const (
	plantedMarkets = 40 // without an edge
	plantedDesigns = 16 // on each, in generations of 4
)

// A planted assistant reads everything it can, and designs near what looked best to it:
// the lowest adjusted p-value of a look, then the highest Sharpe ratio. A blind one
// designs at random. On markets without an edge the first claims no more than the second.
func TestAssistant_ThatFitsWhatItReadsGainsNoFalseClaims(t *testing.T) {
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(2, "KTRDR_GENERATION=4", "KTRDR_MAX_RESEARCHES=8")
	a := overStdio(t, l)
	claims := map[bool]int{} // markets with a claim, by whether the assistant reads
	for m := range plantedMarkets {
		for k, reads := range []bool{true, false} {
			symbol := fmt.Sprintf("M%d%t", m, reads)
			seed := uint64(1000 + 2*m + k) // the same prices would be the same market
			l.Import(market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 3000, Seed: seed}))
			if a.plant(l, symbol, reads, rand.New(rand.NewPCG(uint64(m), 7))) > 0 {
				claims[reads]++
			}
		}
	}
	reading, blind := rate(claims[true]), rate(claims[false])
	gain := reading - blind
	half := 1.96 * math.Sqrt((reading*(1-reading)+blind*(1-blind))/plantedMarkets)
	t.Logf("markets with a false claim: reading %d, blind %d of %d; gain %.3f ± %.3f", claims[true], claims[false], plantedMarkets, gain, half)
	if gain-half > 0 {
		t.Errorf("an assistant that reads gains %.3f ± %.3f false claims", gain, half)
	}
	if claims[true] > 3 { // P(more than 3 of 40 at a rate of 2 %) is below 1 %
		t.Errorf("%d of %d markets without an edge have a claim", claims[true], plantedMarkets)
	}
}

func rate(n int) float64 { return float64(n) / plantedMarkets }

// plant designs a run of researches and returns its claims.
func (a *assistant) plant(l *labtest.Lab, symbol string, reads bool, r *rand.Rand) int {
	a.Helper()
	_, handles := a.use("research", map[string]any{
		"goal": symbol + " 1h", "symbols": []string{symbol}, "count": plantedDesigns, "seed": 1, "designer": "assistant",
	})
	ideas := map[string]idea{} // by strategy
	for len(ideas) < plantedDesigns {
		a.use("wait", map[string]any{"handles": handles, "seconds": 30})
		for _, d := range a.waiting() {
			best, found := a.best(handles[0], ideas)
			next := randomIdea(r)
			if reads && found {
				next = best.near(r)
			}
			name := fmt.Sprintf("%s_%02d", strings.ToLower(symbol), len(ideas))
			a.use("design", map[string]any{"design": d.design, "hypothesis": "RSI works", "strategy": next.yaml(name, symbol)})
			ideas[name] = next
		}
	}
	a.waitFor(handles[0])
	return l.Run(handles[0]).Claims
}

var leader = regexp.MustCompile(`(?m)^op_\w+ \| <data>(\w+)</data> \| [^|]* \| ([^|]*) \|(?:[^|]*\|){5} [^|]* \| ([^|]*) \|`)

// best is the idea that looks best to a reader of the results.
func (a *assistant) best(run string, ideas map[string]idea) (best idea, found bool) {
	a.Helper()
	said, _ := a.use("results", map[string]any{"handle": run})
	score := math.Inf(-1)
	for _, m := range leader.FindAllStringSubmatch(said, -1) {
		sharpe, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}
		if p, err := strconv.ParseFloat(m[3], 64); err == nil {
			sharpe += 100 * (1 - p)
		}
		if known, ok := ideas[m[1]]; ok && sharpe > score {
			best, found, score = known, true, sharpe
		}
	}
	return best, found
}
