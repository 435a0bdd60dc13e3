package jobs

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// Traded are the symbols of a backtest, in the order of its accounts.
func (s BacktestSpec) Traded() []string { return traded(s.Symbol, s.Symbols) }

// Traded are the symbols of a backtest, in the order of its accounts.
func (r BacktestResult) Traded() []string { return traded(r.Symbol, r.Symbols) }

func traded(one string, several []string) []string {
	if len(several) > 0 {
		return several
	}
	return []string{one}
}

// Trade sets the symbols that are traded: one account for each.
func (s *BacktestSpec) Trade(symbols []string) {
	s.Symbol, s.Symbols = oneOrSeveral(symbols)
}

func oneOrSeveral(symbols []string) (one string, several []string) {
	if len(symbols) == 1 {
		return symbols[0], nil
	}
	return "", symbols
}

// overrides are those of a symbol's account.
func (s BacktestSpec) overrides(symbol string) train.Overrides {
	o := s.Overrides
	if own, ok := s.SymbolOverrides[symbol]; ok {
		o.Commission, o.Slippage, o.Spread = own.Commission, own.Slippage, own.Spread
	}
	return o
}

// Charge sets what trading a symbol costs.
func (s *BacktestSpec) Charge(symbol string, commission, slippage, spread float64) {
	o := train.Overrides{Commission: &commission, Slippage: &slippage, Spread: &spread}
	if len(s.Symbols) == 0 {
		s.Overrides.Commission, s.Overrides.Slippage, s.Overrides.Spread = o.Commission, o.Slippage, o.Spread
		return
	}
	if s.SymbolOverrides == nil {
		s.SymbolOverrides = map[string]train.Overrides{}
	}
	s.SymbolOverrides[symbol] = o
}

// Configs yields the symbols of a backtest, in the order of its accounts, with
// how each was traded.
func (r BacktestResult) Configs() iter.Seq2[string, backtest.Config] {
	return func(yield func(string, backtest.Config) bool) {
		if len(r.Accounts) == 0 {
			yield(r.Symbol, r.Config)
			return
		}
		for _, a := range r.Accounts {
			if !yield(a.Symbol, a.Config) {
				return
			}
		}
	}
}

// account is the backtest of one symbol on its way.
type account struct {
	*train.Plan
	state backtest.RunState
}

func (a *account) symbol() string { return a.Bars.Symbol }

// done says that the account has come to its last bar or its ruin.
func (a *account) done() bool { return a.state.Bar == a.Bars.Len() || a.state.Ruined }

// open makes an account for each symbol of the spec.
func (j *backtesting) open(data []train.Series) error {
	symbols := make([]string, len(data))
	for i, d := range data {
		symbols[i] = d.Symbol
	}
	if want := j.spec.Traded(); !slices.Equal(symbols, want) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "spec: a backtest of %s was given the bars of %s", strings.Join(want, ", "),
			strings.Join(symbols, ", "))
	}
	plans, err := train.NewPlans(j.model, data, j.spec.span(j.model), j.spec.overrides)
	if err != nil {
		return err
	}
	for _, p := range plans {
		j.accounts = append(j.accounts, &account{Plan: p})
	}
	return nil
}

// stateFile is the name of an account's state in a checkpoint.
func stateFile(i int) string {
	if i == 0 {
		return backtestState
	}
	return fmt.Sprintf("%s.%d", backtestState, i)
}

// restore brings the states that the checkpoint left. An account that had not
// begun has none.
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

// files are the states of the accounts that have begun.
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

// done is how many bars were traded, of all accounts.
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

// combine finishes the accounts and adds them up.
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

// AccountResult is what one symbol of a portfolio ended with.
type AccountResult struct {
	Symbol  string           `json:"symbol"`
	Start   time.Time        `json:"start_time"` // opening of the first bar that could decide
	End     time.Time        `json:"end_time"`   // opening of the last bar
	Config  backtest.Config  `json:"config"`
	Metrics backtest.Metrics `json:"metrics"`
	Ended   backtest.Reason  `json:"ended"`
	Trades  int              `json:"trade_count"`
	Holds   train.Holds      `json:"holds"` // why there was no signal
}

// accountResults are those of a portfolio; nil where there is one account, whose
// figures are the result's own.
func (j *backtesting) accountResults(p *backtest.Portfolio) (list []AccountResult) {
	if len(p.Accounts) == 1 {
		return nil
	}
	for i, run := range p.Accounts {
		r := AccountResult{
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
	return time.Unix(run.Time[run.Config.StartBar], 0).UTC(), time.Unix(run.Time[len(run.Time)-1], 0).UTC()
}

// sample counts the bars that the model had seen and those that it had not.
func (j *backtesting) sample(p *backtest.Portfolio) Sample {
	s := Sample{Scope: j.spec.Scope, UnseenFrom: unseen(j.model)}
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

// holds counts the bars without a signal of all accounts.
func (j *backtesting) holds() (all train.Holds) {
	for _, a := range j.accounts {
		h := a.Signals.Holds(a.Config.StartBar)
		all.Undefined += h.Undefined
		all.Unsure += h.Unsure
		all.Answered += h.Answered
		all.Followed += h.Followed
	}
	return all
}

// ruined tells which accounts were used up; "" where none was.
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

// market names what was traded.
func (r BacktestResult) market() string {
	symbols := r.Traded()
	if len(symbols) == 1 {
		return fmt.Sprintf("%s %s", symbols[0], r.Timeframe)
	}
	return fmt.Sprintf("%s %s (one account each with 1/%d of the capital)", words(symbols), r.Timeframe, len(symbols))
}

// portfolioOf reads what a backtest stored. One account does not name its symbol in the
// file; the result does.
func portfolioOf(file []byte, r BacktestResult) (*backtest.Portfolio, error) {
	p, err := backtest.DecodePortfolio(file)
	if err != nil {
		return nil, err
	}
	if symbols := r.Traded(); len(p.Accounts) == 1 && len(symbols) == 1 {
		p.Timeframe, p.Accounts[0].Symbol = r.Timeframe, symbols[0]
	}
	return p, nil
}
