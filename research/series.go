package research

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

type series struct {
	symbol    string
	timeframe market.Timeframe
}

func readBy(s *strategy.Strategy) (all []series) {
	for _, symbol := range s.Data.Symbols {
		for _, tf := range s.Data.Timeframes {
			all = append(all, series{symbol, tf})
		}
	}
	return all
}

func barsOf(all []jobs.Bars, wanted []series, name string) ([]jobs.Bars, error) {
	var picked []jobs.Bars
	var missing []string
	for _, want := range wanted {
		i := slices.IndexFunc(all, func(b jobs.Bars) bool { return b.Symbol == want.symbol && b.Timeframe == want.timeframe })
		if i < 0 {
			missing = append(missing, fmt.Sprintf("%s %s", want.symbol, want.timeframe))
			continue
		}
		picked = append(picked, all[i])
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("strategy %s reads %s, and the research was not given these bars", name, strings.Join(missing, ", "))
	}
	return picked, nil
}

// trainedOn is what a training was given to read, in the order of its strategy.
func trainedOn(training *ktrdr.Operation) ([]jobs.Bars, error) {
	var spec struct {
		Bars []jobs.Bars `json:"bars"`
	}
	if err := json.Unmarshal(training.Spec, &spec); err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "spec of %s: %w", training.ID, err)
	}
	if len(spec.Bars) == 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "spec of %s: it names no bars", training.ID)
	}
	return spec.Bars, nil
}

func barsOfSymbols(all []jobs.Bars, symbols []string) (picked []jobs.Bars) {
	for _, symbol := range symbols {
		for _, b := range all {
			if b.Symbol == symbol {
				picked = append(picked, b)
			}
		}
	}
	return picked
}

func symbolsOf(bars []jobs.Bars) (list []string) {
	for _, b := range bars {
		if !slices.Contains(list, b.Symbol) {
			list = append(list, b.Symbol)
		}
	}
	return list
}
