package strategy

import (
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// readsOthers is a strategy on two timeframes that reads other symbols.
func readsOthers(context, indicators string) string {
	return `
name: reads_others
training_data:
  symbols: {symbol: EURUSD}
` + context + `
  timeframes: {mode: multi_timeframe, timeframes: [1h, 4h]}
indicators:
` + indicators + `
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: a, timeframes: [1h]}
  - {raw_indicator: b, timeframes: all}
model: {type: mlp, architecture: {hidden_layers: [4]}}
decisions: {}
training: {labels: {source: zigzag}}
`
}

func TestParse_ReadsContextSymbols(t *testing.T) {
	text := readsOthers("  context_symbols: [GBPUSD, USDCHF]", "  a: {type: roc, period: 1, symbol: USDCHF}\n  b: {type: rsi, symbol: GBPUSD}")
	s, warnings, err := Parse([]byte(text), "test.yaml")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", warnings, err)
	}
	want := []Series{{"GBPUSD", market.H1}, {"GBPUSD", market.H4}, {"USDCHF", market.H1}}
	if got := s.ContextSeries(); !slices.Equal(got, want) {
		t.Errorf("it reads %v, want %v", got, want)
	}
	again, _, err := Parse(s.YAML(), "again.yaml")
	if err != nil || again.Hash() != s.Hash() {
		t.Errorf("what it writes is read as another strategy: %v\n%s", err, s.YAML())
	}
	own, _, err := Parse([]byte(readsOthers("", "  a: {type: roc, period: 1}\n  b: {type: rsi}")), "own.yaml")
	if err != nil || own.Hash() == s.Hash() || strings.Contains(string(own.YAML()), "context") {
		t.Errorf("%v\n%s", err, own.YAML())
	}
}

func TestParse_RefusesContextSymbolsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct{ context, indicators, says string }{
		"a symbol that is not listed": {
			"  context_symbols: [GBPUSD]", "  a: {type: roc, symbol: GPBUSD}\n  b: {type: rsi, symbol: GBPUSD}",
			"GPBUSD is no context symbol; did you mean GBPUSD?; list it in training_data.context_symbols",
		},
		"a symbol that is traded": {
			"  context_symbols: [EURUSD]", "  a: {type: roc, symbol: EURUSD}\n  b: {type: rsi}",
			"EURUSD is a training symbol, which is traded; a context symbol is only read",
		},
		"a traded symbol without a list": {
			"", "  a: {type: roc, symbol: EURUSD}\n  b: {type: rsi}", "EURUSD is a training symbol; leave symbol out",
		},
		"no symbol": {
			"  context_symbols: [GBPUSD]", "  a: {type: roc, symbol: 'GBP USD'}\n  b: {type: rsi, symbol: GBPUSD}", "is not a symbol",
		},
	} {
		_, _, err := Parse([]byte(readsOthers(c.context, c.indicators)), "test.yaml")
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: err = %v, want one that says %q", name, err, c.says)
		}
	}
	_, warnings, err := Parse([]byte(readsOthers("  context_symbols: [GBPUSD]", "  a: {type: roc}\n  b: {type: rsi}")), "test.yaml")
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Message, "no indicator reads GBPUSD") {
		t.Errorf("%v %v", warnings, err)
	}
}
