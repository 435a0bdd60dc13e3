//go:build soak

package assistant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// idea is what a planted assistant varies.
type idea struct{ period, hold, width int }

func randomIdea(r *rand.Rand) idea { return idea{5 + r.IntN(60), 4 + r.IntN(30), 4 + r.IntN(24)} }

// near is an idea close to one that looked good.
func (i idea) near(r *rand.Rand) idea {
	return idea{max(3, i.period+r.IntN(5)-2), max(3, i.hold+r.IntN(3)-1), i.width}
}

// yaml is a strategy that trades often, as the built-in designer writes them.
func (i idea) yaml(name, symbol string) string {
	return fmt.Sprintf(`
name: %s
version: "3.0"
training_data:
  symbols: {mode: single, symbol: %s}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 250
indicators:
  rsi: {type: rsi, period: %d}
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: rsi, timeframes: all, normalization: zscore}
model:
  type: mlp
  architecture: {hidden_layers: [%d], activation: relu}
decisions: {output_format: classification, confidence_threshold: 0.34, allow_short_from_flat: true}
training:
  labels: {source: triple_barrier, pt_multiplier: 1.0, sl_multiplier: 1.0, max_holding_period: %d, vol_span: 50, vol_method: ewm}
  epochs: 8
  batch_size: 256
  learning_rate: 0.005
  class_weights: auto
  data_split: {train: 0.5, validation: 0.15, test: 0.35}
backtest: {initial_capital: 100000, commission: 1.0e-05, slippage: 0, spread: 0, size_mode: fraction, position_size: 0.5}
`, name, symbol, i.period, i.width, i.hold)
}

const (
	plantedMarkets = 40 // without an edge
	plantedDesigns = 6  // on each, in generations of 1: each may learn from all before it
)

// A planted assistant reads everything it can, and designs near what looked best to it:
// the lowest adjusted p-value of a look, then the highest Sharpe ratio. A blind one
// designs at random. On markets without an edge the first claims no more than the second.
func TestAssistant_ThatFitsWhatItReadsGainsNoFalseClaims(t *testing.T) {
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	// wide gates and low costs, so that some reach a look
	l.ServeWith(2, "KTRDR_GENERATION=1", "KTRDR_MAX_RESEARCHES=8", "KTRDR_COSTS=*=0.1/0.1/0.1", "TRAINING_GATE_MAX_LOSS=10",
		"BACKTEST_GATE_MIN_SHARPE=-100", "BACKTEST_GATE_MIN_WIN_RATE=0", "BACKTEST_GATE_MAX_DRAWDOWN=1", "BACKTEST_GATE_MIN_TRADES=1")
	a := overStdio(t, l)
	claims, looks := map[bool]int{}, map[bool]int{} // by whether the assistant reads; claims counts markets with one
	learned := 0                                    // designs of the assistant that reads, after a look
	for m := range plantedMarkets {
		for k, reads := range []bool{true, false} {
			symbol := fmt.Sprintf("M%d%t", m, reads)
			seed := uint64(1000 + 2*m + k) // the same prices would be the same market
			l.Import(market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 6000, Seed: seed}))
			run, near := a.plant(l, symbol, reads, rand.New(rand.NewPCG(uint64(m), 7)))
			learned += near
			looks[reads] += run.Looks
			claims[reads] += min(run.Claims, 1)
		}
	}
	low, high := gain(claims[true], claims[false])
	t.Logf("markets with a false claim: reading %d, blind %d of %d; gain between %.3f and %.3f (95 %%); looks: reading %d, blind %d; "+
		"%d designs use the p-value of a look", claims[true], claims[false], plantedMarkets, low, high, looks[true], looks[false], learned)
	if learned == 0 {
		t.Error("the assistant that reads made no design from the p-value of a look: it learned nothing from a holdout")
	}
	if low > 0 {
		t.Errorf("an assistant that reads gains between %.3f and %.3f false claims", low, high)
	}
	if claims[true] > 3 { // P(more than 3 of 40 at a rate of 2 %) is below 1 %
		t.Errorf("%d of %d markets without an edge have a claim", claims[true], plantedMarkets)
	}
}

// gain is a 95 % interval of the difference of two rates, by Newcombe's method: it is
// of use where both are near 0.
func gain(reading, blind int) (low, high float64) {
	p, l1, u1 := wilson(reading)
	q, l2, u2 := wilson(blind)
	return p - q - math.Hypot(p-l1, u2-q), p - q + math.Hypot(u1-p, q-l2)
}

// wilson is a rate of the markets with its 95 % interval.
func wilson(k int) (rate, low, high float64) {
	const n, z = plantedMarkets, 1.96
	rate = float64(k) / n
	middle, half := (rate+z*z/(2*n))/(1+z*z/n), z/(1+z*z/n)*math.Sqrt(rate*(1-rate)/n+z*z/(4*n*n))
	return rate, max(0, middle-half), min(1, middle+half)
}

// plant designs a run of researches. It returns the run, and how many designs were
// made from what a look had told.
func (a *assistant) plant(l *labtest.Lab, symbol string, reads bool, r *rand.Rand) (run ktrdr.Run, learned int) {
	a.Helper()
	_, handles := a.use("research", map[string]any{
		"goal": symbol + " 1h", "symbols": []string{symbol}, "count": plantedDesigns, "seed": 1, "designer": "assistant",
	})
	ideas := map[string]idea{} // by strategy
	for len(ideas) < plantedDesigns {
		a.use("wait", map[string]any{"handles": handles, "seconds": 30})
		for _, d := range a.waiting() {
			next := randomIdea(r)
			said, _ := a.use("results", map[string]any{"handle": handles[0]})
			if known := leaders(said); reads && len(known) > 0 {
				next = ideas[best(known).strategy].near(r)
				if looked(known) {
					learned++
				}
			}
			name := fmt.Sprintf("%s_%02d", strings.ToLower(symbol), len(ideas))
			a.use("design", map[string]any{"design": d.design, "hypothesis": "RSI works", "strategy": next.yaml(name, symbol)})
			ideas[name] = next
		}
	}
	a.waitFor(handles[0])
	return l.Run(handles[0]), learned
}
