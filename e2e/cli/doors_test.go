package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/report"
)

// inLabs runs a test with a lab on each of the stores.
func inLabs(t *testing.T, test func(*testing.T, *lab)) {
	t.Helper()
	for name, env := range map[string]func(*testing.T) []string{
		"SQLite":     func(*testing.T) []string { return nil },
		"PostgreSQL": func(t *testing.T) []string { return []string{"KTRDR_DB=" + labtest.Database(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newLab(t, env(t)...))
		})
	}
}

// Every way to read what a model does on the holdout of a market stops where the
// holdout begins, or is a look that every view counts.
func TestHoldout_EveryDoorIsShutOrCounted(t *testing.T) {
	t.Parallel()
	inLabs(t, func(t *testing.T, l *lab) {
		bars := recognisable(l)
		l.serve("--workers", "2")
		from := instant(bars.Time[bars.Len()-int(0.2*float64(bars.Len()))])
		training := l.finished("train", "rsi_mean_reversion")
		d := &doors{lab: l, from: from, model: string(training.ID), file: filepath.Join(t.TempDir(), "model.safetensors")}
		d.market = d.onlyMarket()
		d.trained(training, false)
		l.must("models", "save", d.model, d.file)

		d.shut("a backtest", func(extra ...string) time.Time { return d.traded(append([]string{"backtest", d.model}, extra...)...) })
		d.shut("a backtest of a model file", func(extra ...string) time.Time {
			return d.traded(append([]string{"backtest", d.file}, extra...)...)
		})
		d.shut("a backtest of all bars", func(extra ...string) time.Time {
			return d.traded(append([]string{"backtest", d.model, "--scope", "all"}, extra...)...)
		})
		d.shut("a prediction", func(extra ...string) time.Time { return d.decided(append([]string{"predict", d.model}, extra...)...) })
		d.shut("a training", func(extra ...string) time.Time {
			return d.trained(l.finished(append([]string{"train", "rsi_mean_reversion", "--seed", "2"}, extra...)...), len(extra) > 0)
		})
		d.copies()
		d.again()
		d.parallel()
		d.paid()
	})
}

// doors tries the doors of one market.
type doors struct {
	*lab
	from   time.Time // the holdout begins here
	model  string    // trained by hand
	file   string    // the same
	market string
}

// onlyMarket is the one market that there is.
func (d *doors) onlyMarket() string {
	d.t.Helper()
	page := decode[memoryPage](d.t, d.must("memory", "trials", "--json"))
	if len(page.Trials) != 1 || page.Trials[0].Market == "" {
		d.t.Fatalf("trials %+v, want the training on its market", page.Trials)
	}
	return page.Trials[0].Market
}

// shut tries a door without and with --open-holdout. The last bar that it showed
// is before the holdout, or it was a look.
func (d *doors) shut(name string, try func(extra ...string) time.Time) {
	d.t.Helper()
	before := d.looks()
	if last := try(); last.After(d.from) {
		d.t.Errorf("%s shows bars until %s, want none after %s", name, last, d.from)
	}
	if n := d.looks(); n != before {
		d.t.Errorf("%s: %d looks, and %d before; want no more", name, n, before)
	}
	if last := try("--open-holdout"); !last.After(d.from) {
		d.t.Errorf("%s opened shows bars until %s, want some after %s", name, last, d.from)
	}
	if n := d.looks(); n != before+1 {
		d.t.Errorf("%s opened: %d looks, and %d before; want one more", name, n, before)
	}
}

// looks is how many looks at the market every view shows.
func (d *doors) looks() int {
	d.t.Helper()
	page, err := d.client().Looks(d.t.Context(), ktrdr.LookQuery{Market: d.market})
	if err != nil {
		d.t.Fatal(err)
	}
	n := len(page.Looks)
	memory := decode[memoryPage](d.t, d.must("memory", "trials", "--json"))
	views := map[string]int{
		"memory": int(memory.Counts["looks"]),
		"report": decode[report.Report](d.t, d.must("report", "--json")).Researches.Looks,
	}
	for _, row := range memory.Trials {
		views["trial "+string(row.Operation)] = row.MarketLooks
	}
	for _, row := range decode[report.Leaderboard](d.t, d.must("leaderboard", "--json")).Rows {
		views["leaderboard "+string(row.Operation)] = row.MarketLooks
	}
	type listed struct {
		Symbol, Timeframe string
		Looks             int
	}
	for _, row := range decode[[]listed](d.t, d.must("data", "list", "--json")) {
		views["data list of "+row.Symbol+" "+row.Timeframe] = row.Looks
	}
	for view, shows := range views {
		if shows != n {
			d.t.Errorf("%s shows %d looks, and the ledger has %d", view, shows, n)
		}
	}
	return n
}

