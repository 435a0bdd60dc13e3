package backtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config says how decisions are traded and what trading costs.
type Config struct {
	InitialCapital float64 `json:"initial_capital"` // 0 means 100,000

	Commission float64 `json:"commission"` // rate of the traded value, each side
	Slippage   float64 `json:"slippage"`   // rate of the price, each side
	Spread     float64 `json:"spread"`     // whole bid-ask spread as a rate of the price; each side pays half of it

	// CarryLong and CarryShort are what holding a position costs in a year, as rates of its
	// value at entry: swap, funding, borrowed shares. Below 0 the holder is paid.
	CarryLong  float64 `json:"carry_long,omitempty"`
	CarryShort float64 `json:"carry_short,omitempty"`

	SizeMode     SizeMode `json:"size_mode"`     // what PositionSize means; empty means Fraction
	PositionSize float64  `json:"position_size"` // 0 means a quarter of the equity, in Fraction mode only
	LotSize      float64  `json:"lot_size"`      // quantities are multiples of it, rounded down; 0 allows any fraction
	Leverage     float64  `json:"leverage"`      // an entry's value is at most this many times the equity; 0 means 1

	StopLoss   float64 `json:"stop_loss"`   // fraction of the entry price; 0 means none
	TakeProfit float64 `json:"take_profit"` // fraction of the entry price; 0 means none

	// ExitAfter closes a position at the open after this many bars without a signal in its
	// direction; 0 means never. MinSeparation does not hold it.
	ExitAfter int `json:"exit_after,omitempty"`

	AllowShort bool `json:"allow_short"` // Sell opens a short; without it Sell only closes a long
	Flip       bool `json:"flip"`        // an opposite signal closes and reverses at the same open; without it, it only closes

	// MinSeparation holds every signal of a bar that opens sooner than this after the bar
	// of the last fill, exits included; stops and targets do not wait. Whole seconds.
	MinSeparation time.Duration `json:"-"`

	// StartBar is the first bar whose signal counts. The figures begin there
	// too, so that a warm-up does not dilute them.
	StartBar int `json:"start_bar"`
}

// SizeMode says what PositionSize means.
type SizeMode string

// The ways to size a position.
const (
	Fraction SizeMode = "fraction" // share of the equity that an entry may spend, its commission included
	Units    SizeMode = "units"    // a number of units
	Risk     SizeMode = "risk"     // share of the equity lost between entry price and stop, before costs
)

// The bounds of a Config.
const (
	maxCapital  = 1e15
	maxRate     = 0.2 // of each cost; three of them leave every price positive
	maxCarry    = 10  // of each side, in a year
	maxLeverage = 100
	maxTarget   = 1000
	maxExit     = 100_000 // bars
	defCapital  = 100_000
	defSize     = 0.25
)

// complete fills in the defaults and says everything that is wrong.
func (c Config) complete() (Config, error) {
	c.InitialCapital = cmp.Or(c.InitialCapital, defCapital)
	c.SizeMode = cmp.Or(c.SizeMode, Fraction)
	c.Leverage = cmp.Or(c.Leverage, 1)
	if c.SizeMode == Fraction {
		c.PositionSize = cmp.Or(c.PositionSize, defSize)
	}
	return c, c.validate()
}

// Validate says what is wrong with the configuration, all of it in one error.
func (c Config) Validate() error {
	_, err := c.complete()
	return err
}

