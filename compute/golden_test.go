package compute

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/neural"
)

// The hashes of a backtest of one symbol, as they were before a backtest could
// trade several. Results of one symbol that are stored must stay comparable with
// new ones. They read all bars, as every request did then.
func TestBacktest_OneSymbolHasTheHashesItAlwaysHad(t *testing.T) {
	portable, err := neural.KernelFor(neural.ClassPortable)
	if err != nil {
		t.Fatal(err)
	}
	o := newOffice(t, 3000, "EURUSD")
	o.desk.cfg.Kernel = portable
	training := o.run(o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 3"), OpenHoldout: true}),
		once(TrainingRunner(portable)))
	for scope, want := range map[jobs.Scope]struct{ result, columns string }{
		jobs.ScopeTest: {
			"ea425262755dd0cb69cbd015b9ff4ba7e45442041872e330e175ea1c9b8434d1", "5ae416a17d4a31bb6095c9eefd02f11a14a84b20a4a9a5e2e315521dc0e6b1b0",
		},
		jobs.ScopeAll: {
			"16ad2a9ed444d2672684406174b7036f913bbb0767899beffe9a2e7f9fc4848f", "3088a708ac16415a8212bc689fe9f6740fc3078fd43f0fe96ee15ccdb505caa0",
		},
	} {
		op := o.run(o.backtest(jobs.BacktestRequest{Model: string(training.ID), Scope: string(scope), OpenHoldout: true}),
			once(BacktestRunner(portable)))
		r := resultOf[jobs.BacktestResult](t, op)
		if got := r.ResultHash.String(); got != want.result {
			t.Errorf("scope %s: result_hash is %s, want %s", scope, got, want.result)
		}
		if got := r.Artifacts[0].SHA256.String(); got != want.columns {
			t.Errorf("scope %s: the columns have the sha256 %s, want %s", scope, got, want.columns)
		}
	}
}

// The spec of an operation that an earlier version stored.
func TestBacktestSpec_ReadsWhatEarlierVersionsStored(t *testing.T) {
	text := `{"model":{"name":"model.ktm","sha256":"` + ktrdr.Hash{
		1,
	}.String() + `","size":9},"symbol":"EURUSD","scope":"test","overrides":{},` +
		`"bars":[{"symbol":"EURUSD","timeframe":"1h","bars_hash":"` + ktrdr.Hash{2}.String() + `","name":"EURUSD_1h.ktb","sha256":"` +
		ktrdr.Hash{3}.String() + `","size":9}]}`
	spec, err := ktrdr.ParseSpec[jobs.BacktestSpec]([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	op, err := operation(ktrdr.Backtesting, spec, nil)
	if err != nil || string(op.Spec) != text {
		t.Errorf("read and written again (%v):\n%s\nwant\n%s", err, op.Spec, text)
	}
	if got, want := backtestFingerprint(spec)["settings"], "EURUSD {}"; got != want {
		t.Errorf("the fingerprint's settings are %q, want %q", got, want)
	}
}
