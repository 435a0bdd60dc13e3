package chaos_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// mostStarts is how often a supervisor starts a backend before a lab with one
// operation that kills its process is back.
const mostStarts = 3

// supervised starts a backend until ok is true, and says how many starts it
// took; the last one is alive.
func supervised(t *testing.T, lab *labtest.Lab, boot func() *labtest.Process, ok func() bool) (last *labtest.Process, starts int) {
	t.Helper()
	for starts = 1; starts <= mostStarts; starts++ {
		last = boot()
		if !lab.Died(last, ok) {
			return last, starts
		}
	}
	t.Fatalf("the backend died %d times\n%s", mostStarts, last.Log())
	return nil, 0
}

// isPoison requires that the operation failed because its processes died.
func isPoison(t *testing.T, lab *labtest.Lab, id ktrdr.OperationID) {
	t.Helper()
	if op := lab.Op(id); op.Status != ktrdr.Failed || op.Error == nil || op.Error.Code != ktrdr.CodePoison || op.Losses != ktrdr.PoisonLosses {
		t.Errorf("%s is %s with %+v after %d losses, want FAILED as poison after %d", id, op.Status, op.Error, op.Losses, ktrdr.PoisonLosses)
	}
}

func TestCrashLoop_WhatKillsItsProcessKillsOneBackendAndNoOtherWork(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		lab.Market("EURUSD", 4000, 7)
		backend := lab.ServeWith(2)
		run, work := startWork(lab)
		killer := lab.Submit(dummy.Spec{Steps: 10, StepMS: 5, CrashAt: 3, Priority: 9})
		if !lab.Died(backend, func() bool { return lab.Is(killer, ktrdr.Failed) }) {
			t.Fatal("the operation did not kill the backend that ran it")
		}
		last, starts := supervised(t, lab, func() *labtest.Process { return lab.Boot(2) }, func() bool { return lab.Is(killer, ktrdr.Failed) })
		t.Logf("the lab was back with start %d", 1+starts)
		isPoison(t, lab, killer)
		if log := last.Log(); !strings.Contains(log, "each runs next in a child process") || !strings.Contains(log, "    "+string(killer)+"\n") {
			t.Errorf("serve does not say that it found %s:\n%s", killer, log)
		}
		for i, hash := range lab.Hashes(run) {
			if hash != want[i] {
				t.Errorf("research %d has the result %s, want %s as undisturbed", i, hash, want[i])
			}
		}
		for _, id := range work {
			lab.Ends(id, ktrdr.Completed)
		}
		if !last.Alive() {
			t.Errorf("the backend died again\n%s", last.Log())
		}
		lab.Audit()
	})
}

// The step outlasts every life of the backend, so that no loss would be
// forgiven.
func TestPowerCuts_PoisonNothingAndLeaveNoProcess(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		backend := lab.ServeWith(2)
		id := lab.Submit(dummy.Spec{Steps: 1, StepMS: 4000})
		for cut := 1; cut <= ktrdr.PoisonLosses+1; cut++ {
			lab.Until(id, time.Minute, "running again", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running && op.Attempts == cut })
			var children []int
			if cut > 1 {
				lab.Died(backend, func() bool { children = backend.Children(); return len(children) == 1 })
			}
			backend.Kill()
			for _, pid := range children {
				lab.Gone(pid)
			}
			backend = lab.ServeWith(2)
		}
		if op := lab.Ends(id, ktrdr.Completed); op.Losses != 0 || op.Attempts != ktrdr.PoisonLosses+2 {
			t.Errorf("%d losses after %d attempts, want none after %d", op.Losses, op.Attempts, ktrdr.PoisonLosses+2)
		}
		lab.Audit()
	})
}

// limit is enough for a backend at rest, in KiB.
const limit = 400_000

