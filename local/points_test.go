package local

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

func TestPointsHint_NamesTheDivisorOfTheSymbol(t *testing.T) {
	for _, tc := range []struct {
		symbol string
		last   float64
		want   string // nothing: no hint
	}{
		{"EURUSD", 109305.00000000001, "the last price is 109305: if prices are points, import it again with --replace --divide 100000"},
		{"USDJPY", 115432, "--divide 1000"},
		{"XAUUSD", 196974, "--divide 100"},
		{"XAGUSD", 25731, "--divide 1000"},
		{"EURUSD", 1.09305, ""},
		{"XAUUSD", 3969.74, ""},
		{"BTCUSD", 60000, ""}, // a real price
		{"US30", 39000, ""},
		{"USDIDR", 15500, ""},
	} {
		got := pointsHint(&market.Bars{Symbol: tc.symbol, Close: []float64{tc.last}, Time: make([]int64, 1)})
		if !strings.HasSuffix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s at %v: %q, want %q", tc.symbol, tc.last, got, tc.want)
		}
	}
}
