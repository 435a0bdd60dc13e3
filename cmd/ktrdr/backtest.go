package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/train"
)

const backtestHelp = `Trade the decisions of a model on past bars, with all costs. The backtest survives
crashes. Its result is figures, trades and the equity at each bar. MODEL is the id of a
training (or its beginning), the sha256 of a model, or a model file.

By default it trades only bars that the model was not trained on, from the start of
its test part. --scope all also trades the training part. That is not evidence, and
the result says so.

Each symbol has its own account with an equal share of the capital. The figures are
those of all accounts together.

Trading stops where the holdout of the market begins. Those bars are reserved for
confirming strategies. --open-holdout trades them too. That is a look: it is counted,
and every later claim on this market needs stronger evidence. The model of a research
is traded on the same bars that the research used.

A model is one trial on a market, no matter how often it is backtested. Later verdicts
are adjusted for the number of trials: see ` + "`ktrdr memory trials`" + `.`

func newBacktest(a *app) *cobra.Command {
	var (
		r                                     jobs.BacktestRequest
		capital, commission, slippage, spread float64
		start                                 startFlags
	)
	cmd := &cobra.Command{
		Use: "backtest MODEL", Short: "Backtest a model on past bars", Long: backtestHelp,
		Args: exactly(1, "one MODEL: a training, a sha256 or a file"), ValidArgsFunction: a.completeModels,
	}
	f := cmd.Flags()
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) (err error) {
		for flag, field := range map[string]struct {
			from *float64
			to   **float64
		}{
			"capital": {&capital, &r.InitialCapital}, "commission": {&commission, &r.Commission},
			"slippage": {&slippage, &r.Slippage}, "spread": {&spread, &r.Spread},
		} {
			if f.Changed(flag) {
				*field.to = field.from
			}
		}
		if r.Model, err = modelFor(ctx, c, args[0]); err != nil {
			return err
		}
		started, err := c.StartBacktest(ctx, r, start.key)
		return a.started(ctx, c, started, err, start.follow)
	})
	f.StringSliceVar(&r.Symbols, "symbol", nil, "`SYMBOL` to trade; may be given several times (default: all that the model was trained on)")
	f.StringVar(&r.Timeframe, "timeframe", "", "fail unless the model decides at this `TIMEFRAME`")
	f.StringVar(&r.StartDate, "start", "", "first `DAY` to trade")
	f.StringVar(&r.EndDate, "end", "", "last `DAY` of the data")
	f.StringVar(&r.Scope, "scope", "", "test: only bars that the model was not trained on; all: also its training part (default test)")
	f.Float64Var(&capital, "capital", 0, "initial `CAPITAL` (default: the strategy's)")
	f.Float64Var(&commission, "commission", 0, "commission per side, as a `RATE` of the traded value: 0.0001 is 1 basis point")
	f.Float64Var(&slippage, "slippage", 0, "slippage per side, as a `RATE` of the price")
	f.Float64Var(&spread, "spread", 0, "spread from bid to ask, as a `RATE` of the price; half is paid per side")
	notZero(f, "capital")
	f.BoolVar(&r.OpenHoldout, "open-holdout", false, "also trade the holdout; this is counted as a look")
	start.add(cmd, "follow it to its end")
	return cmd
}

func fileOfModel(name string) backend.UserFile {
	return backend.UserFile{
		What: "model file", Name: name, Next: "`ktrdr models` lists what was trained, and `ktrdr models save` makes a file of it",
	}
}

func strategyAsModel(arg string) error {
	return usagef("%s is a strategy, not a model: train it with `ktrdr train %s`, and give the training's id", arg, arg)
}

// isStrategy says whether the server knows a strategy of this name.
func isStrategy(ctx context.Context, c *client.Client, name string) bool {
	list, _ := c.Strategies(ctx) // without it the message is another
	return slices.ContainsFunc(list, func(s jobs.Strategy) bool { return s.Name == name })
}

// modelFor is what the server knows a model by: a hash is taken as it is, a file
// is uploaded, and anything else is a training.
func modelFor(ctx context.Context, c *client.Client, arg string) (string, error) {
	if _, err := ktrdr.ParseHash(arg); err == nil {
		return arg, nil
	}
	f, err := os.Open(arg)
	_, yaml := library.StrategyName(filepath.Base(arg))
	if yaml && err == nil {
		_ = f.Close() // it was only read
		return "", strategyAsModel(arg)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if yaml || strings.ContainsRune(arg, os.PathSeparator) || strings.HasSuffix(arg, ".safetensors") {
			return "", fileOfModel(arg).Trouble(err)
		}
		id, err := resolveAs(ctx, c, arg, ktrdr.Training)
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound && isStrategy(ctx, c, arg) {
			return "", strategyAsModel(arg)
		}
		return string(id), err
	}
	if err != nil {
		return "", fileOfModel(arg).Trouble(err)
	}
	defer f.Close()
	if err := fileOfModel(arg).Check(); err != nil { // a directory can be opened too
		return "", err
	}
	if _, err := train.Decode(f); err != nil {
		return "", usagef("model %s: %w; `ktrdr models` lists what was trained", arg, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return "", fmt.Errorf("model %s: %w", arg, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	h := ktrdr.Hash(sum.Sum(nil))
	return h.String(), c.PutBlob(ctx, ktrdr.Claimed{}, h, size, f)
}
