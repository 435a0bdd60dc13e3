package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

const researchHelp = `Research a goal: design strategies, train their networks, backtest them on bars
that they have not seen, and judge the profit after costs. The best finalist of each
generation is then tested once on the holdout. The goal is in words: it may name
symbols, timeframes, indicators and a style. The built-in designer needs no language
model, costs nothing and learns from earlier trials.

Several symbols ("EURGBP or USDCAD", --symbol given twice) are researched
together: one network is trained on all of them and trades each with its own
account. The accounts share the capital equally and are never rebalanced. The
verdict is on their sum. With several timeframes ("1h and 4h", --timeframe given
twice) decisions are made at the shortest, and designs may also read the others.
A symbol or timeframe without bars is refused.

Words that have no effect are listed as "not understood". If nothing in the goal is
understood, it is refused; --ignore-unknown starts it anyway. If a goal names
trend, mean reversion, momentum, breakout, volatility or volume, at least half of the
designs belong to that family.

--count starts several researches, in generations. Each generation learns from the
earlier ones. --until HH:MM keeps starting generations until that time of day. It
survives restarts of the server, and running researches finish. ` + "`ktrdr cancel RUN`" + ` ends a
run sooner.`

type researchFlags struct {
	research.Request
	file   string // or name of a strategy
	ignore bool   // start although no word of the goal is understood
	seed   uint64
	until  string
	wait   time.Duration // for an assistant
	startFlags
}

func newResearch(a *app) *cobra.Command {
	var f researchFlags
	cmd := &cobra.Command{
		Use: "research [GOAL]", Short: "Research a goal: design, train, backtest, judge", Long: researchHelp,
		Args: atMostOne("GOAL: put it into quotes"),
	}
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		if most := f.most(); cmd.Flags().Changed("count") && (f.Count < 1 || f.Count > most) {
			return usagef("--count must be 1 to %d, not %d", most, f.Count)
		}
		if len(args) == 1 {
			f.Brief = args[0]
		}
		f.RefuseUnknown, f.DesignWait = !f.ignore, f.wait.Seconds()
		if cmd.Flags().Changed("seed") {
			f.Seed = &f.seed
		}
		return a.research(ctx, c, f)
	})
	flags := cmd.Flags()
	flags.IntVar(&f.Count, "count", 0, "number of researches (default 1; with --until: the size of a generation)")
	flags.StringVar(&f.until, "until", "",
		"keep starting generations until this `TIME`, HH:MM on this machine; survives restarts; running researches finish")
	f.add(cmd, "follow the run until it ends")
	flags.StringSliceVar(&f.Symbols, "symbol", nil, "`SYMBOL` to research; several are researched together, with one account each")
	flags.StringSliceVar(&f.Timeframes, "timeframe", nil,
		"`TIMEFRAME` of the bars, such as 1h; of several, decisions are made at the shortest")
	flags.StringVar(&f.Costs, "costs", "", "cost floors of this run in basis points: `SYMBOL=COMMISSION/SLIPPAGE/SPREAD,…`, "+
		"such as EURUSD=0.5/0.5/1 (default: instruments.yaml, then KTRDR_COSTS, then the default of the asset class)")
	flags.StringVar(&f.HoldoutFrom, "holdout-from", "",
		"replace the holdout by a later one from this `DATE`, with a budget of its own; it begins after "+
			"the bars of every look and is at least as long (default: the newest holdout stays)")
	flags.Uint64Var(&f.seed, "seed", 0, "the same seed, goal, bars and memory give the same results (default: made from the id of the run)")
	flags.StringVar(&f.file, "strategy", "", "`STRATEGY` to research instead of designing one: a file or a name")
	flags.StringVar(&f.Model, "model", "", "`MODEL` that designs and assesses (default: KTRDR_MODEL of the backend, else builtin)")
	flags.StringVar(&f.Designer, "designer", "", "`DESIGNER` assistant: wait for strategies of an AI assistant, connected by ktrdr mcp")
	flags.DurationVar(&f.wait, "design-wait", 0,
		"how long a research waits for an assistant before the built-in designer takes over (default 30m)")
	flags.BoolVar(&f.BypassGates, "bypass-gates", false, "continue although a gate rejects the strategy")
	flags.BoolVar(&f.Fresh, "fresh", false, "start without memory of earlier runs")
	flags.BoolVar(&f.Test, "test", false, "test the run on permuted copies of its bars when it has ended (ktrdr runs test); needs --fresh")
	flags.BoolVar(&f.ignore, "ignore-unknown", false, "start even if nothing in the goal is understood")
	flags.BoolVar(&f.DryRun, "dry-run", false, "start nothing; print what is understood, how many trials it adds and how long it takes")
	flags.BoolVar(&f.Force, "force", false, "if too many researches are active, wait in the queue instead of being refused")
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	return cmd
}

