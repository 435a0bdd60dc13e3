package compute

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// Numerics of a backtest: how orders are filled and figures made.
const backtestNumerics = "backtest/1"

func fingerprintTraining(text []byte) (map[string]string, error) {
	spec, s, err := readTraining(text)
	if err != nil {
		return nil, err
	}
	return trainingFingerprint(spec, s), nil
}

func fingerprintBacktest(text []byte) (map[string]string, error) {
	spec, err := ktrdr.ParseSpec[jobs.BacktestSpec](text)
	return backtestFingerprint(spec), err
}

func readTraining(text json.RawMessage) (spec jobs.TrainingSpec, parsed *strategy.Strategy, err error) {
	if spec, err = ktrdr.ParseSpec[jobs.TrainingSpec](text); err != nil {
		return spec, nil, err
	}
	parsed, err = readStrategy(spec.KernelClass, spec.Strategy)
	return spec, parsed, err
}

// readStrategy reads the strategy of a spec that this program has the kernel for.
func readStrategy(kernelClass, text string) (*strategy.Strategy, error) {
	if _, err := neural.KernelFor(kernelClass); err != nil {
		return nil, wrong("spec: %w", err)
	}
	parsed, _, err := strategy.Parse([]byte(text), "strategy")
	if err != nil {
		return nil, wrong("%w", err)
	}
	return parsed, nil
}

func trainingFingerprint(s jobs.TrainingSpec, parsed *strategy.Strategy) map[string]string {
	return map[string]string{
		"strategy": ktrdr.Hash(parsed.Hash()).String(),
		"data":     dataHash(s.Bars),
		"seed":     fmt.Sprint(s.Seed),
		"dates":    span(s.Start, s.End),
		"numerics": train.Numerics + " " + neural.Numerics + " " + s.KernelClass,
	}
}

func backtestFingerprint(s jobs.BacktestSpec) map[string]string {
	settings, _ := json.Marshal(s.Overrides) // numbers only
	if len(s.SymbolOverrides) > 0 {
		each, _ := json.Marshal(s.SymbolOverrides) // sorted by symbol
		settings = append(append(settings, ' '), each...)
	}
	return map[string]string{
		"model":    s.Model.SHA256.String(),
		"data":     dataHash(s.Bars),
		"dates":    string(s.Scope) + " " + span(s.Start, s.End),
		"settings": strings.Join(s.Traded(), ",") + " " + string(settings),
		"numerics": backtestNumerics + " " + train.Numerics + " " + neural.Numerics,
	}
}

func span(start, end time.Time) string {
	text := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	return text(start) + " to " + text(end)
}

// dataHash is one hash for all the series, in the order in which they are read.
func dataHash(bars []jobs.Bars) string {
	h := sha256.New()
	for _, b := range bars {
		fmt.Fprintf(h, "%s %s %s\n", b.Symbol, b.Timeframe, b.Hash)
	}
	return ktrdr.Hash(h.Sum(nil)).String()
}
