package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/lookahead"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

const lookaheadHelp = `Check that a strategy uses no future prices. Everything is computed twice. The second
time, the prices after a chosen time are different. Everything before that time must
be identical:

  preparation  inputs, labels and weights of the samples before each part of the split
  signals      the answer of a model at each bar
  fills        trades and equity of a backtest, also within a bar

It runs on a synthetic market. With --symbol it uses bars of the library, only from the
first half: the holdout is in the second half. Without --model it uses a network that
was trained for one epoch.

--plant adds a known error that the check must find, to prove that the check works.
The exit code is 1 if something uses future prices, planted or not.`

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
	cmd.Flags().StringVar(&f.timeframe, "timeframe", "", "make longer bars that the library lacks from bars of this `TIMEFRAME`")
	cmd.Flags().IntVar(&f.bars, "bars", lookaheadBars, "number of bars; from the library at most the first half")
	bounded(cmd, "bars", &f.bars, 100, maxLookaheadBars)
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the synthetic market and of the network")
	cmd.Flags().StringVar(&f.model, "model", "", "use the model in this `FILE`")
	cmd.Flags().StringVar(&f.plant, "plant", "", "plant an error that the check must find; `CHEAT`: "+strings.Join(lookahead.Cheats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("symbol", a.completeSymbols)
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	_ = cmd.RegisterFlagCompletionFunc("plant", cobra.FixedCompletions(lookahead.Cheats, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return a.checkLookahead(cmd, args[0], f)
	}
	return cmd
}

func (a *app) completeSymbols(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return a.completeSeries(cmd, nil, typed)
}

func (f lookaheadFlags) check() error {
	if f.plant != "" && !slices.Contains(lookahead.Cheats, f.plant) {
		return noneSuch("--plant", f.plant, lookahead.Cheats)
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

func (a *app) checkLookahead(cmd *cobra.Command, name string, f lookaheadFlags) error {
	asked, err := a.parseNamed(cmd, name)
	if err != nil {
		return err
	}
	s := lookahead.Shortened(asked)
	o := lookahead.Options{Made: len(f.symbols) == 0, Seed: f.seed, File: f.model, Planted: f.plant}
	if o.Data, err = a.lookaheadData(cmd, s, f); err != nil {
		return err
	}
	if f.model != "" {
		if o.Model, err = readModel(f.model, asked); err != nil {
			return err
		}
	}
	r, err := lookahead.Check(cmd.Context(), s, o)
	if err != nil {
		return err
	}
	err = a.print(r, func(w io.Writer) { r.Print(w, a.palette()) })
	return failedIf(err, r.Found || r.Planted != "")
}

func (a *app) lookaheadData(cmd *cobra.Command, s *strategy.Strategy, f lookaheadFlags) (list []train.Series, err error) {
	if len(f.symbols) == 0 {
		return lookahead.Synthetic(s, f.bars, f.seed)
	}
	list, err = inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) (list []train.Series, err error) {
		for _, symbol := range f.symbols {
			one, err := lookahead.FromLibrary(ctx, l, s, symbol, f.bars, market.Timeframe(f.timeframe))
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		return list, nil
	})
	return list, noLab(err, local.Name{Symbol: f.symbols[0], Timeframe: s.Data.Base})
}

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
