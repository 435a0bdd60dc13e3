package cli

import (
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// An import that is refused changes no market, not even when the user said that
// two are one.
func TestMarkets_ARefusedImportMergesNothing(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 3000, Seed: 7})
		other := market.Synth(market.SynthConfig{Symbol: "GBPUSD", Bars: 3000, Seed: 8})
		l.serve("--workers", "0", "--agents", "0")
		l.must("data", "import", "--symbol", "EURUSD", priceFile(t, bars.Slice(0, 2500), unchanged))
		l.must("data", "import", "--symbol", "GBPUSD", "--new-market", priceFile(t, other, unchanged))
		before := l.ledgers()
		if before["EURUSD 1h"].Market == before["GBPUSD 1h"].Market {
			t.Fatalf("both are market %s before", before["EURUSD 1h"].Market)
		}
		longer := priceFile(t, bars, unchanged)
		l.refused(exitFailed, "differs from eurusd by capitals only",
			"data", "import", "--symbol", "eurusd", "--same-market-as", "GBPUSD", longer)
		l.refused(exitUsage, "--replace", "data", "import", "--symbol", "EURUSD", "--same-market-as", "GBPUSD", longer)
		l.refused(exitFailed, "there are 1h bars of GBPUSD already", "data", "rename", "EURUSD", "GBPUSD")
		after := l.ledgers()
		if was, is := asText(t, before), asText(t, after); is != was {
			t.Errorf("after refused imports the series are\n%s\nwant\n%s", is, was)
		}
	})
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