// validate expects the defaults filled in. Comparisons are written so that a NaN fails them.
func (c Config) validate() error {
	var wrong []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	check(c.InitialCapital > 0 && c.InitialCapital <= maxCapital, "initial_capital is %v; it must be above 0 and at most %g", c.InitialCapital,
		float64(maxCapital))
	check(c.Commission >= 0 && c.Commission <= maxRate, "commission is %v; it is a rate from 0 to %v", c.Commission, maxRate)
	check(c.Slippage >= 0 && c.Slippage <= maxRate, "slippage is %v; it is a rate from 0 to %v", c.Slippage, maxRate)
	check(c.Spread >= 0 && c.Spread <= maxRate, "spread is %v; it is a rate of the price from 0 to %v", c.Spread, maxRate)
	for _, rate := range []float64{c.CarryLong, c.CarryShort} {
		check(rate >= -maxCarry && rate <= maxCarry, "a carry rate is %v; it is a rate of a year from %d to %d", rate, -maxCarry, maxCarry)
	}
	check(c.Leverage >= 1 && c.Leverage <= maxLeverage, "leverage is %v; it must be 1 to %d", c.Leverage, maxLeverage)
	check(c.LotSize >= 0 && c.LotSize <= maxCapital, "lot_size is %v; it must be 0, for fractions, or a quantity", c.LotSize)
	check(c.StopLoss >= 0 && c.StopLoss < 1, "stop_loss is %v; it is a fraction of the entry price from 0 to below 1", c.StopLoss)
	check(c.TakeProfit >= 0 && c.TakeProfit <= maxTarget, "take_profit is %v; it is a fraction of the entry price from 0 to %d",
		c.TakeProfit, maxTarget)
	check(c.MinSeparation >= 0 && c.MinSeparation%time.Second == 0, "min_separation is %v; it must be whole seconds and not negative",
		c.MinSeparation)
	check(c.ExitAfter >= 0 && c.ExitAfter <= maxExit, "exit_after is %d; it must be 0 to %d bars", c.ExitAfter, maxExit)
	check(c.StartBar >= 0, "start_bar is %d; it must not be negative", c.StartBar)
	switch c.SizeMode {
	case Fraction:
		check(c.PositionSize > 0 && c.PositionSize <= c.Leverage,
			"position_size is %v; as a fraction of the equity it must be above 0 and at most the leverage, %v", c.PositionSize, c.Leverage)
	case Units:
		check(c.PositionSize > 0 && c.PositionSize <= maxCapital, "position_size is %v; in units it must be above 0", c.PositionSize)
	case Risk:
		check(c.PositionSize > 0 && c.PositionSize <= 1, "position_size is %v; as a share of the equity at risk it must be above 0 and at most 1",
			c.PositionSize)
		check(c.StopLoss > 0, "size_mode is risk, which needs a stop_loss")
	default:
		check(false, "size_mode is %q; it must be %s, %s or %s", c.SizeMode, Fraction, Units, Risk)
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("backtest config: " + strings.Join(wrong, "; "))
}

// friction is what a fill pays beside the commission, as a rate of the price.
func (c Config) friction() float64 { return c.Slippage + float64(c.Spread/2) }

// carry is what a position of a value costs in a second.
func (c Config) carry(value float64, side Side) float64 {
	rate := c.CarryLong
	if side == Short {
		rate = c.CarryShort
	}
	return value * rate / yearSeconds
}

// CarryFor is what a position costs that is held for a time, as a share of its value at entry.
func (c Config) CarryFor(side Side, seconds int64) float64 {
	return float64(c.carry(1, side) * float64(seconds))
}

// plain has the fields of Config without its methods, so that encoding it does not come back here.
type plain Config

type configWire struct {
	*plain
	MinSeparation int64 `json:"min_separation_seconds"`
}

// MarshalJSON writes the separation in seconds.
func (c Config) MarshalJSON() ([]byte, error) {
	p := plain(c)
	return json.Marshal(configWire{&p, int64(c.MinSeparation / time.Second)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Config) UnmarshalJSON(b []byte) error {
	p := plain(*c)
	w := configWire{&p, int64(c.MinSeparation / time.Second)}
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("backtest config: %w", err)
	}
	const most = int64(1<<63-1) / int64(time.Second)
	if w.MinSeparation > most || w.MinSeparation < -most {
		return fmt.Errorf("backtest config: min_separation_seconds is %d; it must be 0 to %d", w.MinSeparation, most)
	}
	*c = Config(p)
	c.MinSeparation = time.Duration(w.MinSeparation) * time.Second
	return nil
}

// Overrides are what a backtest may be asked to do otherwise than its strategy says. nil leaves the strategy's.
type Overrides struct {
	InitialCapital *float64 `json:"initial_capital,omitempty"`
	Commission     *float64 `json:"commission,omitempty"`
	Slippage       *float64 `json:"slippage,omitempty"`
	Spread         *float64 `json:"spread,omitempty"`

	// What holding a position costs in a year: see Config. 0 costs nothing.
	CarryLong  float64 `json:"carry_long,omitempty"`
	CarryShort float64 `json:"carry_short,omitempty"`
}
