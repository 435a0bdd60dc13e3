package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

var update = flag.Bool("update", false, "overwrite the golden files")

// A stored result must stay comparable with a new one. The file holds the result
// hash of every kind of operation that has one: trainings and backtests of every
// built-in strategy, runs on one symbol, on two, and on two timeframes, and the
// looks of these runs. A change that is meant to leave results alone leaves this
// file alone.
func TestResultHashes_StayWhatTheyWere(t *testing.T) {
	t.Parallel()
	l := &lab{Lab: labtest.New(t, labtest.SQLite, labtest.Calm), t: t}
	for seed, symbol := range []string{"EURUSD", "GBPUSD"} {
		l.must("data", "synth", "--symbol", symbol, "--timeframe", "1h", "--bars", "6000", "--seed", strconv.Itoa(seed+2), "--edge", "0.3")
		l.must("data", "resample", symbol, "1h", "4h")
	}
	l.must("data", "synth", "--symbol", "SYNTH", "--timeframe", "1h", "--bars", "20000", "--seed", "1", "--edge", "0.3")
	l.ServeWith(2)

	got := map[string]string{}
	for _, strategy := range []string{
		"gru_breakout", "lstm_momentum", "regime_filter", "return_regression", "rsi_mean_reversion", "trend_two_timeframes",
	} {
		model := l.Train(jobs.TrainingRequest{StrategyName: strategy, Seed: new(uint64(7))})
		got["training "+strategy] = l.ResultHash(model)
		if strategy == "regime_filter" {
			continue // its network names a regime and does not trade
		}
		got["backtest "+strategy] = l.ResultHash(l.Backtest(jobs.BacktestRequest{Model: string(model)}))
	}
	for _, run := range []struct { // one after the other: designs learn from earlier runs, and looks on one market are numbered
		name    string
		request research.Request
	}{
		{
			"one-symbol", research.Request{
				Brief: "find an edge that is left after costs", Count: 10, Symbols: []string{"SYNTH"}, Timeframe: "1h", Costs: "SYNTH=0.5/0/0",
			},
		},
		{
			"two-symbols", research.Request{
				Brief: "mean reversion", Count: 2, Symbols: []string{"EURUSD", "GBPUSD"}, Timeframe: "1h", BypassGates: true,
			},
		},
		{
			"two-timeframes", research.Request{
				Brief: "trend", Count: 2, Symbols: []string{"EURUSD"}, Timeframes: []string{"1h", "4h"}, BypassGates: true,
			},
		},
	} {
		name, request := run.name, run.request
		request.Seed, request.Force = new(uint64(1)), true
		made := l.Research(request, name)
		l.RunEnds(made.Run)
		for i, hash := range l.Hashes(made) {
			got[fmt.Sprintf("%s, research %d", name, i)] = hash
			for _, c := range l.Children(made.Operations[i].Operation) {
				if c.Type == ktrdr.Training || c.Type == ktrdr.Backtesting {
					got[fmt.Sprintf("%s, research %d, %s", name, i, c.Type)] = l.ResultHash(c.ID)
				}
			}
		}
		for _, look := range l.Looks(made.Run) {
			got[fmt.Sprintf("%s, look of generation %d, claim %v", name, look.Generation, look.Claim)] = look.Hash
		}
	}

	file := filepath.Join("testdata", "result_hashes.golden.json")
	if *update {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode[map[string]string](t, text), got); diff != "" {
		t.Errorf("result hashes (-golden +now; `go test ./e2e -run TestResultHashes -update` overwrites them):\n%s", diff)
	}
}
