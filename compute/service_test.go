package compute

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// refused wants a request refused with a sentence, and nothing stored for it.
func (o *office) refused(t *testing.T, err error, says string) {
	t.Helper()
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), says) {
		t.Errorf("err = %v, want CodeInvalid with %q", err, says)
	}
	if err != nil && strings.Contains(err.Error(), "statat") {
		t.Errorf("the error names a system call: %v", err)
	}
	if o.blobs.puts != 0 {
		t.Errorf("%d blobs were stored for a request that was refused", o.blobs.puts)
	}
}

func TestDesk_SaysWhatIsWrongWithATraining(t *testing.T) {
	o := newOffice(t, 500, "EURUSD")
	o.file("strategies/broken.yaml", "name: broken\n")
	o.file("strategies/mine.yaml", small())
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(outside, []byte(small()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(o.dir, "strategies", "link.yaml")); err != nil {
		t.Fatal(err)
	}
	huge := uint64(math.MaxUint64)
	seven := uint64(7)
	o.synth("SHORT", market.H1, 99, 1)
	o.synth("LATER", market.H1, 500, 1)
	o.add(market.Synth(market.SynthConfig{
		Symbol: "LATER", Timeframe: market.H4, Bars: 300, Start: time.Date(2017, 1, 2, 0, 0, 0, 0, time.UTC),
	}))
	o.synth("OTHER", market.H1, 500, 1)
	dear := market.Synth(market.SynthConfig{Symbol: "OTHER", Timeframe: market.H4, Bars: 200})
	for _, column := range [][]float64{dear.Open, dear.High, dear.Low, dear.Close} {
		for i := range column {
			column[i] *= 100
		}
	}
	o.add(dear)
	two := small("{mode: single, timeframe: 1h}", "{mode: multi_timeframe, timeframes: [1h, 4h]}")
	for name, c := range map[string]struct {
		r    jobs.TrainingRequest
		says string
	}{
		"no strategy":       {jobs.TrainingRequest{}, "exactly one of strategy_path"},
		"two strategies":    {jobs.TrainingRequest{StrategyName: "mine", StrategyYAML: small()}, "exactly one of strategy_path"},
		"unknown name":      {jobs.TrainingRequest{StrategyName: "nosuch"}, "those that come with the program: gru_breakout"},
		"a path for a name": {jobs.TrainingRequest{StrategyName: "strategies/mine"}, "use strategy_path"},
		"a file that is not there": {
			jobs.TrainingRequest{StrategyPath: "strategies/none.yaml"}, "no strategy strategies/none.yaml in the data folder",
		},
		"a path out of the folder": {
			jobs.TrainingRequest{StrategyPath: "../secret.yaml"},
			"path escapes from parent; paths are relative to the data folder and stay inside it",
		},
		"an absolute path":         {jobs.TrainingRequest{StrategyPath: outside}, "stay inside"},
		"a link out of the folder": {jobs.TrainingRequest{StrategyPath: "strategies/link.yaml"}, "stay inside"},
		"a folder":                 {jobs.TrainingRequest{StrategyPath: "strategies"}, "not a regular file"},
		"the backend's token":      {jobs.TrainingRequest{StrategyPath: "strategies/../Token"}, "is the backend's own"},
		"too many symbols": {
			jobs.TrainingRequest{StrategyName: "mine", Symbols: slices.Repeat([]string{"EURUSD"}, 9)}, "EURUSD, and 1 more 1h: ",
		},
		"an invalid strategy": {jobs.TrainingRequest{StrategyName: "broken"}, "strategies/broken.yaml:1"},
		"a long text":         {jobs.TrainingRequest{StrategyYAML: strings.Repeat("#", library.MaxStrategy+1)}, "at most"},
		"bars that are not there": {
			jobs.TrainingRequest{StrategyName: "mine", Symbols: []string{"GBPUSD", "USDJPY"}},
			"no 1h bars of GBPUSD: import some with `ktrdr data import FILE --symbol GBPUSD --timeframe 1h`, or make some up with `ktrdr data synth",
		},
		"and all that are missing": {jobs.TrainingRequest{StrategyName: "mine", Symbols: []string{"GBPUSD", "USDJPY"}}, "no 1h bars of USDJPY"},
		"another timeframe": {
			jobs.TrainingRequest{StrategyName: "mine", Timeframe: "15m"}, "there are bars of 1h, but none is made of another unasked",
		},
		"bars it can be made of": {
			jobs.TrainingRequest{StrategyName: "mine", Timeframe: "1d"}, "or make them of those with `ktrdr data resample EURUSD 1h 1d`",
		},
		"two times": {
			jobs.TrainingRequest{
				StrategyYAML: two, Symbol: "LATER",
			}, "the 1h bars reach from 2015-01-05 00:00 to 2015-02-02 22:00, the 4h bars from 2017-01-02 00:00 to",
		},
		"two markets": {jobs.TrainingRequest{StrategyYAML: two, Symbol: "OTHER"}, "the 1h and the 4h bars are not the same market"},
		"dates without bars": {
			jobs.TrainingRequest{StrategyName: "mine", StartDate: "2014-01-01", EndDate: "2015-01-07"},
			"at least 100 bars of 1h of each symbol from 2014-01-01 00:00 to 2015-01-08 00:00, and there are 72 of EURUSD (of 400 from 2015-01-05 " +
				"00:00 to 2015-01-27 18:00)",
		},
		"dates after the bars": {
			jobs.TrainingRequest{StrategyName: "mine", StartDate: "2020-01-01"}, "from 2020-01-01 00:00, and there are 0 of EURUSD (of 400",
		},
		"one symbol of few bars": {
			jobs.TrainingRequest{StrategyName: "mine", Symbols: []string{"EURUSD", "SHORT"}}, "and there are 80 of SHORT (of 80 from",
		},
		"no timeframe": {jobs.TrainingRequest{StrategyName: "mine", Timeframe: "3h"}, "3h"},
		"a symbol twice": {
			jobs.TrainingRequest{StrategyName: "mine", Symbol: "EURUSD", Symbols: []string{"GBPUSD"}}, "symbol and symbols are given both",
		},
		"not a symbol":             {jobs.TrainingRequest{StrategyName: "mine", Symbol: "../x"}, "symbol"},
		"timeframes it cannot use": {jobs.TrainingRequest{StrategyYAML: two, Timeframe: "1h"}, "is written for 1h, 4h and cannot be moved to 1h"},
		"not a date":               {jobs.TrainingRequest{StrategyName: "mine", StartDate: "yesterday"}, `start_date "yesterday" is not a date`},
		"an end before the start": {
			jobs.TrainingRequest{StrategyName: "mine", StartDate: "2020-02-01", EndDate: "2020-01-01"}, "not after its start",
		},
		"a seed beyond JSON": {jobs.TrainingRequest{StrategyName: "mine", Seed: &huge}, "at most 9007199254740992"},
		"two seeds": {
			jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 24\n  seed: 3"), Seed: &seven},
			"fixes its seed to 3, and 7 was asked for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.desk.Training(t.Context(), c.r)
			o.refused(t, err, c.says)
		})
	}
	t.Run("more than may be spent", func(t *testing.T) {
		o.desk.cfg.MaxMemory = 1 << 10
		_, err := o.desk.Training(t.Context(), jobs.TrainingRequest{StrategyName: "mine"})
		o.refused(t, err, "MB are allowed")
	})
}

