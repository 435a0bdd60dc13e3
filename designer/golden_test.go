package designer_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr/designer"
)

// The designs for one symbol and one timeframe: all proposals of a run of five
// generations, in one hash. Only a change of the catalogue or of the search changes them.
func TestDesign_OneTimeframeGivesTheDesignsItAlwaysGave(t *testing.T) {
	for goal, want := range map[string]string{
		"simple, with rsi on EURUSD 1h":                 "f6258c5ce9e4194834722302eef4a2b50adb1399322395c92314abf75851fe69",
		"trend or mean reversion with rsi on EURUSD 1h": "f718b7845a05802c7aa1aa9e24ce76a0b4b67cabc2e8788950b353eb4b553a5f",
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
