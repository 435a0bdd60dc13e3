package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// chunkBars is how many bars lie between two looks at the clock or two checkpoints.
const chunkBars = 10_000

// BacktestRunner runs backtests, with the preferred kernel where it gives the
// bits of the model. The zero Kernel is the fastest.
func BacktestRunner(preferred neural.Kernel) worker.Runner {
	return backtestRunner{kernel: preferred, chunk: chunkBars}
}

type backtestRunner struct {
	kernel neural.Kernel
	chunk  int
	watch  func(step int64) // sees every chunk; nil but in tests
}

// backtesting is one backtest on its way through a worker: one account after the
// other, each from its first bar to its last. A step is a bar of any of them.
type backtesting struct {
	backtestRunner
	task     *worker.Task
	spec     jobs.BacktestSpec
	model    *train.TrainedModel
	accounts []*account // one for each symbol
	meter    *meter
	saves    saveLimiter
}

// Run trades from where the checkpoint stands to the last bar.
func (r backtestRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[jobs.BacktestSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	if err := t.Identify(backtestFingerprint(spec)); err != nil {
		return nil, err
	}
	j := &backtesting{backtestRunner: r, task: t, spec: spec, saves: newSaveLimiter(t)}
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	if err := j.trade(ctx); err != nil {
		return nil, err
	}
	return j.finish()
}

// prepare asks the model about every bar, and brings the states that the
// checkpoint left. The signals are not part of them: they are the same each time.
func (j *backtesting) prepare(ctx context.Context) error {
	preparing(j.task, "asking the model")
	if err := j.readModel(ctx); err != nil {
		return err
	}
	data, err := series(ctx, j.task, j.spec.Bars)
	if err != nil {
		return err
	}
	if err := j.open(data); err != nil {
		return err
	}
	if err := j.restore(ctx); err != nil {
		return err
	}
	j.task.Every = int64(j.chunk)
	j.meter = newMeter(int64(j.done()))
	return nil
}

func (j *backtesting) readModel(ctx context.Context) error {
	f, err := j.task.Open(ctx, j.spec.Model)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	if j.model, err = decodeModel(f, j.spec.Model); err != nil {
		return err
	}
	kernel, err := kernelFor(j.kernel, j.model.Info.KernelClass)
	if err != nil {
		return err
	}
	j.model, err = j.model.On(kernel)
	return err
}

// maxModel bounds a model file; the largest network of the grammar takes less.
const maxModel = 64 << 20

func decodeModel(r io.Reader, a ktrdr.Artifact) (*train.TrainedModel, error) {
	if a.Size > maxModel {
		return nil, wrong("%s has %d MB; a model has at most %d", a.Name, a.Size>>20, maxModel>>20)
	}
	data, err := library.ReadVerified(r, a)
	if err != nil {
		return nil, err
	}
	m, err := train.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, wrong("model %s: %w", a.SHA256, err)
	}
	return m, nil
}

// tradedSpan is what is traded: what was asked for, else what the strategy says. The
// test scope begins where the test part does: no weight was fitted to, or chosen
// by, what comes from there on.
func tradedSpan(s jobs.BacktestSpec, m *train.TrainedModel) strategy.Span {
	span := m.Strategy.Backtest.Span
	if !s.Start.IsZero() {
		span.Start = s.Start
	}
	if !s.End.IsZero() {
		span.End = s.End
	}
	if test := unseen(m); s.Scope == jobs.ScopeTest && span.Start.Before(test) {
		span.Start = test
	}
	return span
}

// unseen is from when on the model knows no bar. Labels of its last samples look to
// the last bar, so a model without a test part knows all.
func unseen(m *train.TrainedModel) time.Time {
	at := m.Info.Split.Test
	if at >= m.Info.Split.End {
		for _, s := range m.Info.Sources {
			at = max(at, s.Timeframe.End(s.Last))
		}
	}
	return time.Unix(at, 0).UTC()
}