func TestDesk_SaysWhatIsWrongWithABacktest(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	model := string(o.trained(small("epochs: 24", "epochs: 2")))
	failed := ktrdr.Operation{ID: "op_training_20260101_000000_00000001", Type: ktrdr.Training, Status: ktrdr.Failed}
	dummy := ktrdr.Operation{ID: "op_dummy_20260101_000000_00000001", Type: ktrdr.Dummy, Status: ktrdr.Completed}
	o.ended = append(o.ended, failed, dummy)
	o.file("models/broken.safetensors", "not a model")
	o.blobs.puts = 0
	less := -1.0
	for name, c := range map[string]struct {
		r    jobs.BacktestRequest
		says string
	}{
		"no model":                 {jobs.BacktestRequest{}, "say which model to test"},
		"two models":               {jobs.BacktestRequest{Model: model, ModelPath: "x"}, "model and model_path are given both"},
		"a training that failed":   {jobs.BacktestRequest{Model: string(failed.ID)}, "is FAILED"},
		"no training":              {jobs.BacktestRequest{Model: string(dummy.ID)}, "only a training makes a model"},
		"a hash that is not there": {jobs.BacktestRequest{Model: strings.Repeat("ab", 32)}, "no model with the sha256"},
		"a file that is not there": {jobs.BacktestRequest{ModelPath: "models/none"}, "no file models/none in the data folder"},
		"a file that is no model": {
			jobs.BacktestRequest{ModelPath: "models/broken.safetensors"}, "model models/broken.safetensors: read model: a header of",
		},
		"a file out of the folder":   {jobs.BacktestRequest{ModelPath: "../none"}, "stay inside"},
		"a strategy never trained":   {jobs.BacktestRequest{StrategyName: "other"}, "no training of strategy other has completed"},
		"another strategy's model":   {jobs.BacktestRequest{Model: model, StrategyName: "other"}, "is one of strategy small, not of other"},
		"an unknown scope":           {jobs.BacktestRequest{Model: model, Scope: "future"}, `there is no scope "future"; there are test, all`},
		"another timeframe":          {jobs.BacktestRequest{Model: model, Timeframe: "4h"}, "decides at 1h bars, not at 4h"},
		"bars that are not there":    {jobs.BacktestRequest{Model: model, Symbol: "GBPUSD"}, "no 1h bars of GBPUSD"},
		"a commission below 0":       {jobs.BacktestRequest{Model: model, Commission: &less}, "commission"},
		"an end before the test":     {jobs.BacktestRequest{Model: model, EndDate: "2015-02-01"}, "where the test part of the model begins"},
		"a start after all there is": {jobs.BacktestRequest{Model: model, StartDate: "2035-01-01"}, "end before 2035-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.desk.Backtest(t.Context(), c.r)
			o.refused(t, err, c.says)
		})
	}
	t.Run("the strategy's own end", func(t *testing.T) {
		early := string(o.trained(small("epochs: 24", "epochs: 1", "model:\n", "backtest: {date_range: {end: 2015-02-01}}\nmodel:\n")))
		_, err := o.desk.Backtest(t.Context(), jobs.BacktestRequest{Model: early})
		o.refused(t, err, "the backtest ends at 2015-02-02 00:00, not after")
	})
	_, err := o.desk.Backtest(t.Context(), jobs.BacktestRequest{Model: "op_training_20260101_000000_ffffffff"})
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("an unknown training: %v, want CodeNotFound", err)
	}
}

