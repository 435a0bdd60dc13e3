package designer_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
)

// The designs for one symbol and one timeframe, as they were before designs could
// read longer timeframes: all proposals of a run of five generations, in one hash.
func TestDesign_OneTimeframeGivesTheDesignsItAlwaysGave(t *testing.T) {
	const want = "764493806349013f18f475562b94d9fdf9817e634731151a3e0798a3d6d50ab5"
	brief := briefOf("trend or mean reversion with rsi on EURUSD 1h")
	h := sha256.New()
	var past []designer.Experiment
	for generation := range 5 {
		var tried []designer.Experiment
		for index := range 8 {
			p, err := designer.Design(brief, 11, generation, index, past, halfABasisPoint)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			h.Write(text)
			sharpe := float64((7*index+3*generation)%11)/4 - 1
			reasons := [][]designer.Reason{nil, {{Code: "costs"}}, {{Code: "sharpe"}}, {{Code: "decay"}}, {{Code: "too_few_trades"}}}[(index+generation)%5]
			tried = append(tried, designer.Experiment{
				Generation: generation, Index: index, Key: p.Key, Genome: &p.Genome,
				Outcome: designer.Outcome{Sharpe: &sharpe, Trades: 50 + index, Reasons: reasons},
			})
		}
		past = append(past, tried...)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the designs have the hash %s, want %s", got, want)
	}
}