func (j *backtesting) trade(ctx context.Context) error {
	for _, a := range j.accounts {
		for !a.done() {
			if ctx.Err() != nil {
				return j.keep(ctx, j.task.Interrupted)
			}
			if err := backtest.Run(a.Bars, a.Signals.Signal, a.Config, &a.state, min(a.state.Bar+j.chunk, a.Bars.Len())); err != nil {
				return fmt.Errorf("backtest of strategy %s: %w", j.model.Strategy.Name, err)
			}
			if err := j.advanced(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// advanced tells and saves how far the backtest is, if that is due before its end.
func (j *backtesting) advanced(ctx context.Context) error {
	at := int64(j.done())
	if j.watch != nil {
		j.watch(at)
	}
	if j.meter.due() {
		j.tell()
	}
	if j.accounts[len(j.accounts)-1].done() || !j.saves.due(at) {
		return nil
	}
	return j.keep(ctx, j.saves.save)
}

// keep stores the states of the accounts.
func (j *backtesting) keep(ctx context.Context, store storeState) error {
	files, err := j.files()
	if err != nil {
		return err
	}
	return store(ctx, int64(j.done()), place{Bar: j.done()}, files...)
}

func (j *backtesting) tell() {
	done := j.done()
	total, trades := j.total()
	f := jobs.ProgressContext{Bar: done, Bars: total, Trades: trades}
	f.BarsPerSecond, f.ETASeconds = j.meter.rate(int64(done), int64(total))
	j.task.Progress(ktrdr.Progress{
		Percentage: 100 * float64(done) / float64(total), CurrentStep: fmt.Sprintf("bar %d/%d", done, total),
		StepsCompleted: int64(done), StepsTotal: int64(total), Context: contextOf(f),
	})
}

func (j *backtesting) finish() (json.RawMessage, error) {
	run, err := j.combine()
	if err != nil {
		return nil, err
	}
	file, err := run.Encode()
	if err != nil {
		return nil, err
	}
	digest, err := run.Hash()
	if err != nil {
		return nil, err
	}
	made := artifact(jobs.BacktestFile, file)
	result := j.result(run)
	result.Artifacts = []ktrdr.Artifact{made}
	result.ResultHash, err = hashOf(struct {
		Made map[string]string `json:"made_from"`
		Run  ktrdr.Hash        `json:"run"`
	}{backtestFingerprint(j.spec), digest})
	if err != nil {
		return nil, err
	}
	j.tell()
	if err := j.task.Final(int64(j.done()), place{Bar: j.done()}, worker.File{Name: jobs.BacktestFile, Bytes: file}); err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

func (j *backtesting) result(p *backtest.Portfolio) jobs.BacktestResult {
	run := p.Sum
	r := jobs.BacktestResult{
		Strategy: j.model.Strategy.Name, Timeframe: p.Timeframe, Sample: j.sample(p),
		Config: run.Config, Metrics: run.Metrics, Ended: run.Ended,
		Trades: len(run.Trades), Curve: len(run.Equity) - run.Config.StartBar, Holds: j.holds(), Accounts: j.accountResults(p),
		Warnings: []string{}, Model: j.spec.Model, Opened: j.spec.Opens, MadeUp: jobs.AnyMadeUp(j.spec.Bars),
	}
	r.Daily = jobs.DailyOf(run)
	if traded := j.spec.Traded(); len(traded) == 1 {
		r.Symbol = traded[0]
	} else {
		r.Symbols = traded
	}
	r.Start, r.End = extent(run)
	if o := r.Opened; o != nil {
		r.Warnings = append(r.Warnings, o.Warning())
	}
	if s := r.Sample; s.Seen > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d of the %d bars were used to train or to choose the model: these figures say nothing about the future; "+
				"leave out --scope all, or see the test part", s.Seen, s.Seen+s.Unseen))
	}
	if message := ruined(p); message != "" {
		r.Warnings = append(r.Warnings, message)
	}
	if message := quiet(r.Holds, r.Trades); message != "" {
		r.Warnings = append(r.Warnings, message)
	}
	r.Summary = backtestSummary(r)
	return r
}

// unsureShare is the share of unfollowed answers above which a result warns.
const unsureShare = 0.9

// quiet says why a backtest has few trades or none; "" when it has its trades.
// h counts only the bars that could be traded.
func quiet(h metrics.Holds, trades int) string {
	why := fmt.Sprintf("of %d bars, %d lack an input, %d are answered with hold, and at %d the answer to trade is below the confidence "+
		"threshold or the cost",
		h.Undefined+h.Answered+h.Unsure+h.Followed, h.Undefined, h.Answered, h.Unsure)
	switch {
	case trades == 0:
		return "there is no trade, and these figures say nothing about the strategy: " + why
	case float64(h.Unsure) > unsureShare*float64(h.Unsure+h.Followed):
		return "more than 90 % of the answers to trade are not followed: " + why
	}
	return ""
}

func backtestSummary(r jobs.BacktestResult) string {
	text := fmt.Sprintf("%s on %s, %s to %s: %s, %+.2f %% after costs", r.Strategy, marketOf(r),
		r.Start.Format(time.DateOnly), r.End.Format(time.DateOnly), text.Counted(r.Trades, "trade"), r.Metrics.TotalReturnPct)
	if p := r.Metrics.BuyAndHoldReturnPct; p != nil {
		text += fmt.Sprintf(" (buy and hold over the same time %+.2f %%", *p)
		if x := r.Metrics.Exposure; x != nil {
			text += fmt.Sprintf("; this one held a position %.0f %% of the time", 100**x)
		}
		text += ")"
	}
	if s := r.Metrics.Sharpe; s != nil {
		text += fmt.Sprintf(", Sharpe %.2f", *s)
	}
	text += fmt.Sprintf(", drawdown %.2f %%", r.Metrics.MaxDrawdownPct)
	switch {
	case !r.Sample.OutOfSample:
		return text + "; NOT after the bars it was trained on: it contains training data"
	case r.Opened != nil:
		return text + "; after the bars it was trained on, into the holdout: this was a look"
	}
	return text + "; after the bars it was trained on"
}