// traded backtests and returns the close of the last bar in trades and equity.
func (d *doors) traded(args ...string) time.Time {
	d.t.Helper()
	op := d.finished(args...)
	r := backtestResult(d.t, op)
	opened := slices.Contains(args, "--open-holdout")
	if (r.Opened != nil) != opened {
		d.t.Errorf("%v: opened %+v", args, r.Opened)
	}
	d.sealed(op, opened)
	last := r.End
	for cursor := ""; ; {
		page := decode[resultsPage](d.t,
			d.must(append([]string{"results", string(op.ID), "--include", "trades,equity", "--limit", "1000", "--json"}, cursorArgs(cursor)...)...))
		for _, p := range page.Equity {
			last = later(last, p.Time)
		}
		for _, x := range page.Trades {
			last = later(last, x.ExitTime)
		}
		if cursor = page.Next; cursor == "" {
			return last.Add(time.Hour)
		}
	}
}

// sealed reads the bars that the worker of an operation was given.
func (d *doors) sealed(op ktrdr.Operation, opened bool) {
	d.t.Helper()
	var spec struct {
		Bars []jobs.Bars `json:"bars"`
	}
	if err := json.Unmarshal(d.op(string(op.ID)).Spec, &spec); err != nil || len(spec.Bars) != 1 {
		d.t.Fatalf("spec of %s: %v", op.ID, err)
	}
	last := d.lastGiven(spec.Bars[0])
	if last.After(d.from) != opened {
		d.t.Errorf("the worker of %s was given bars until %s, and the holdout begins at %s", op.ID, last, d.from)
	}
}

