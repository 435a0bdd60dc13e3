package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const synthHelp = `Make up a market with the properties of a currency: volatility clusters, fat tails,
weekends, a few gaps. The same seed gives the same bars on every machine.

Without --edge nothing can be earned on it. --edge plants a rule that can be learnt:
after a close far from the mean of the last 48 closes, the next bar drifts back by
EDGE times its volatility.`

// What a market that is made up may be.
const (
	maxSynthBars = 5_000_000
	maxSynthEdge = 1.0
	lastSynth    = 2200 // the year beyond which no file may reach either
)

type synthFlags struct {
	market.SynthConfig
	timeframe, start string
	replace          bool
}

func newDataSynth(a *app) *cobra.Command {
	var f synthFlags
	cmd := &cobra.Command{Use: "synth", Short: "Make up a series for experiments", Long: synthHelp, Args: noArgs}
	cmd.Flags().StringVar(&f.Symbol, "symbol", "SYNTH", "`SYMBOL` to store it as")
	cmd.Flags().StringVar(&f.timeframe, "timeframe", "1h", "`TIMEFRAME` of the bars")
	cmd.Flags().IntVar(&f.Bars, "bars", 5000, "number of bars")
	bounded(cmd, "bars", &f.Bars, 1, maxSynthBars)
	cmd.Flags().Uint64Var(&f.Seed, "seed", 1, "the same seed gives the same bars")
	cmd.Flags().Float64Var(&f.Edge, "edge", 0, "strength of the rule that can be learnt, 0 to 1; 0 plants none")
	cmd.Flags().StringVar(&f.start, "start", "2015-01-05", "`DATE` of the first bar")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a series that exists")
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return a.synth(cmd, f)
	}
	return cmd
}

// check reads and bounds the flags, before anything is made.
func (f *synthFlags) check() error {
	var err error
	if f.Timeframe, err = market.ParseTimeframe(f.timeframe); err != nil {
		return usagef("--timeframe: %w", err)
	}
	if f.Start, err = time.Parse(time.DateOnly, f.start); err != nil {
		return usagef("--start %q: must be a date like 2015-01-05", f.start)
	}
	if !(f.Edge >= 0 && f.Edge <= maxSynthEdge) {
		return usagef("--edge must be 0 to %v, not %v", maxSynthEdge, f.Edge)
	}
	length := f.Timeframe.End(f.Start.Unix()) - f.Start.Unix()
	end := f.Start.Unix() + int64(f.Bars)*length*7/5 // it closes for two days of seven
	if f.Start.Year() < 1900 || time.Unix(end, 0).UTC().Year() >= lastSynth {
		return usagef("%d bars of %s from %s reach beyond the years 1900 to %d: make fewer, shorter ones, or begin elsewhere", f.Bars,
			f.Timeframe, f.start, lastSynth)
	}
	return nil
}

func (a *app) synth(cmd *cobra.Command, f synthFlags) error {
	if err := market.CheckSymbol(f.Symbol); err != nil {
		return usagef("--symbol: %w", err)
	}
	b := market.Synth(f.SynthConfig)
	im := library.Import{Bars: b, Origin: ktrdr.BarsSynthetic, Source: fmt.Sprintf("seed %d, edge %v", f.Seed, f.Edge), MadeUp: new(true)}
	made, err := inLab(a.withNewLab, cmd, func(ctx context.Context, l *local.Lab) (local.StoredSeries, error) {
		return l.Add(ctx, im, f.replace, "choose another --symbol, or ")
	})
	return a.show(made, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s made up: %s\n  %s\n", b.Symbol, b.Timeframe, made.Facts(), term.Plain(made.Sentence()))
	})
}

const resampleHelp = `Make longer bars from shorter ones, on the UTC calendar: weeks begin on Monday, months
on the first. An unfinished last bar is left out. If the day of your market ends at
another hour, import its daily bars instead.`

func newDataResample(a *app) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "resample SYMBOL FROM TO", Short: "Make longer bars from shorter ones", Long: resampleHelp,
		Args: exactly(3, "a SYMBOL and two timeframes, such as EURUSD 1h 4h"), ValidArgsFunction: a.completeSeries,
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a series that exists")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := local.NameOf(args[:2])
		if err != nil {
			return err
		}
		to, err := market.ParseTimeframe(args[2])
		if err != nil {
			return usagef("%w", err)
		}
		if to == from.Timeframe || !to.MadeOf(from.Timeframe) {
			return usagef("bars of %s cannot be made of whole bars of %s", to, from.Timeframe)
		}
		return a.resample(cmd, from, to, replace)
	}
	return cmd
}

func (a *app) resample(cmd *cobra.Command, from local.Name, to market.Timeframe, replace bool) error {
	source, b, err := a.openSeries(cmd, from)
	if err != nil {
		return err
	}
	from.Symbol = b.Symbol
	longer, err := market.Resample(b, to)
	if err != nil {
		return err
	}
	s := local.Name{Symbol: from.Symbol, Timeframe: to}
	if longer.Len() == 0 {
		return fmt.Errorf("the %d bars of %s do not fill one of %s", b.Len(), from, to)
	}
	im := library.Import{Bars: longer, Origin: ktrdr.BarsResampled, Source: from.String(), MadeUp: source.MadeUp}
	made, err := inLab(a.withNewLab, cmd, func(ctx context.Context, l *local.Lab) (local.StoredSeries, error) {
		return l.Add(ctx, im, replace, "")
	})
	return a.show(made, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s made of %d bars of %s: %s\n  %s\n", s, b.Len(), from.Timeframe, made.Facts(), term.Plain(made.Sentence()))
	})
}
