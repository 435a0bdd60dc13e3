package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
)

// finished follows an operation that was started with -f and --json to its end
// and returns it.
func (l *lab) finished(args ...string) ktrdr.Operation {
	l.t.Helper()
	lines := strings.Split(strings.TrimSpace(l.must(append(args, "-f", "--json")...)), "\n")
	return decode[ktrdr.Operation](l.t, lines[len(lines)-1])
}

func TestCLI_TrainsBacktestsAndPredicts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "4000", "--seed", "7")
	p, _ := l.serve("--workers", "1")
	l.refused(exitUsage, "there is no strategy \"nosuch\"", "train", "nosuch")
	l.refused(exitUsage, "there is no strategy file none.yaml; name one of `ktrdr strategies`, or a file", "train", "none.yaml")
	l.refused(exitUsage, "no 1h bars of GBPUSD", "train", "rsi_mean_reversion", "--symbol", "GBPUSD")
	if out := l.must("models"); !strings.Contains(out, "No models") {
		t.Errorf("models before there are any:\n%s", out)
	}

	said := l.must("train", "rsi_mean_reversion", "--follow")
	for _, part := range []string{"COMPLETED", "test samples accuracy", "See `ktrdr results op_training_"} {
		if !strings.Contains(said, part) {
			t.Errorf("a followed training does not tell %q:\n%s", part, said)
		}
	}
	one := l.finished("train", "rsi_mean_reversion", "--seed", "1")
	var first, again jobs.TrainingResult
	models := decode[[]jobs.TrainedModel](t, l.must("models", "--json"))
	if len(models) != 2 || models[0].Operation != one.ID || models[0].ResultHash != models[1].ResultHash {
		t.Fatalf("models %+v, want two trainings with one result", models)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(l.must("strategies", "example", "rsi_mean_reversion")), 0o600); err != nil {
		t.Fatal(err)
	}
	two := l.finished("train", file, "--seed", "2")
	if json.Unmarshal(one.Result, &first) != nil || json.Unmarshal(two.Result, &again) != nil ||
		first.ResultHash == again.ResultHash || again.Seed != 2 {
		t.Errorf("a file and another seed: %s, want another result", two.Result)
	}

	l.backtests(string(one.ID))
	model := filepath.Join(t.TempDir(), "model.safetensors")
	l.must("models", "save", string(one.ID), model)
	l.refused(exitFailed, "only a COMPLETED training", "models", "save", l.start("--steps", "1"), model)
	byFile := l.finished("backtest", model)
	byID := l.finished("backtest", string(one.ID)[len(string(one.ID))-8:])
	if string(byFile.Result) != string(byID.Result) {
		t.Errorf("the model as a file gives %s, as a training %s", byFile.Result, byID.Result)
	}

	said = l.must("predict", model, "--last", "3")
	out := decode[jobs.Prediction](t, l.must("predict", string(one.ID), "--symbol", "EURUSD", "--last", "3", "--json"))
	if len(out.Bars) != 3 || len(out.Bars[2].Answers) != 3 || !strings.Contains(said, out.Bars[2].Signal) || out.Symbol != "EURUSD" {
		t.Errorf("prediction %+v, printed as\n%s", out, said)
	}
	l.refused(exitUsage, "there are no 1h bars of GBPUSD", "predict", model, "--symbol", "GBPUSD")
	l.refused(exitUsage, file+" is a strategy, not a model", "predict", file)
	l.refused(exitUsage, file+" is a strategy, not a model", "backtest", file)
	p.End(syscall.SIGTERM)
	l.refused(exitUnreachable, "no server", "predict", model)
}

// backtests holds a backtest of the model to what the command line shows of it.
func (l *lab) backtests(model string) {
	l.t.Helper()
	op := l.finished("backtest", model, "--scope", "all", "--commission", "0.0001")
	var r jobs.BacktestResult
	if err := json.Unmarshal(op.Result, &r); err != nil || r.Config.Commission != 0.0001 || r.Sample.OutOfSample {
		l.t.Fatalf("result %s: %v, want the commission asked for, and training in it", op.Result, err)
	}
	page := decode[resultsPage](l.t, l.must("results", string(op.ID), "--include", "trades,equity", "--limit", "5", "--json"))
	if len(page.Equity) != 5 || page.Next != "5" || len(page.Trades) != min(5, r.Trades) || len(page.Artifacts) != 1 {
		l.t.Errorf("page %+v, want five bars and the file", page)
	}
	if c := page.Curve; c == nil || len(c.Years) != 1 || math.Abs(100*c.Years[0].Return-r.Metrics.TotalReturnPct) > 1e-9 ||
		c.Sharpe.Draws != 1000 {
		l.t.Errorf("curve %+v, want one year of %v %% and the interval", c, r.Metrics.TotalReturnPct)
	}
	if out := l.must("results", string(op.ID)); !strings.Contains(out, "Sharpe ratio") || !strings.Contains(out, "WHOLE") {
		l.t.Errorf("results do not show the curve:\n%s", out)
	}
	out := l.must("results", string(op.ID), "--include", "equity,positions", "--limit", "2", "--cursor", "5")
	for _, part := range []string{
		"NOT after the bars it was trained on", "warning:", "Sharpe ratio ", "result_hash", "backtest.ktbt", "EQUITY", "POSITION", "--cursor 7",
	} {
		if !strings.Contains(out, part) {
			l.t.Errorf("results do not tell %q:\n%s", part, out)
		}
	}
	if out := l.must("status", string(op.ID)); !strings.Contains(out, "See `ktrdr results") {
		l.t.Errorf("status does not lead to the results:\n%s", out)
	}
}

func TestCLI_CancelledTrainingResumesWhereItWas(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_KERNEL=reference")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "6000", "--seed", "7")
	l.serve("--workers", "1")
	begun := decode[api.Started](t, l.must("train", "gru_breakout", "--json"))
	id := string(begun.Operation)
	l.until(id, "telling its loss", func(op ktrdr.Operation) bool {
		return op.MaxStep > 3 && strings.Contains(string(op.Progress.Context), `"loss"`)
	})
	l.must("cancel", id, "--follow")
	op := l.op(id)
	if op.Status != ktrdr.Cancelled || op.Checkpoint == nil || op.Checkpoint.Type != ktrdr.CheckpointCancellation || op.Checkpoint.Step < 3 {
		t.Fatalf("after cancel it is %s with checkpoint %+v, want one in the middle of an epoch", op.Status, op.Checkpoint)
	}
	at := op.Checkpoint.Step
	l.must("resume", id)
	l.until(id, "past where it was", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running && op.Progress.StepsCompleted > at })
	l.must("cancel", id, "--follow")
}

func TestServe_ImportsAFileOfItsFolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	l.serve("--workers", "1")
	if err := os.WriteFile(filepath.Join(l.data, "eur.csv"),
		[]byte("time,open,high,low,close,volume\n2024-01-01T00:00:00Z,1,2,0.5,1.5,10\n2024-01-01T01:00:00Z,1.5,2,1,1.2,10\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(l.url, "", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	started, err := c.StartDataLoad(t.Context(), jobs.DataLoadRequest{Path: "eur.csv", Symbol: "EURUSD", Timeframe: "1h"}, "once")
	if err != nil {
		t.Fatal(err)
	}
	if out := l.must("follow", string(started.Operation)); !strings.Contains(out, "2 bars of EURUSD 1h") {
		t.Errorf("the import ended with\n%s", out)
	}
	if out := l.must("data", "list"); !strings.Contains(out, "EURUSD") {
		t.Errorf("the library does not have it:\n%s", out)
	}
}
