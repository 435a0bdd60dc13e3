package compute

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/cache"
	"github.com/ktrdr/ktrdr/jobs"
)

// compacted is a training and a backtest of one research that keep no file.
func compacted(t *testing.T, o *office) (training, run ktrdr.Operation, files map[ktrdr.Hash][]byte) {
	t.Helper()
	o.run(o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 3")}), once(TrainingRunner(best)))
	o.run(o.backtest(jobs.BacktestRequest{Model: string(o.ended[0].ID)}), once(BacktestRunner(best)))
	files = map[ktrdr.Hash][]byte{}
	for i := range o.ended {
		op := &o.ended[i]
		op.Parent, op.Root, op.Compacted = "op_agent_research_1", "op_agent_research_1", true
		for _, a := range ktrdr.ArtifactsIn(op.Result) {
			if b := o.b.Blobs()[a.SHA256]; b != nil {
				files[a.SHA256] = b
			}
			o.b.SetBlob(a.SHA256, nil)
		}
	}
	return o.ended[1], o.ended[0], files
}

func TestFile_OfACompactedOperationIsComputedAgainBitForBit(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	training, run, files := compacted(t, o)
	puts := o.blobs.puts
	for _, x := range []struct {
		op   ktrdr.Operation
		name string
	}{{run, jobs.BacktestFile}, {training, jobs.ModelFile}} {
		a, err := fileOf(x.op, x.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.desk.File(t.Context(), x.op, x.name)
		if err != nil || len(got) == 0 || !bytes.Equal(got, files[a.SHA256]) {
			t.Errorf("%s: %d bytes, %v; want the %d bytes of the first time", x.name, len(got), err, len(files[a.SHA256]))
		}
	}
	c, err := o.desk.Columns(t.Context(), run, jobs.Page{Equity: true, Trades: true, Curve: true, Limit: 10})
	if err != nil || len(c.Equity) != 10 || c.Curve == nil {
		t.Errorf("columns: %d of equity, %v", len(c.Equity), err)
	}
	if o.blobs.puts != puts {
		t.Error("reading stored something")
	}
	_, err = o.desk.File(t.Context(), run, "another")
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("a file that it never made: %v", err)
	}
}

// A blob of a compacted operation that is there and damaged is as good as none: the
// file is computed again.
func TestFile_OfACompactedOperationIsComputedAgainWhereItIsDamaged(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	training, run, files := compacted(t, o)
	damages := map[string]func([]byte) []byte{
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return []byte{} },
	}
	damage := func(how func([]byte) []byte) {
		for h, b := range files {
			o.b.SetBlob(h, how(bytes.Clone(b)))
		}
	}
	for name, how := range damages {
		t.Run(name, func(t *testing.T) {
			o.desk.rebuilt = cache.New[ktrdr.Hash, []byte](maxRebuilt)
			damage(how)
			for file, op := range map[string]ktrdr.Operation{jobs.BacktestFile: run, jobs.ModelFile: training} {
				a, err := fileOf(op, file)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := o.desk.File(t.Context(), op, file); err != nil || !bytes.Equal(got, files[a.SHA256]) {
					t.Errorf("%s: %d bytes, %v; want the %d bytes of the first time", file, len(got), err, len(files[a.SHA256]))
				}
			}
		})
	}
	for i := range o.ended { // by hand: the research itself is not known here
		o.ended[i].Parent = ""
	}
	model, err := fileOf(training, jobs.ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{string(training.ID), model.SHA256.String()} {
		damage(damages["cut off"])
		again := o.run(o.backtest(jobs.BacktestRequest{Model: name}), once(BacktestRunner(best)))
		if got, want := resultOf[jobs.BacktestResult](t, again).ResultHash, resultOf[jobs.BacktestResult](t, run).ResultHash; got != want {
			t.Errorf("a backtest of the damaged model by %s: result hash %s, want %s", name, got, want)
		}
	}

	kept := run
	kept.Compacted = false
	damage(damages["flipped"])
	if _, err := o.desk.File(t.Context(), kept, jobs.BacktestFile); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
		t.Errorf("a damaged file of a whole operation: %v, want CodeCorrupt", err)
	}
}