// most is how many researches may be asked for at once.
func (f researchFlags) most() int {
	if f.until != "" {
		return research.MaxGeneration
	}
	return research.MaxCount
}

func (a *app) research(ctx context.Context, c *client.Client, f researchFlags) error {
	if f.file != "" {
		var t jobs.TrainingRequest
		if err := nameStrategy(&t, f.file); err != nil {
			return err
		}
		f.Strategy, f.StrategyYAML = t.StrategyName, t.StrategyYAML
	}
	if f.until != "" {
		var err error
		if f.Until, err = clock(f.until, time.Now()); err != nil {
			return err
		}
	}
	made, err := c.Trigger(ctx, f.Request, f.key)
	if ktrdr.CodeOf(err) == ktrdr.CodeAtCapacity {
		return fmt.Errorf("%w: --force does that", err)
	}
	if err != nil {
		return err
	}
	a.understood(made)
	if p := made.Preview; p != nil {
		return a.print(made, func(w io.Writer) { printPreview(w, p) })
	}
	if !f.Until.IsZero() && !a.json {
		fmt.Fprintf(a.err, "Researching until %s, in %s.\n", f.Until.Format("Mon 2006-01-02 15:04 MST"), term.Brief(time.Until(f.Until)))
	}
	if f.Designer != "" && !a.json {
		fmt.Fprintln(a.err, "Each research waits for a strategy of an AI assistant. `ktrdr help assistant` says how to connect one.")
	}
	if !f.follow {
		return a.print(made, func(w io.Writer) { printTriggered(w, made) })
	}
	return a.followRun(ctx, c, made.Run)
}

// understood says what was read out of the goal, and what is odd about it.
func (a *app) understood(made research.Triggered) {
	if a.json {
		return
	}
	for _, x := range made.Understood {
		fmt.Fprintln(term.Words(a.err), "understood:", term.Plain(x))
	}
	if len(made.NotUnderstood) > 0 {
		words := make([]string, len(made.NotUnderstood))
		for i, w := range made.NotUnderstood {
			words[i] = term.Plain(w)
			if near := designer.Nearest(w); near != "" {
				words[i] += " (did you mean " + near + "?)"
			}
		}
		fmt.Fprintln(term.Words(a.err), "not understood:", strings.Join(words, ", "))
	}
	a.warn(made.Warnings)
}

func printTriggered(w io.Writer, made research.Triggered) {
	if len(made.Operations) == 1 {
		fmt.Fprintf(w, "%s is %s, seed %d, in %s.\nWatch it with `ktrdr follow %s`, and all with `ktrdr status`.\n", made.Operation, made.Status,
			made.Seed, made.Run, made.Run)
		return
	}
	fmt.Fprintf(w,
		"%s: %d researches, sessions %d to %d, seed %d.\nWatch it with `ktrdr follow %s`. Its results: `ktrdr leaderboard --run %s`.\n",
		made.Run, len(made.Operations), made.Session, made.Operations[len(made.Operations)-1].Session, made.Seed, made.Run, made.Run)
}

// clock is the next time that a clock on the wall here shows text.
func clock(text string, now time.Time) (time.Time, error) {
	t, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, usagef("--until %q: must be a time of day here, such as 07:00", text)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), 0, 0, now.Location())
	}
	return at, nil
}
