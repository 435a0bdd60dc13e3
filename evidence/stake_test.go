package evidence

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// staked are two accounts with random signals; the second lacks some bars.
func staked(bars int, seed uint64, change func(*backtest.Config)) []StakedAccount {
	var all []StakedAccount
	for k, symbol := range []string{"EURUSD", "GBPUSD"} {
		b := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: bars, Seed: seed + uint64(k)})
		if k == 1 {
			b = b.Slice(7, b.Len())
		}
		r := num.NewRand(num.Mix(seed, uint64(k)))
		signals := make([]backtest.Signal, b.Len())
		for i := range signals {
			if r.Uint64n(5) == 0 {
				signals[i] = backtest.Signal(int(r.Uint64n(3)) - 1)
			}
		}
		c := backtest.Config{InitialCapital: 50_000, Commission: 5e-5, Slippage: 5e-5, Spread: 1e-4, AllowShort: true, StartBar: 20}
		if change != nil {
			change(&c)
		}
		all = append(all, StakedAccount{Bars: b, Signals: signals, Config: c, Worst: WorstMove{Down: 0.2, Up: 0.2}})
	}
	return all
}

var stakedConfigs = map[string]func(*backtest.Config){
	"plain": nil,
	"flip":  func(c *backtest.Config) { c.Flip = true },
	"stop":  func(c *backtest.Config) { c.StopLoss, c.TakeProfit = 0.002, 0.004 },
	"risk": func(c *backtest.Config) {
		c.SizeMode, c.PositionSize, c.StopLoss, c.Leverage = backtest.Risk, 0.02, 0.005, 5
	},
	"units":     func(c *backtest.Config) { c.SizeMode, c.PositionSize, c.Flip = backtest.Units, 9000, true },
	"leverage":  func(c *backtest.Config) { c.PositionSize, c.Leverage, c.Flip = 3, 3, true },
	"time exit": func(c *backtest.Config) { c.ExitAfter, c.Flip = 4, true },
}

func TestStakes_OfMoreBarsBeginWithThoseOfFewerBars(t *testing.T) {
	for name, change := range stakedConfigs {
		longest, err := Stakes(staked(900, 3, change))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{60, 333, 899} {
			all := staked(900, 3, change)
			end := all[0].Bars.Time[n-1]
			for i := range all {
				k, _ := slices.BinarySearch(all[i].Bars.Time, end+1)
				all[i].Bars, all[i].Signals = all[i].Bars.Slice(0, k), all[i].Signals[:k]
			}
			part, err := Stakes(all)
			if err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 || !slices.Equal(part, longest[:len(part)]) {
				t.Errorf("%s: the stakes of %d bars are not the beginning of those of 900", name, n)
			}
		}
	}
}

func TestStakes_NoReturnIsBeyondWhatWasAtStake(t *testing.T) {
	for name, change := range stakedConfigs {
		for seed := range uint64(10) {
			all, err := Stakes(staked(900, 100+seed, change))
			if err != nil {
				t.Fatal(err)
			}
			exposed := 0
			for _, s := range all {
				if s.Loss > 0 {
					exposed++
				}
				if s.Return < -s.Loss || s.Return > s.Gain+1e-15 {
					t.Fatalf("%s: a return of %v with %v and %v at stake", name, s.Return, s.Loss, s.Gain)
				}
			}
			if exposed < 100 || exposed == len(all) && name == "stop" {
				t.Errorf("%s: %d of %d bars have something at stake", name, exposed, len(all))
			}
		}
	}
}

// The equity of the stakes is that of the backtest, but for the forced exit at the end.
func TestStakes_AreTheReturnsOfTheBacktest(t *testing.T) {
	for name, change := range stakedConfigs {
		one := staked(900, 5, change)[:1]
		stakes, err := Stakes(one)
		if err != nil {
			t.Fatal(err)
		}
		run, err := backtest.Backtest(one[0].Bars, one[0].Signals, one[0].Config)
		if err != nil {
			t.Fatal(err)
		}
		want := Returns(run.Equity[run.Config.StartBar:])
		for i := range len(stakes) - 1 {
			if math.Abs(stakes[i].Return-want[i]) > 1e-12 {
				t.Fatalf("%s: bar %d returns %v in the stakes and %v in the backtest", name, i, stakes[i].Return, want[i])
			}
		}
	}
}

func TestEProcess_ALossBeyondTheBoundTakesAllForGood(t *testing.T) {
	l := NewLiving(Frozen{Edge: 0.5, Decay: 0.5})
	l.Add(Stake{Time: 1, Return: 0.1, Exposure: 1, Loss: 0.2, Gain: 0.2})
	l.Add(Stake{Time: 2, Return: -0.3, Exposure: 1, Loss: 0.2, Gain: 0.2})
	l.Add(Stake{Time: 3, Return: 0.2, Exposure: 1, Loss: 0.2, Gain: 0.2})
	if v := l.Edge.Value(); v != 0 || l.Edge.BrokeAt != 2 || l.Edge.Max <= 1 {
		t.Errorf("wealth %v, broken at %d, largest %v", v, l.Edge.BrokeAt, l.Edge.Max)
	}
}

func TestDiscoveries_FollowTheirFormula(t *testing.T) {
	if a := Adjusted(316.23); math.Abs(a-20) > 0.01 {
		t.Errorf("adjusted %v", a)
	}
	for _, c := range []struct {
		largest []float64
		want    []bool
		needed  float64
	}{
		{[]float64{300}, []bool{false}, 20},
		{[]float64{320}, []bool{true}, 20},
		{[]float64{320, 1}, []bool{false, false}, 40},
		{[]float64{320, 330}, []bool{true, true}, 20},
		{[]float64{1000, 1}, []bool{true, false}, 20},
	} {
		got, needed := Discoveries(c.largest, 0.05)
		if !slices.Equal(got, c.want) || math.Abs(needed-c.needed) > 1e-9 {
			t.Errorf("%v: %v, the next needs %v; want %v and %v", c.largest, got, needed, c.want, c.needed)
		}
	}
}
