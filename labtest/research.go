package labtest

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// This file is the lab's side of trainings and backtests.

// Market puts bars of a made-up market into the backend's library.
func (l *Lab) Market(symbol string, bars int, seed uint64) {
	l.t.Helper()
	l.MarketWith(symbol, bars, seed, 0.3)
}

// MarketWith is Market with a planted edge of a chosen strength.
func (l *Lab) MarketWith(symbol string, bars int, seed uint64, edge float64) {
	l.t.Helper()
	l.Import(market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: bars, Seed: seed, Edge: edge}))
}

// Import puts bars into the lab, in place of those it has.
func (l *Lab) Import(b *market.Bars) {
	l.t.Helper()
	text := []byte("timestamp,open,high,low,close,volume\n")
	for i := range b.Len() {
		x := b.At(i)
		text = time.Unix(x.Time, 0).UTC().AppendFormat(text, time.RFC3339)
		for _, v := range [...]float64{x.Open, x.High, x.Low, x.Close, x.Volume} {
			text = strconv.AppendFloat(append(text, ','), v, 'g', -1, 64)
		}
		text = append(text, '\n')
	}
	file := filepath.Join(l.t.TempDir(), "prices.csv")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		l.t.Fatal(err)
	}
	out, code := l.Command("data", "import", file, "--symbol", b.Symbol, "--timeframe", string(b.Timeframe), "--replace")
	if code != 0 {
		l.t.Fatalf("import of %s %s ended with %d: %s", b.Symbol, b.Timeframe, code, out)
	}
}

// Train starts a training.
func (l *Lab) Train(r jobs.TrainingRequest) ktrdr.OperationID {
	l.t.Helper()
	return l.begin("/api/v1/training/start", r)
}

// Backtest starts a backtest.
func (l *Lab) Backtest(r jobs.BacktestRequest) ktrdr.OperationID {
	l.t.Helper()
	return l.begin("/api/v1/backtests/start", r)
}

func (l *Lab) begin(path string, r any) ktrdr.OperationID {
	l.t.Helper()
	status, out, err := call[api.Started](l, http.MethodPost, path, r)
	if err != nil || status != http.StatusAccepted {
		l.t.Fatalf("%s: %d %+v %v", path, status, out.Error, err)
	}
	return out.Data.Operation
}

// Researcher starts a worker that trains and backtests, with a folder of its
// own.
func (l *Lab) Researcher(env ...string) *Process {
	l.t.Helper()
	l.workers++
	return l.start(env, "worker", "--types", "training,backtesting", "--checkpoint-interval", "20ms",
		"--data", l.WorkerDir(l.workers))
}

// Calibrate starts a calibration.
func (l *Lab) Calibrate(r research.CalibrationRequest) ktrdr.OperationID {
	l.t.Helper()
	status, out, err := call[api.Started](l, http.MethodPost, "/api/v1/calibrations/start", r)
	if err != nil || status != http.StatusAccepted {
		l.t.Fatalf("calibration: %d %+v %v", status, out.Error, err)
	}
	return out.Data.Operation
}

// TestRun starts the test of a run on 39 copies of its bars, which is the least for the first
// of a market.
func (l *Lab) TestRun(run string) ktrdr.OperationID {
	l.t.Helper()
	status, out, err := call[api.Started](l, http.MethodPost, "/api/v1/runs/"+run+"/test", research.RunTestRequest{Copies: 39})
	if err != nil || status != http.StatusAccepted {
		l.t.Fatalf("test of run %s: %d %+v %v", run, status, out.Error, err)
	}
	return out.Data.Operation
}

// ResultHash waits for an operation to complete and returns the hash of
// its result.
func (l *Lab) ResultHash(id ktrdr.OperationID) string {
	l.t.Helper()
	op := l.Ends(id, ktrdr.Completed)
	var r struct {
		Hash string `json:"result_hash"`
	}
	if err := json.Unmarshal(op.Result, &r); err != nil || r.Hash == "" {
		l.t.Fatalf("result of %s: %v in %.200s", id, err, op.Result)
	}
	return r.Hash
}

// Again starts an operation over that never came to a checkpoint.
func (l *Lab) Again(id ktrdr.OperationID) ktrdr.OperationID {
	l.t.Helper()
	return l.begin("/api/v1/operations/"+string(id)+"/retry", nil)
}

// Data is the backend's folder.
func (l *Lab) Data() string { return l.data }