func TestFile_SaysPlainlyWhenItCannotBeComputedAgain(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	training, run, _ := compacted(t, o)

	other := run
	other.Result = bytes.Replace(run.Result, []byte(`"result_hash":"`), []byte(`"result_hash":"00`), 1)
	other.Result = append(other.Result[:len(other.Result)-4], '"', '}')
	_, err := o.desk.File(t.Context(), other, jobs.BacktestFile)
	if ktrdr.CodeOf(err) != ktrdr.CodeMismatch || !strings.Contains(err.Error(), "computes it differently") {
		t.Errorf("another result hash: %v", err)
	}

	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](training.Spec)
	if err != nil {
		t.Fatal(err)
	}
	o.b.SetBlob(spec.Bars[0].SHA256, nil)
	_, err = o.desk.File(t.Context(), run, jobs.BacktestFile)
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound || !strings.Contains(err.Error(), "bars that it was computed from are deleted") {
		t.Errorf("without bars: %v", err)
	}

	kept := run
	kept.Compacted = false
	if _, err = o.desk.File(t.Context(), kept, jobs.BacktestFile); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("a whole operation without its file: %v", err)
	}
}

func TestBacktest_OfACompactedModelStoresItAgain(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	training, run, files := compacted(t, o)
	for i := range o.ended { // by hand: the research itself is not known here
		o.ended[i].Parent = ""
	}
	a, err := fileOf(training, jobs.ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{string(training.ID), a.SHA256.String()} {
		o.b.SetBlob(a.SHA256, nil)
		again := o.run(o.backtest(jobs.BacktestRequest{Model: name}), once(BacktestRunner(best)))
		if got, want := resultOf[jobs.BacktestResult](t, again).ResultHash, resultOf[jobs.BacktestResult](t, run).ResultHash; got != want {
			t.Errorf("by %s: result hash %s, want %s", name, got, want)
		}
		if !bytes.Equal(o.b.Blobs()[a.SHA256], files[a.SHA256]) {
			t.Errorf("by %s: the model that the spec names is not stored", name)
		}
	}
}

// pins is the engine as far as pinning goes.
type pins struct {
	compacted bool
	calls     []bool // whether the files were said to be back
}

func (p *pins) SetPinned(_ context.Context, id ktrdr.OperationID, pinned, restored bool) (ktrdr.Operation, error) {
	p.calls = append(p.calls, restored)
	if p.compacted && pinned && !restored {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeConflict, "compacted")
	}
	return ktrdr.Operation{ID: id, Pinned: pinned}, nil
}

func TestPin_StoresTheFilesBeforeTheRowSaysSo(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	training, _, files := compacted(t, o)
	p := &pins{compacted: true}
	o.desk.cfg.Pins = p
	op, err := o.desk.Pin(t.Context(), training.ID, true)
	if err != nil || !op.Pinned || len(p.calls) != 2 || !p.calls[1] {
		t.Fatalf("%+v after %v, %v", op, p.calls, err)
	}
	for h, b := range files {
		if !bytes.Equal(o.b.Blobs()[h], b) || ktrdr.Hash(sha256.Sum256(b)) != h {
			t.Errorf("blob %s is not back", h)
		}
	}
}

func TestDaily_TheDaysMultiplyToTheTotalReturn(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	o.run(o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 3")}), once(TrainingRunner(best)))
	op := o.run(o.backtest(jobs.BacktestRequest{Model: string(o.ended[0].ID)}), once(BacktestRunner(best)))
	r := resultOf[jobs.BacktestResult](t, op)
	list, err := r.Daily.List()
	if err != nil || len(list) < 10 {
		t.Fatalf("%d days, %v", len(list), err)
	}
	product := 1.0
	for i, d := range list {
		product *= 1 + float64(d.Return)
		if i > 0 && !d.Day.After(list[i-1].Day) {
			t.Errorf("%v comes after %v", d.Day, list[i-1].Day)
		}
	}
	if want := r.Metrics.FinalEquity / r.Metrics.InitialCapital; product < want*(1-1e-5) || product > want*(1+1e-5) {
		t.Errorf("the days make %v of 1, and the backtest %v", product, want)
	}
	if first := list[0].Day; r.Start.Before(first) || r.Start.After(first.AddDate(0, 0, 1)) {
		t.Errorf("the first day is %v, and the backtest starts at %v", first, r.Start)
	}
	_, err = jobs.Daily{First: "2020-01-01", Days: "/w==", Returns: "AAAA"}.List()
	if ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
		t.Errorf("fewer returns than days: %v", err)
	}
	run := &backtest.Result{Config: backtest.Config{InitialCapital: 100}, Time: []int64{-1, 0, 86400 * 3}, Equity: []float64{110, 55, 55}}
	by, err := jobs.DailyOf(run).List()
	if err != nil || len(by) != 3 || by[0].Return != 0.1 || by[1].Return != -0.5 || by[2].Return != 0 ||
		by[2].Day.Sub(by[0].Day).Hours() != 96 {
		text, _ := json.Marshal(by)
		t.Errorf("by hand: %s, %v", text, err)
	}
}