func TestDesk_SaysWhatIsWrongWithAnImport(t *testing.T) {
	o := newOffice(t, 0)
	o.file("x.csv", "")
	for name, c := range map[string]struct {
		r    jobs.DataLoadRequest
		says string
	}{
		"no file":                {jobs.DataLoadRequest{Symbol: "EURUSD"}, "exactly one of path"},
		"no symbol":              {jobs.DataLoadRequest{Path: "x.csv"}, "of which symbol"},
		"no such file":           {jobs.DataLoadRequest{Path: "y.csv", Symbol: "EURUSD"}, "no file y.csv"},
		"no such blob":           {jobs.DataLoadRequest{SHA256: strings.Repeat("ab", 32), Symbol: "EURUSD"}, "upload it first"},
		"not a hash":             {jobs.DataLoadRequest{SHA256: "ab", Symbol: "EURUSD"}, "64 hex digits"},
		"not a symbol":           {jobs.DataLoadRequest{Path: "x.csv", Symbol: "../x"}, "symbol"},
		"the database":           {jobs.DataLoadRequest{Path: "ktrdr.db-wal", Symbol: "EURUSD"}, "is the backend's own"},
		"a blob by its path":     {jobs.DataLoadRequest{Path: "./blobs/ab/cd", Symbol: "EURUSD"}, "is the backend's own"},
		"a zone that is nowhere": {jobs.DataLoadRequest{Path: "x.csv", Symbol: "EURUSD", Zone: "Mars/Olympus"}, "no time zone: give one like"},
		"no such timeframe":      {jobs.DataLoadRequest{Path: "x.csv", Symbol: "EURUSD", Timeframe: "3h"}, "3h"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := o.desk.DataLoad(t.Context(), c.r)
			o.refused(t, err, c.says)
		})
	}
}