func cursorArgs(cursor string) []string {
	if cursor == "" {
		return nil
	}
	return []string{"--cursor", cursor}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// decided predicts all there is and returns the close of the last bar.
func (d *doors) decided(args ...string) time.Time {
	d.t.Helper()
	p := decode[jobs.Prediction](d.t, d.must(append(args, "--last", "4000", "--json")...))
	if opened := slices.Contains(args, "--open-holdout"); (len(p.Look) > 0) != opened || len(p.Warnings) != 1 {
		d.t.Errorf("%v: look %+v, warnings %q", args, p.Look, p.Warnings)
	}
	return p.Bars[len(p.Bars)-1].Closed
}

// trained returns the close of the last bar that a training read.
func (d *doors) trained(op ktrdr.Operation, opened bool) (last time.Time) {
	d.t.Helper()
	var r jobs.TrainingResult
	if err := json.Unmarshal(op.Result, &r); err != nil {
		d.t.Fatal(err)
	}
	if (r.Opened != nil) != opened {
		d.t.Errorf("%s: opened %+v", op.ID, r.Opened)
	}
	d.sealed(op, opened)
	for _, s := range r.Data.Sources {
		last = later(last, instant(s.Timeframe.End(s.Last)))
	}
	return last
}

// copies tries the same market under another name and in another timeframe.
func (d *doors) copies() {
	d.t.Helper()
	prices := filepath.Join(d.t.TempDir(), "prices.csv")
	d.must("data", "export", "EURUSD", "1h", "--csv", prices)
	d.must("data", "import", prices, "--symbol", "COPY", "--timeframe", "1h")
	d.must("data", "resample", "EURUSD", "1h", "4h")
	d.shut("a backtest of a renamed copy", func(extra ...string) time.Time {
		return d.traded(append([]string{"backtest", d.model, "--symbol", "COPY"}, extra...)...)
	})
	d.shut("a prediction of a renamed copy", func(extra ...string) time.Time {
		return d.decided(append([]string{"predict", d.file, "--symbol", "COPY"}, extra...)...)
	})
	d.shut("a training on another timeframe", func(extra ...string) time.Time {
		return d.trained(d.finished(append([]string{"train", "rsi_mean_reversion", "--timeframe", "4h"}, extra...)...), len(extra) > 0)
	})
}

// again asks the same question again: it is the same look. A backtest says where
// it stops.
func (d *doors) again() {
	d.t.Helper()
	before := d.looks()
	out := d.must("predict", d.file, "--open-holdout")
	if n := d.looks(); n != before || !strings.Contains(out, "This was look ") {
		d.t.Errorf("the same prediction again: %d looks, and %d before\n%s", n, before, out)
	}
	var opened ktrdr.Operation
	for _, op := range d.ops("--type", "backtesting") {
		if l, err := d.client().Looks(d.t.Context(), ktrdr.LookQuery{Market: d.market}); err == nil &&
			slices.ContainsFunc(l.Looks, func(l ktrdr.Look) bool { return l.Operation == op.ID }) {
			opened = op
		}
	}
	if again := d.finished("retry", string(opened.ID)); backtestResult(d.t, again).Opened == nil || d.looks() != before {
		d.t.Errorf("a retry of %s: %s, %d looks, and %d before; want the same look", opened.ID, again.Status, d.looks(), before)
	}
	said := d.run("backtest", d.model)
	if want := "the bars after " + d.from.Format("2006-01-02 15:04") +
		" are left out: they are the holdout of EURUSD; --open-holdout"; !strings.Contains(said.err, want) {
		d.t.Errorf("a backtest says %q, want %q", said.err, want)
	}
}

// parallel opens the holdout ten times at once: each takes a number of its own.
func (d *doors) parallel() {
	d.t.Helper()
	const ten = 10
	before := d.looks()
	c := d.client()
	started, errs := make([]api.Started, ten), make([]error, ten)
	var all sync.WaitGroup
	for i := range ten {
		all.Go(func() {
			started[i], errs[i] = c.StartBacktest(d.t.Context(), jobs.BacktestRequest{Model: d.model, OpenHoldout: true}, "")
		})
	}
	all.Wait()
	page, err := c.Looks(d.t.Context(), ktrdr.LookQuery{Market: d.market})
	if err != nil {
		d.t.Fatal(err)
	}
	var numbers []int
	for i, s := range started {
		if errs[i] != nil {
			d.t.Fatal(errs[i])
		}
		for _, l := range page.Looks {
			if l.Operation == s.Operation {
				numbers = append(numbers, l.Markets[0].Number)
				if l.Before != l.Markets[0].Number-1 || l.Kind != ktrdr.LookByHand {
					d.t.Errorf("look %+v, want %d before it", l, l.Markets[0].Number-1)
				}
			}
		}
	}
	slices.Sort(numbers)
	if want := make([]int, ten); len(numbers) == ten {
		for i := range want {
			want[i] = before + 1 + i
		}
		if !slices.Equal(numbers, want) {
			d.t.Errorf("look numbers %v, want %v", numbers, want)
		}
	} else {
		d.t.Errorf("look numbers %v, want %d", numbers, ten)
	}
	for _, s := range started {
		d.must("follow", string(s.Operation))
	}
	if n := d.looks(); n != before+ten {
		d.t.Errorf("%d looks, and %d before the %d", n, before, ten)
	}
}

// paid researches the market and wants its confirmation to pay for every look
// before it.
func (d *doors) paid() {
	d.t.Helper()
	before := d.looks()
	d.must("research", "mean reversion on EURUSD 1h, simple", "--count", "4", "--seed", "1", "--follow")
	page, err := d.client().Looks(d.t.Context(), ktrdr.LookQuery{Market: d.market, Limit: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	if l := page.Looks[0]; l.Kind != ktrdr.LookConfirmation || l.Before != before || l.Markets[0].Number != before+1 {
		d.t.Errorf("the newest look is %+v, want a confirmation with %d looks before it", l, before)
	}
	d.looks()
}

// lastGiven is the close of the last bar of a series that a spec names.
func (d *doors) lastGiven(want jobs.Bars) time.Time {
	d.t.Helper()
	name := want.SHA256.String()
	data, err := os.ReadFile(filepath.Join(d.data, "blobs", name[:2], name[2:4], name)) // the API gives it to workers alone
	if err != nil {
		d.t.Fatal(err)
	}
	b, err := market.Decode(data)
	if err != nil {
		d.t.Fatal(err)
	}
	return instant(b.Timeframe.End(b.Time[b.Len()-1]))
}

func instant(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
