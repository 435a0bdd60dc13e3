package compute

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

type account struct {
	*train.Plan
	state backtest.RunState
}

func (a *account) symbol() string { return a.Bars.Symbol }

// done says that the account has come to its last bar or its ruin.
func (a *account) done() bool { return a.state.Bar == a.Bars.Len() || a.state.Ruined }

func (j *backtesting) open(data []train.Series) error {
	symbols := text.Map(data, func(d train.Series) string { return d.Symbol })
	if want := j.spec.Traded(); !slices.Equal(symbols, want) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "spec: a backtest of %s was given the bars of %s", strings.Join(want, ", "),
			strings.Join(symbols, ", "))
	}
	plans, err := train.NewPlans(j.model, data, tradedSpan(j.spec, j.model), j.spec.OverridesFor)
	j.accounts = text.Map(plans, func(p *train.Plan) *account { return &account{Plan: p} })
	return err
}

func stateFile(i int) string {
	if i == 0 {
		return backtestState
	}
	return fmt.Sprintf("%s.%d", backtestState, i)
}

// restore reads the states of a checkpoint. An account that had not begun has none.
func (j *backtesting) restore(ctx context.Context) error {
	if j.task.Checkpoint == nil {
		return nil
	}
	for i, a := range j.accounts {
		name := stateFile(i)
		if i > 0 && !slices.ContainsFunc(j.task.Checkpoint.Artifacts, func(f ktrdr.Artifact) bool { return f.Name == name }) {
			return nil
		}
		state, err := restored(ctx, j.task, name)
		if err != nil {
			return err
		}
		if err := a.state.UnmarshalBinary(state); err != nil {
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "checkpoint %s: %w", j.task.Checkpoint.ID, err)
		}
	}
	return nil
}

func (j *backtesting) files() ([]worker.File, error) {
	var list []worker.File
	for i, a := range j.accounts {
		if i > 0 && a.state.Bar == 0 {
			break
		}
		state, err := a.state.MarshalBinary()
		if err != nil {
			return nil, err
		}
		list = append(list, worker.File{Name: stateFile(i), Bytes: state})
	}
	return list, nil
}

func (j *backtesting) done() (bars int) {
	for _, a := range j.accounts {
		bars += a.state.Bar
	}
	return bars
}

// total is how many bars there are to trade, and trades how many trades were made.
func (j *backtesting) total() (bars, trades int) {
	for _, a := range j.accounts {
		bars += a.Bars.Len()
		trades += len(a.state.Trades)
	}
	return bars, trades
}

func (j *backtesting) combine() (*backtest.Portfolio, error) {
	var list []backtest.Account
	for _, a := range j.accounts {
		run, err := backtest.Finish(a.Bars, &a.state)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.symbol(), err)
		}
		list = append(list, backtest.Account{Symbol: a.symbol(), Result: run})
	}
	return backtest.Combine(j.accounts[0].Bars.Timeframe, list)
}

// accountResults are those of several accounts; nil for one.
func (j *backtesting) accountResults(p *backtest.Portfolio) (list []jobs.AccountResult) {
	if len(p.Accounts) == 1 {
		return nil
	}
	for i, run := range p.Accounts {
		r := jobs.AccountResult{
			Symbol: run.Symbol, Config: run.Config, Metrics: run.Metrics, Ended: run.Ended, Trades: len(run.Trades),
			Holds: j.accounts[i].Signals.Holds(run.Config.StartBar),
		}
		r.Start, r.End = extent(run.Result)
		list = append(list, r)
	}
	return list
}

// extent is the opening of the first bar that could decide, and of the last bar.
func extent(run *backtest.Result) (start, end time.Time) {
	return instant(run.Time[run.Config.StartBar]), instant(run.Time[len(run.Time)-1])
}

func (j *backtesting) sample(p *backtest.Portfolio) jobs.Sample {
	s := jobs.Sample{Scope: j.spec.Scope, UnseenFrom: unseen(j.model)}
	for _, run := range p.Accounts {
		first := run.Config.StartBar
		border := sort.Search(len(run.Time), func(i int) bool { return run.Time[i] >= s.UnseenFrom.Unix() })
		seen := max(0, border-first)
		s.Seen += seen
		s.Unseen += len(run.Time) - first - seen
	}
	s.OutOfSample = s.Seen == 0
	return s
}

func (j *backtesting) holds() (all metrics.Holds) {
	for _, a := range j.accounts {
		h := a.Signals.Holds(a.Config.StartBar)
		all.Undefined += h.Undefined
		all.Unsure += h.Unsure
		all.Answered += h.Answered
		all.Followed += h.Followed
	}
	return all
}

func ruined(p *backtest.Portfolio) string {
	var lost []string
	for _, a := range p.Accounts {
		if a.Ended == backtest.OnRuin {
			lost = append(lost, a.Symbol)
		}
	}
	switch {
	case len(lost) == 0:
		return ""
	case len(p.Accounts) == 1:
		return "the account was used up before the last bar"
	case len(lost) == 1:
		return fmt.Sprintf("the account of %s was used up before its last bar", lost[0])
	}
	return fmt.Sprintf("the accounts of %s were used up before their last bars", words(lost))
}

func marketOf(r jobs.BacktestResult) string {
	symbols := r.Traded()
	if len(symbols) == 1 {
		return fmt.Sprintf("%s %s", symbols[0], r.Timeframe)
	}
	return fmt.Sprintf("%s %s (one account each with 1/%d of the capital)", words(symbols), r.Timeframe, len(symbols))
}

// portfolioOf reads what a backtest stored. A file of one account names no symbol.
func portfolioOf(file []byte, r jobs.BacktestResult) (*backtest.Portfolio, error) {
	p, err := backtest.DecodePortfolio(file)
	if err != nil {
		return nil, err
	}
	if symbols := r.Traded(); len(p.Accounts) == 1 && len(symbols) == 1 {
		p.Timeframe, p.Accounts[0].Symbol = r.Timeframe, symbols[0]
	}
	return p, nil
}