func TestDesk_PinsWhatATrainingReads(t *testing.T) {
	o := newOffice(t, 500, "EURUSD", "GBPUSD")
	order := o.train(jobs.TrainingRequest{
		StrategyYAML: small(), Symbols: []string{"GBPUSD", "EURUSD"}, StartDate: "2015-01-10", EndDate: "2015-01-20",
	})
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](order.Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Bars) != 2 || spec.Bars[0].Symbol != "GBPUSD" || spec.Bars[1].Name != "EURUSD_1h.bars" || spec.Seed != defaultSeed {
		t.Errorf("spec %+v, want the bars of both symbols in their order, and the seed", spec)
	}
	if got := span(spec.Start, spec.End); got != "2015-01-10T00:00:00Z to 2015-01-21T00:00:00Z" {
		t.Errorf("dates %s, want the last day included", got)
	}
	for _, b := range spec.Bars {
		if int64(len(o.b.Blobs()[b.SHA256])) != b.Size {
			t.Errorf("%s is not in the blob store as the spec names it", b.Name)
		}
	}
	s, _, err := strategy.Parse([]byte(spec.Strategy), "strategy")
	if err != nil || strings.Join(s.Data.Symbols, " ") != "GBPUSD EURUSD" {
		t.Errorf("the strategy is for %v (%v), want the symbols asked for", s.Data.Symbols, err)
	}
	if o.blobs.puts != 2 {
		t.Errorf("%d blobs stored, want 2", o.blobs.puts)
	}
	if o.train(jobs.TrainingRequest{StrategyYAML: small()}); o.blobs.puts != 2 {
		t.Errorf("%d blobs stored after the same bars again, want still 2", o.blobs.puts)
	}
	var found int
	var spelt map[string]json.RawMessage
	if err := json.Unmarshal(order.Operation.Spec, &spelt); err == nil {
		var bars []map[string]json.RawMessage
		_ = json.Unmarshal(spelt["bars"], &bars)
		for _, b := range bars {
			if b["name"] != nil && b["sha256"] != nil && b["size"] != nil {
				found++
			}
		}
	}
	if found != 2 {
		t.Errorf("%d inputs of %s are artifacts by which the store finds references, want 2", found, order.Operation.Spec)
	}
}

func TestDesk_MovesAStrategyToAnotherTimeframe(t *testing.T) {
	o := newOffice(t, 500, "EURUSD")
	o.synth("EURUSD", market.H4, 400, 3)
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](o.train(jobs.TrainingRequest{StrategyYAML: small(), Timeframe: "4h"}).Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := strategy.Parse([]byte(spec.Strategy), "strategy")
	if err != nil || s.Data.Base != market.H4 || !strings.HasPrefix(string(s.Features()[0]), "4h_") || spec.Bars[0].Timeframe != market.H4 {
		t.Errorf("strategy of %s reads %v (%v), want 4h", s.Data.Base, s.Features(), err)
	}
}

