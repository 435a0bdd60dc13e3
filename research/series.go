package research

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

func readBy(s *strategy.Strategy) (all []strategy.Series) {
	for _, symbol := range s.Data.Symbols {
		for _, tf := range s.Data.Timeframes {
			all = append(all, strategy.Series{Symbol: symbol, Timeframe: tf})
		}
	}
	return append(all, s.ContextSeries()...)
}

func barsOf(all []jobs.Bars, wanted []strategy.Series, name string) ([]jobs.Bars, error) {
	var picked []jobs.Bars
	var missing []string
	for _, want := range wanted {
		i := slices.IndexFunc(all, func(b jobs.Bars) bool { return b.Symbol == want.Symbol && b.Timeframe == want.Timeframe })
		if i < 0 {
			missing = append(missing, fmt.Sprintf("%s %s", want.Symbol, want.Timeframe))
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

// barsOfSymbols are the bars of symbols, and those of the context symbols behind them.
func barsOfSymbols(all []jobs.Bars, symbols []string) (picked []jobs.Bars) {
	for _, symbol := range symbols {
		for _, b := range all {
			if b.Symbol == symbol && !b.Context {
				picked = append(picked, b)
			}
		}
	}
	for _, b := range all {
		if b.Context {
			picked = append(picked, b)
		}
	}
	return picked
}

// symbolsOf are the symbols that are traded.
func symbolsOf(bars []jobs.Bars) (list []string) {
	for _, b := range bars {
		if !b.Context && !slices.Contains(list, b.Symbol) {
			list = append(list, b.Symbol)
		}
	}
	return list
}
