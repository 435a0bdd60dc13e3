package backend

import (
	"fmt"
	"strconv"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/research"
)

func setCosts(c *Config, text string) (err error) {
	c.Costs, err = instrument.ParseTable(text)
	return err
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