func TestDesk_NamesStrategiesOfTheFolderBeforeItsOwn(t *testing.T) {
	o := newOffice(t, 500, "EURUSD")
	o.file("strategies/rsi_mean_reversion.yaml", small("name: small", "name: rsi_mean_reversion"))
	o.file("strategies/broken.yml", "name: broken\n")
	o.file("strategies/notes.txt", "")
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](o.train(jobs.TrainingRequest{StrategyName: "rsi_mean_reversion"}).Operation.Spec)
	if err != nil || !strings.Contains(spec.Strategy, "hidden_layers: [12, 6]") {
		t.Errorf("spec %+v (%v), want the strategy of the folder", spec, err)
	}
	list, err := o.desk.Strategies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(strategy.Examples())+1 {
		t.Errorf("%d strategies, want the %d of the program, one of them hidden, and two files", len(list), len(strategy.Examples()))
	}
	for _, s := range list {
		if (s.Name == "broken") != (len(s.Problems) > 0) {
			t.Errorf("%s has problems %v", s.Name, s.Problems)
		}
		if s.Name == "rsi_mean_reversion" && (s.Path == "" || s.Model != "mlp" || s.Features != 4) {
			t.Errorf("listed as %+v, want the file's", s)
		}
	}
}

func TestDesk_BacktestsTheNewestModelOfAStrategy(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	o.trained(small("epochs: 24", "epochs: 1"))
	newest := o.trained(small("epochs: 24", "epochs: 2"))
	order := o.backtest(jobs.BacktestRequest{StrategyName: "small"})
	spec, err := ktrdr.ParseSpec[jobs.BacktestSpec](order.Operation.Spec)
	if err != nil || spec.Symbol != "EURUSD" || spec.Scope != jobs.ScopeTest {
		t.Fatalf("spec %+v, %v", spec, err)
	}
	models, _, err := o.desk.Models(t.Context(), 10, "")
	if err != nil || len(models) != 2 || models[0].Operation != newest || models[0].File != spec.Model {
		t.Errorf("models %+v (%v), want the newest first, and it in the spec", models, err)
	}
	if m := models[0]; m.Strategy != "small" || m.TestAccuracy == nil || m.Baseline == nil || m.Symbols[0] != "EURUSD" ||
		m.Architecture == "" {
		t.Errorf("listed as %+v", m)
	}
	o.file("models/mine.safetensors", string(o.b.Blobs()[spec.Model.SHA256]))
	for _, r := range []jobs.BacktestRequest{{ModelPath: "models/mine.safetensors"}, {Model: spec.Model.SHA256.String()}} {
		same, err := ktrdr.ParseSpec[jobs.BacktestSpec](o.backtest(r).Operation.Spec)
		if err != nil || same.Model.SHA256 != spec.Model.SHA256 {
			t.Errorf("%+v names model %s (%v), want %s", r, same.Model.SHA256, err, spec.Model.SHA256)
		}
	}
}

func TestSpec_TakesNothingItDoesNotKnow(t *testing.T) {
	o := newOffice(t, 500, "EURUSD")
	good := string(o.train(jobs.TrainingRequest{StrategyYAML: small()}).Operation.Spec)
	for name, text := range map[string]string{
		"another field":   strings.Replace(good, `"seed"`, `"sede":1,"seed"`, 1),
		"more after it":   good + "{}",
		"no strategy":     strings.Replace(good, `"strategy_yaml":"`, `"strategy_yaml":"","x":"`, 1),
		"another kernel":  strings.Replace(good, best.Class(), "abacus/1", 1),
		"no bars":         `{"strategy_yaml":"x","seed":1,"kernel_class":"fma/1","bars":[]}`,
		"bars of nothing": `{"strategy_yaml":"x","seed":1,"kernel_class":"fma/1","bars":[{}]}`,
		"not JSON":        "strategy",
	} {
		if _, err := Types()[ktrdr.Training].Fingerprint([]byte(text)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s: %v, want CodeInvalid", name, err)
		}
	}
	for typ, d := range Types() {
		if err := d.Spec(json.RawMessage(`{"x":1}`)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("check of a wrong %s spec: %v, want CodeInvalid", typ, err)
		}
	}
	for _, typ := range []ktrdr.Type{ktrdr.Training, ktrdr.Backtesting} {
		if _, err := Types()[typ].Fingerprint([]byte(`{"x":1}`)); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("fingerprint of a wrong %s spec: %v, want CodeInvalid", typ, err)
		}
	}
}
