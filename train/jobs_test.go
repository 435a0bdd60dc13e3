package train_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// jobs is where the benchmark jobs are, beside the source tree. Without them
// their tests are skipped.
const jobs = "../../shared/bench"

func jobFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(jobs, name))
	if os.IsNotExist(err) {
		t.Skipf("kept beside the project: %s in %s", name, jobs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// job is a benchmark job from its files to the model's bytes.
func job(t testing.TB, csv, yaml []byte) (*train.TrainedModel, metrics.Metrics, train.Series) {
	t.Helper()
	s, _, err := strategy.Parse(yaml, "job")
	if err != nil {
		t.Fatal(err)
	}
	bars, _, err := market.ReadCSV(bytes.NewReader(csv), market.ImportOptions{Symbol: "EURUSD", Timeframe: market.H1})
	if err != nil {
		t.Fatal(err)
	}
	data := train.Series{Symbol: "EURUSD", Bars: []*market.Bars{bars}}
	r := start(t, prepare(t, s, data), s, 42)
	carry(t, r, -1)
	m, metrics := finish(t, r)
	if len(encode(t, m)) == 0 {
		t.Fatal("an empty model")
	}
	return m, metrics, data
}

func tradeJob(t testing.TB, m *train.TrainedModel, data train.Series) *backtest.Result {
	t.Helper()
	p, err := train.NewPlan(m, data, strategy.Span{}, backtest.Overrides{Commission: new(0.001), Slippage: new(0.0005)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := backtest.Backtest(p.Bars, p.Signals.Signal, p.Config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestJobs_LearnAndTrade runs the two jobs whole, and holds them to more than
// chance: the labels are such that the indicators tell much of them.
func TestJobs_LearnAndTrade(t *testing.T) {
	csv := jobFile(t, "EURUSD_1h.csv.gz")
	for name, atLeast := range map[string]float64{"bench_zz": 0.6, "bench_tb": 0.52} {
		t.Run(name, func(t *testing.T) {
			m, metrics, data := job(t, csv, jobFile(t, name+".yaml"))
			test := metrics.Test
			t.Logf("test accuracy %.4f (baseline %.4f, balanced %.4f), loss %.4f, warnings %q", test.Accuracy, test.BaselineAccuracy,
				test.BalancedAccuracy, test.Loss, metrics.Warnings)
			if test.Accuracy < atLeast {
				t.Errorf("test accuracy %.4f, want at least %.2f", test.Accuracy, atLeast)
			}
			r := tradeJob(t, m, data)
			t.Logf("%d trades, return %.2f %%, costs %.0f", r.Metrics.TotalTrades, r.Metrics.TotalReturnPct, r.Metrics.CostTotal)
			if r.Metrics.TotalTrades == 0 {
				t.Error("the model never trades")
			}
		})
	}
}
