//go:build unix

package compute

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// jobFiles is where the two benchmark jobs are, beside the source tree.
const jobFiles = "../../../shared/bench"

// jobs prints what the two jobs cost whole: from the price file, or from the bars
// file that an import makes of it, to the bytes of the model; and the backtest of
// their 50,000 bars with the network.
func jobs(b *testing.B) {
	b.Helper()
	csv, err := os.ReadFile(filepath.Join(jobFiles, "EURUSD_1h.csv.gz"))
	if os.IsNotExist(err) {
		line("benchmark jobs", "not measured: there is no %s", jobFiles)
		return
	}
	check(b, err)
	fromText := func() *market.Bars {
		bars, _, err := market.ReadCSV(bytes.NewReader(csv), market.ImportOptions{Symbol: "EURUSD", Timeframe: market.H1})
		check(b, err)
		return bars
	}
	path := barsFile(b, fromText())
	fromCache := func() *market.Bars {
		data, err := os.ReadFile(path)
		check(b, err)
		bars, err := market.Decode(data)
		check(b, err)
		return bars
	}
	for _, j := range []struct {
		name   string
		aim    time.Duration
		python float64
	}{{"bench_zz", 240 * time.Millisecond, 24.1}, {"bench_tb", 150 * time.Millisecond, 14.8}} {
		yaml, err := os.ReadFile(filepath.Join(jobFiles, j.name+".yaml"))
		check(b, err)
		var m *train.TrainedModel
		took := best(7, func() { m = model(b, yaml, fromText()) }, func() { model(b, yaml, fromCache()) })
		line("job "+j.name, "%.3f CPU s from CSV.gz, %.3f from the bars file; the Python system needs %.1f%s",
			took[0].Seconds(), took[1].Seconds(), j.python,
			aim(took[0] <= j.aim, fmt.Sprintf("<= %.2f from CSV.gz", j.aim.Seconds()))+aim(took[1] <= j.aim, "from the bars file"))
		trade(b, j.name, m, fromCache())
	}
}

// model is a job from bars to the bytes of the model.
func model(b *testing.B, yaml []byte, bars *market.Bars) *train.TrainedModel {
	b.Helper()
	s, _, err := strategy.Parse(yaml, "job")
	check(b, err)
	data := []train.Series{{Symbol: bars.Symbol, Bars: []*market.Bars{bars}}}
	ds, _, err := train.Prepare(s, data, train.Options{})
	check(b, err)
	r, err := train.Start(ds, s, 42, neural.Best())
	check(b, err)
	var last train.Progress
	for !r.Done() {
		check(b, r.Epoch(b.Context(), func(p train.Progress) { last = p }))
	}
	if last.Batch != last.Batches {
		b.Fatalf("the last epoch ended with batch %d of %d", last.Batch, last.Batches)
	}
	m, _, err := r.Finish()
	check(b, err)
	check(b, m.Encode(io.Discard))
	return m
}

// trade prints what a backtest with the network costs: features, answers of the
// network, decisions, trades and figures.
func trade(b *testing.B, name string, m *train.TrainedModel, bars *market.Bars) {
	b.Helper()
	var r *backtest.Result
	data := train.Series{Symbol: bars.Symbol, Bars: []*market.Bars{bars}}
	took := best(30, func() {
		p, err := train.NewPlan(m, data, strategy.Span{}, backtest.Overrides{})
		check(b, err)
		r, err = backtest.Backtest(p.Bars, p.Signals.Signal, p.Config)
		check(b, err)
	})[0]
	line("backtest "+name+", network", "%.1f CPU ms for %d bars, %d trades; the Python system needs 21 s%s",
		1000*took.Seconds(), bars.Len(), r.Metrics.TotalTrades, aim(took <= 10*time.Millisecond, "<= 10 ms"))
}
