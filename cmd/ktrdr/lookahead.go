package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

const lookaheadHelp = `Check that a strategy uses no future prices. Everything is computed twice: once, and
again with other prices after some instant. Everything before that instant must be
identical:

  preparation  inputs, labels and weights of the samples before each part of the split
  signals      the answer of a model at each bar
  fills        trades and equity of a backtest, also within a bar

It runs on a synthetic market, or with --symbol on the first of the library's bars:
never on the second half, which the holdout is part of. Without --model a network
that was trained for one epoch is asked.

--plant adds a known error that the check must find, to prove that the check works.
The exit code is 1 when something looks ahead, planted or not.`

func newCheck(a *app) *cobra.Command {
	return group("check", "Checks of a strategy", newCheckLookahead(a))
}

type lookaheadFlags struct {
	symbols   []string
	timeframe string
	bars      int
	seed      uint64
	model     string
	plant     string
}

// How many bars are looked at. Some hundred backtests are run over them.
const (
	lookaheadBars    = 3000
	maxLookaheadBars = 200_000
)

func newCheckLookahead(a *app) *cobra.Command {
	var f lookaheadFlags
	cmd := &cobra.Command{
		Use: "lookahead STRATEGY", Short: "Find decisions that use future prices", Long: lookaheadHelp,
		Args: exactly(1, "one STRATEGY: its name, or a file"), ValidArgsFunction: a.completeStrategies,
	}
	cmd.Flags().StringSliceVar(&f.symbols, "symbol", nil, "check on the library's bars of these `SYMBOLS` (default: a synthetic market)")
	cmd.Flags().StringVar(&f.timeframe, "timeframe", "", "make longer bars that the library does not have of those of this `TIMEFRAME`")
	cmd.Flags().IntVar(&f.bars, "bars", lookaheadBars, "how many bars; of the library's at most the first half")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "of the synthetic market and of the network")
	cmd.Flags().StringVar(&f.model, "model", "", "ask the model of this `FILE`")
	cmd.Flags().StringVar(&f.plant, "plant", "", "plant a `CHEAT`: "+strings.Join(cheats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("symbol", a.completeSymbols)
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	_ = cmd.RegisterFlagCompletionFunc("plant", cobra.FixedCompletions(cheats, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return a.checkLookahead(cmd, args[0], f)
	}
	return cmd
}

// completeSymbols offers the symbols of the library to a flag.
func (a *app) completeSymbols(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.completeSeries(cmd, nil, typed)
}

func (f lookaheadFlags) check() error {
	if f.bars < 100 || f.bars > maxLookaheadBars {
		return usagef("--bars must be 100 to %d, not %d", maxLookaheadBars, f.bars)
	}
	if f.plant != "" && !slices.Contains(cheats, f.plant) {
		return noneSuch("--plant", f.plant, cheats)
	}
	if f.timeframe == "" {
		return nil
	}
	if len(f.symbols) == 0 {
		return usagef("--timeframe is about the library's bars: name them with --symbol")
	}
	if _, err := market.ParseTimeframe(f.timeframe); err != nil {
		return usagef("--timeframe: %w", err)
	}
	return nil
}

// lookahead is what was checked and what was found.
type lookahead struct {
	Strategy string         `json:"strategy"`
	Data     []train.Source `json:"data"`
	Made     bool           `json:"synthetic"`
	Seed     uint64         `json:"seed"`
	Model    string         `json:"model,omitempty"` // the file; none: trained for one epoch
	Planted  string         `json:"planted,omitempty"`
	Found    bool           `json:"found"` // something looks ahead
	Checks   []heldToTime   `json:"checks"`
}

// heldToTime is one check.
type heldToTime struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Detail  string `json:"detail"`            // what was looked at
	Finding string `json:"finding,omitempty"` // what looks ahead
}

func (a *app) checkLookahead(cmd *cobra.Command, name string, f lookaheadFlags) error {
	ctx := cmd.Context()
	asked, err := a.parseNamed(cmd, name)
	if err != nil {
		return err
	}
	s := unhurried(asked)
	data, err := a.lookaheadData(cmd, s, f)
	if err != nil {
		return err
	}
	c := &timeChecker{strategy: s, data: data, plant: f.plant}
	if c.dataset, _, err = train.Prepare(s, c.data, train.Options{}); err != nil {
		return fmt.Errorf("%w\n(more --bars may help)", err)
	}
	if f.model != "" {
		c.model, err = readModel(f.model, asked)
	} else {
		c.model, err = trainBriefly(ctx, c.dataset, s, f.seed)
	}
	if err != nil {
		return err
	}
	r := lookahead{Strategy: s.Name, Data: c.dataset.Sources(), Made: len(f.symbols) == 0, Seed: f.seed, Model: f.model, Planted: f.plant}
	for _, check := range []func(context.Context) (heldToTime, error){c.preparation, c.signals, c.fills} {
		held, err := check(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", held.Check, err)
		}
		r.Found = r.Found || !held.OK
		r.Checks = append(r.Checks, held)
	}
	if err := a.print(r, func(w io.Writer) { a.printLookahead(w, r) }); err != nil {
		return err
	}
	if r.Found || r.Planted != "" {
		return &exitError{code: exitFailed}
	}
	return nil
}

// unhurried is the strategy as it is checked: one epoch is enough, and its
// dates are of no matter here.
func unhurried(s *strategy.Strategy) *strategy.Strategy {
	c := *s
	c.Training.Epochs = 1
	c.Data.Span = strategy.Span{}
	return &c
}

func (a *app) printLookahead(w io.Writer, r lookahead) {
	p := a.palette()
	var bars []string
	for _, d := range r.Data {
		bars = append(bars, fmt.Sprintf("%d bars of %s %s", d.Bars, d.Symbol, d.Timeframe))
	}
	market := "the library's"
	if r.Made {
		market = fmt.Sprintf("a synthetic market, seed %d", r.Seed)
	}
	fmt.Fprintf(w, "%s on %s (%s)\n", plain(r.Strategy), strings.Join(bars, ", "), market)
	for _, c := range r.Checks {
		if c.OK {
			fmt.Fprintf(w, "%s %-12s %s\n", p.good("✔"), c.Check, plain(c.Detail))
		} else {
			fmt.Fprintf(w, "%s %-12s %s\n", p.bad("✗"), c.Check, plain(c.Finding))
		}
	}
	switch {
	case r.Planted != "" && r.Found:
		fmt.Fprintf(w, "The planted %s was found.\n", r.Planted)
	case r.Planted != "":
		fmt.Fprintf(w, "The planted %s was NOT found: try more --bars or another --seed.\n", r.Planted)
	case r.Found:
		fmt.Fprintln(w, "It looks ahead: nothing that it earned can be believed.")
	default:
		fmt.Fprintln(w, "Nothing looks ahead.")
	}
}

// timeChecker runs the checks, each of them with the cheat if that is where it
// belongs.
type timeChecker struct {
	strategy *strategy.Strategy
	data     []train.Series
	plant    string
	dataset  *train.Dataset
	model    *train.TrainedModel
}

// trainBriefly trains a model for the one epoch that the strategy has here.
func trainBriefly(ctx context.Context, ds *train.Dataset, s *strategy.Strategy, seed uint64) (*train.TrainedModel, error) {
	run, err := train.Start(ds, s, seed, neural.Best())
	if err != nil {
		return nil, err
	}
	if err := run.Epoch(ctx, nil); err != nil {
		return nil, err
	}
	m, _, err := run.Finish()
	return m, err
}

// readModel reads a model file of a strategy.
func readModel(file string, s *strategy.Strategy) (*train.TrainedModel, error) {
	f, err := fileOfModel(file).Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := train.Decode(f)
	if err != nil {
		return nil, usagef("--model %s: %w", file, err)
	}
	if m.Strategy.Hash() != s.Hash() {
		return nil, usagef("--model %s was trained for another strategy than %s, its own %s: name the one it was trained for", file,
			s.Name, m.Strategy.Name)
	}
	return m, nil
}

// held makes the result of a check: a look-ahead is a finding, any other error
// is one.
func held(check, detail string, err error) (heldToTime, error) {
	h := heldToTime{Check: check, Detail: detail}
	_, inTraining := errors.AsType[*train.LookAheadError](err)
	_, inTrading := errors.AsType[*backtest.LookAheadError](err)
	if inTraining || inTrading {
		h.Finding = err.Error()
		return h, nil
	}
	h.OK = err == nil
	return h, err
}
