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
	for goal, want := range map[string]string{
		"simple, with rsi on EURUSD 1h":                 "29be158d9dd223b025cbd5fa8f82149d9ba9df1e59c458e4addf402a9c5d9e50",
		"trend or mean reversion with rsi on EURUSD 1h": "9f20bbacb2ea6bee4c62c81e45eef1c10ae1729cf4b6955cd6177b7a44d933a9",
	} {
		if got := designsOf(t, goal); got != want {
			t.Errorf("%q: the designs have the hash %s, want %s", goal, got, want)
		}
	}
}

func designsOf(t *testing.T, goal string) string {
	t.Helper()
	brief := briefOf(goal)
	h := sha256.New()
	var past []designer.Experiment
	for generation := range 5 {
		var tried []designer.Experiment
		for index := range 8 {
			p, err := designer.Design(brief, 11, generation, index, past, halfABasisPoint)
			if err != nil {
				t.Fatal(err)
			}
			p.Notes = "" // prose for people
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			h.Write(text)
			sharpe := float64((7*index+3*generation)%11)/4 - 1
			reasons := [][]designer.Refusal{
				nil,
				{{Code: "costs"}},
				{{Code: "sharpe"}},
				{{Code: "decay"}},
				{{Code: "too_few_trades"}},
			}[(index+generation)%5]
			tried = append(tried, designer.Experiment{
				Generation: generation, Index: index, Key: p.Key, Genome: &p.Genome,
				Outcome: designer.Outcome{Sharpe: &sharpe, Trades: 50 + index, Reasons: reasons},
			})
		}
		past = append(past, tried...)
	}
	return hex.EncodeToString(h.Sum(nil))
}
