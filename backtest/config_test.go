package backtest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestConfig_SaysEverythingThatIsWrong(t *testing.T) {
	bad := Config{
		InitialCapital: -1, Commission: math.NaN(), Slippage: 0.5, Spread: -1, Leverage: 0.5, LotSize: -1,
		StopLoss: 1, TakeProfit: -1, MinSeparation: time.Millisecond, StartBar: -1, SizeMode: "half",
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{
		"initial_capital", "commission", "slippage", "spread", "leverage", "lot_size",
		"stop_loss", "take_profit", "min_separation", "start_bar", "size_mode",
	} {
		if !strings.Contains(err.Error(), name+" is") {
			t.Errorf("%v: does not say what is wrong with %s", err, name)
		}
	}
}

func TestConfig_PositionSizeDependsOnItsMode(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		ok   bool
	}{
		{"nothing said", Config{}, true},
		{"all of it", Config{PositionSize: 1}, true},
		{"more than there is", Config{PositionSize: 1.5}, false},
		{"more than there is, borrowed", Config{PositionSize: 1.5, Leverage: 2}, true},
		{"units without a number", Config{SizeMode: Units}, false},
		{"units", Config{SizeMode: Units, PositionSize: 1e6}, true},
		{"risk without a stop", Config{SizeMode: Risk, PositionSize: 0.01}, false},
		{"risk", Config{SizeMode: Risk, PositionSize: 0.01, StopLoss: 0.02}, true},
		{"risk of more than all", Config{SizeMode: Risk, PositionSize: 1.01, StopLoss: 0.02}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.cfg.Validate(); (err == nil) != c.ok {
				t.Errorf("error is %v, want it fine: %v", err, c.ok)
			}
		})
	}
}

func TestConfig_SurvivesJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := configs(100).Draw(rt, "config")
		b, err := json.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		var got Config
		if err := json.Unmarshal(b, &got); err != nil {
			rt.Fatal(err)
		}
		if got != want {
			rt.Fatalf("%s reads as %+v, want %+v", b, got, want)
		}
	})
	if b, _ := json.Marshal(Config{MinSeparation: time.Hour}); !strings.Contains(string(b), `"min_separation_seconds":3600`) {
		t.Errorf("an hour is written as %s", b)
	}
	var c Config
	if err := json.Unmarshal([]byte(`{"min_separation_seconds": 10000000000}`), &c); err == nil {
		t.Errorf("three hundred years overflow to %v without an error", c.MinSeparation)
	}
}