func TestMemoryLimit_EachComputeTypeDiesAloneInItsChild(t *testing.T) {
	t.Parallel()
	model := func(lab *labtest.Lab) jobs.BacktestRequest {
		lab.Market("EURUSD", 4000, 7)
		backend := lab.ServeWith(2)
		id := lab.Train(jobs.TrainingRequest{StrategyName: "rsi_mean_reversion"})
		lab.Ends(id, ktrdr.Completed)
		backend.Kill()
		return jobs.BacktestRequest{Model: string(id)}
	}
	cases := map[ktrdr.Type]struct {
		inject string
		begin  func(t *testing.T, lab *labtest.Lab) (start func())
	}{
		ktrdr.CalibrationPart: {"memory:calibrating:", func(_ *testing.T, lab *labtest.Lab) func() {
			lab.Market("EURUSD", 4000, 7)
			return func() {
				lab.Calibrate(research.CalibrationRequest{Symbol: "EURUSD", Timeframe: "1h", Worlds: 1, Researches: 1})
			}
		}},
		ktrdr.FactoryPart: {"memory:copying:", func(_ *testing.T, lab *labtest.Lab) func() {
			plant(lab)
			return func() {
				run := lab.Research(oneLook, "tested").Run
				lab.RunEnds(run)
				lab.TestRun(run)
			}
		}},
		ktrdr.Training: {"memory:training:", func(_ *testing.T, lab *labtest.Lab) func() {
			lab.Market("EURUSD", 4000, 7)
			return func() { lab.Train(jobs.TrainingRequest{StrategyName: "rsi_mean_reversion"}) }
		}},
		ktrdr.Backtesting: {"memory:backtesting:", func(_ *testing.T, lab *labtest.Lab) func() {
			r := model(lab)
			return func() { lab.Backtest(r) }
		}},
		ktrdr.DataLoad: {"", func(t *testing.T, lab *labtest.Lab) func() {
			longCSV(8_000_000).write(t, filepath.Join(lab.Data(), "long.csv.gz"))
			return func() { lab.Load(jobs.DataLoadRequest{Path: "long.csv.gz", Symbol: "LONG"}) }
		}},
		ktrdr.DataFetch: {"", func(t *testing.T, lab *labtest.Lab) func() {
			dir := t.TempDir()
			longCSV(8_000_000).write(t, filepath.Join(dir, "LONG.csv.gz"))
			files := http.FileServerFS(os.DirFS(dir))
			source := &fetchtest.Server{Before: func(w http.ResponseWriter, r *http.Request, _ int) bool {
				files.ServeHTTP(w, r)
				return true
			}}
			server, env := source.Start(t)
			lab.Set(env...)
			return func() {
				lab.Fetch(jobs.DataFetchRequest{
					Source: "url:" + server.URL + "/{symbol}.csv.gz", Symbol: "LONG", Timeframe: "1m", From: "2001-09-09", To: "2020-01-01",
				})
			}
		}},
		ktrdr.Examining: {"memory:examining:", func(_ *testing.T, lab *labtest.Lab) func() {
			plant(lab)
			one := oneLook
			one.Count = 1
			return func() { lab.Research(one, "examination") }
		}},
		ktrdr.AgentConfirm: {"memory:confirming:", func(_ *testing.T, lab *labtest.Lab) func() {
			plant(lab)
			return func() { lab.Research(oneLook, "look") }
		}},
		ktrdr.ClaimStep: {"memory:following:", func(_ *testing.T, lab *labtest.Lab) func() {
			all := claimIn(lab)
			return func() { lab.Import(all) }
		}},
	}
	for typ, d := range backend.Types() {
		if d.Restart != ktrdr.RestartInChild || typ == ktrdr.Dummy { // TestCrashLoop_ kills with it
			continue
		}
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			c := cases[typ]
			lab := labtest.New(t, labtest.SQLite, labtest.Calm)
			start := c.begin(t, lab)
			boot := func() *labtest.Process { return lab.BootLimited(limit, 2, "KTRDR_INJECT="+c.inject) }
			first := boot()
			lab.Healthy(first)
			start()
			failed := func() bool { return lab.Is(lab.Only(typ), ktrdr.Failed) }
			if !lab.Died(first, failed) {
				t.Fatalf("%s did not kill the backend that ran it\n%s", typ, first.Log())
			}
			last, _ := supervised(t, lab, boot, failed)
			id := lab.Only(typ)
			isPoison(t, lab, id)
			if op := lab.Op(id); !strings.Contains(op.ErrorMessage, "out of memory") && !strings.Contains(op.ErrorMessage, "allocate memory") {
				t.Errorf("%s failed with %q, want it to say that memory ran out", typ, op.ErrorMessage)
			}
			lab.Ends(lab.Submit(dummy.Spec{Steps: 3, StepMS: 1}), ktrdr.Completed)
			if !last.Alive() || last.PID() == 0 || syscall.Kill(last.PID(), 0) != nil {
				t.Errorf("the backend died with the child\n%s", last.Log())
			}
		})
	}
}

// longFile is a price file of n minutes in which the price does not change.
type longFile int

func longCSV(rows int) longFile { return longFile(rows) }

func (n longFile) write(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name) //nolint:gosec // the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(z, 1<<20)
	fmt.Fprintln(w, "time,open,high,low,close,volume")
	var line []byte
	for i := range int(n) {
		line = strconv.AppendInt(line[:0], int64(1_000_000_020+60*i), 10)
		_, _ = w.Write(append(line, ",1,1,1,1,1\n"...)) // Flush tells
	}
	for _, close := range []func() error{w.Flush, z.Close, f.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
}
