package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/research"
)

// Costs is what trading costs, by symbol in capitals; that of "*" is for all who
// are not named. Without it they have designer.UsualCosts.
type Costs map[string]designer.CostHints

// everySymbol names all that are not named.
const everySymbol = "*"

// of is what trading a symbol costs.
func (c Costs) of(symbol string) designer.CostHints {
	for _, name := range []string{strings.ToUpper(symbol), everySymbol} {
		if own, ok := c[name]; ok {
			return own
		}
	}
	return designer.UsualCosts(symbol)
}

// basisPoints are as many as there are in one.
const basisPoints = 10_000

const costsForm = "must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD in basis points, such as EURUSD=0.5/0.5/1, separated by commas; * is every other symbol"

func setCosts(c *Config, text string) error {
	c.Costs = Costs{}
	for entry := range strings.SplitSeq(text, ",") {
		name, rates, ok := strings.Cut(strings.TrimSpace(entry), "=")
		name = strings.ToUpper(strings.TrimSpace(name))
		parts := strings.Split(rates, "/")
		if !ok || name == "" || len(parts) != 3 {
			return fmt.Errorf("%s, not %.60q", costsForm, entry)
		}
		if _, twice := c.Costs[name]; twice {
			return fmt.Errorf("names %s twice", name)
		}
		var rate [3]float64
		for i, part := range parts {
			points, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			if err != nil || math.IsNaN(points) {
				return fmt.Errorf("%s, not %.60q", costsForm, entry)
			}
			rate[i] = points / basisPoints
		}
		costs := designer.CostHints{Commission: rate[0], Slippage: rate[1], Spread: rate[2]}
		if err := costs.Validate(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.Costs[name] = costs
	}
	return nil
}

func setHoldout(c *Config, text string) error {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share >= research.MinHoldout && share <= research.MaxHoldout) { // so that NaN is refused too
		return fmt.Errorf("must be a share of the bars, from %v to %v", research.MinHoldout, research.MaxHoldout)
	}
	c.Holdout = share
	return nil
}

func setGeneration(c *Config, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > research.MaxGeneration {
		return fmt.Errorf("must be a whole number from 1 to %d", research.MaxGeneration)
	}
	c.Generation = n
	return nil
}

func setMaxResearches(c *Config, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxWorkers {
		return fmt.Errorf("must be a whole number from 1 to %d", maxWorkers)
	}
	c.MaxResearches = n
	return nil
}

func setInject(c *Config, text string) (err error) {
	c.Injections, err = research.ParseInjections(text)
	return err
}
