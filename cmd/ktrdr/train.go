package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/strategy"
)

const trainHelp = `Train the network of a strategy. The training survives crashes. Its result is a model
and the figures of the model on bars that it has not seen. STRATEGY is a file, which is
sent to the server, or a name (` + "`ktrdr strategies`" + ` lists them). Bars come from the server's
library: see ` + "`ktrdr data`" + `.

The samples end where the holdout of their market begins. Those bars are reserved for
confirming strategies. --open-holdout trains on them too. That is a look: it is
counted, and every later claim on this market needs stronger evidence.

The same strategy, bars and seed give the same model, bit for bit, on every machine,
also if the training is killed and resumed. The strategy is counted as a trial: see
` + "`ktrdr memory trials`" + `.`

func newTrain(a *app) *cobra.Command {
	var (
		r     jobs.TrainingRequest
		seed  uint64
		start startFlags
	)
	cmd := &cobra.Command{
		Use: "train STRATEGY", Short: "Train a strategy's network", Long: trainHelp,
		Args: exactly(1, "one STRATEGY: a file or a name"), ValidArgsFunction: a.completeStrategies,
	}
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		if err := nameStrategy(&r, args[0]); err != nil {
			return err
		}
		if cmd.Flags().Changed("seed") {
			r.Seed = &seed
		}
		started, err := c.StartTraining(ctx, r, start.key)
		return a.started(ctx, c, started, err, start.follow)
	})
	f := cmd.Flags()
	f.StringSliceVar(&r.Symbols, "symbol", nil, "`SYMBOL` to train on instead of the strategy's; several may be given")
	f.StringSliceVar(&r.Timeframes, "timeframe", nil, "`TIMEFRAME` instead of the strategy's, such as 1h")
	f.StringVar(&r.StartDate, "start", "", "first `DAY` of the samples, such as 2020-01-01")
	f.StringVar(&r.EndDate, "end", "", "last `DAY` of the data")
	f.Uint64Var(&seed, "seed", 1, "another seed gives another model")
	f.BoolVar(&r.OpenHoldout, "open-holdout", false, "also train on the holdout; this is counted as a look")
	start.add(cmd, "follow it to its end")
	return cmd
}

// nameStrategy puts the strategy into the request: a file by its text, as the server may
// be on another machine, and anything else by name.
func nameStrategy(r *jobs.TrainingRequest, arg string) error {
	if !local.IsStrategyFile(arg) {
		r.StrategyName = arg
		return nil
	}
	text, err := local.ReadStrategy(arg)
	if err != nil {
		return err
	}
	if _, _, err := strategy.Parse(text, arg); err != nil { // the server would not know the file's name
		if _, yaml := library.StrategyName(filepath.Base(arg)); !yaml {
			return usagef("%s is no strategy file: a strategy is YAML and its name ends in .yaml; name one of `ktrdr strategies`, or a file", arg)
		}
		return fmt.Errorf("correct the strategy, and check it with `ktrdr validate %s`: %w", arg, err)
	}
	r.StrategyYAML = string(text)
	return nil
}
