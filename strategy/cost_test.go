package strategy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/strategy"
)

func TestCost_GrowsWithBarsNetworkAndSequence(t *testing.T) {
	small := parse(t, source(t, base))
	large := parse(t, changed(t, "[32, 16]", "[512, 512]"))
	long := parse(t, changed(t, "type: mlp", "type: gru", "{hidden_layers: [32, 16], activation: relu, dropout: 0.2}",
		"{sequence_length: 64}"))
	one := small.Cost(50_000)
	if more := small.Cost(500_000); more.CPU < 9*one.CPU || more.Memory < 9*one.Memory {
		t.Errorf("ten times the bars: %+v after %+v", more, one)
	}
	for name, s := range map[string]*strategy.Strategy{"a larger network": large, "a sequence": long} {
		if c := s.Cost(50_000); c.CPU < 10*one.CPU || c.Weights <= one.Weights {
			t.Errorf("%s: %+v after %+v", name, c, one)
		}
	}
}

func TestCost_CheckSaysWhatIsTooMuch(t *testing.T) {
	c := parse(t, source(t, base)).Cost(1_000_000)
	if err := c.Check(1<<30, time.Hour); err != nil {
		t.Errorf("a million bars: %v", err)
	}
	if err := c.Check(1<<20, 0); err == nil || !strings.Contains(err.Error(), "MB of memory") {
		t.Errorf("err = %v, want one about memory", err)
	}
	if err := c.Check(0, time.Second); err == nil || !strings.Contains(err.Error(), "of one core") {
		t.Errorf("err = %v, want one about time", err)
	}
}

func TestWarmUp_CountsBaseBarsOfTheLongestInput(t *testing.T) {
	s := parse(t, changed(t, "{mode: single, timeframe: 1h}", "{timeframes: [1h, 1d]}"))
	// Of the inputs on days, +DI needs the most: its first value is at the 15th
	// day, which must have closed.
	if got := s.WarmUp(); got != 15*24 {
		t.Errorf("warm-up of %d hours, want %d", got, 15*24)
	}
}
