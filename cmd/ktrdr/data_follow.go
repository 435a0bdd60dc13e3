package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const followDataHelp = `Keep a series current: "ktrdr serve" fetches its new bars again and again, by default when
a bar closes, at most every 5 minutes. Each fetch is an operation that continues where
the series ends; living claims are followed over the new bars. Sources and symbols are
those of "ktrdr data fetch". Without arguments the series that are kept current are
listed. "ktrdr data unfollow SYMBOL TIMEFRAME" ends it; the series stays.

  ktrdr data follow binance BTCUSDT 1h
  ktrdr data follow kraken XBTUSD 1m --as BTCUSD --every 10m`

func newDataFollow(a *app) *cobra.Command {
	var (
		f     jobs.Follow
		often string
	)
	cmd := &cobra.Command{Use: "follow [SOURCE SYMBOL TIMEFRAME]", Short: "Keep a series current", Long: followDataHelp}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			return nil
		}
		return exactly(3, "nothing, or a SOURCE, a SYMBOL and a TIMEFRAME, such as binance BTCUSDT 1h")(cmd, given)
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 {
			return a.listFollows(cmd)
		}
		tf, err := market.ParseTimeframe(given[2])
		if err != nil {
			return usagef("%w", err)
		}
		every := max(time.Duration(tf.End(0))*time.Second, 5*time.Minute)
		if often != "" {
			if every, err = time.ParseDuration(often); err != nil {
				return usagef("--every %q is no time: write it like 10m or 4h", often)
			}
		}
		f.Source, f.Symbol, f.Timeframe, f.Seconds = given[0], given[1], string(tf), int64(every/time.Second)
		if f.As == "" {
			f.As = f.Symbol
		}
		return a.followSeries(cmd, f, tf)
	}
	cmd.Flags().StringVar(&f.As, "as", "", "`SYMBOL` in the library (default: the same)")
	cmd.Flags().Float64Var(&f.Divide, "divide", 0, "`NUMBER` of points that make one unit, for dukascopy and url: (default: what is known)")
	cmd.Flags().StringVar(&often, "every", "", "`TIME` between two fetches, such as 1h (default: that of a bar, at least 5m)")
	notZero(cmd.Flags(), "divide")
	storageFlags(cmd)
	return cmd
}

func (a *app) followSeries(cmd *cobra.Command, f jobs.Follow, tf market.Timeframe) error {
	if err := market.CheckSymbol(f.As); err != nil {
		return usagef("%w: say with --as what the library calls it", err)
	}
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	sources, err := cfg.Fetch.Open()
	if err != nil {
		return err
	}
	defer sources.Close()
	now := time.Now().Unix()
	r := fetch.Request{Source: f.Source, Symbol: f.Symbol, Timeframe: tf, From: now - 60*tf.End(0), To: now, Divide: f.Divide}
	if _, err := sources.Pieces(r); err != nil {
		return usagef("%w", err)
	}
	err = a.withNewLab(cmd, func(l *local.Lab) error { return l.Library.Follow(cmd.Context(), f) })
	return a.show(f, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s is kept current: a running backend fetches %s every %v\n", f.Name(), term.Plain(r.Label()),
			time.Duration(f.Seconds)*time.Second)
	})
}

func (a *app) listFollows(cmd *cobra.Command) error {
	all, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) ([]jobs.FollowState, error) { return l.FollowStates(ctx) })
	if errors.Is(err, market.ErrNoData) {
		all, err = []jobs.FollowState{}, nil
	}
	return a.show(all, err, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, "No series is kept current. See `ktrdr data follow --help`.")
			return
		}
		term.Table(w, "SYMBOL\tTIMEFRAME\tSOURCE\tEVERY\tLAST FETCH\tFAILED", all, func(f jobs.FollowState) []any {
			last, failed := "-", "-"
			if !f.Last.IsZero() {
				last = term.Minute(f.Last.Unix())
			}
			if f.Failures > 0 {
				failed = strconv.Itoa(f.Failures)
			}
			return []any{
				f.As, f.Timeframe, fetch.Request{Source: f.Source, Symbol: f.Symbol}.Label(), time.Duration(f.Seconds) * time.Second, last, failed,
			}
		})
		printTroubles(w, all)
	})
}

// printTroubles names the series whose fetches fail.
func printTroubles(w io.Writer, all []jobs.FollowState) {
	for _, f := range all {
		if trouble := f.Trouble(); trouble != "" {
			fmt.Fprintln(w, "→", term.Plain(trouble))
		}
	}
}

func newDataUnfollow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "unfollow SYMBOL TIMEFRAME", Short: "Do not keep a series current any more", Args: exactly(2, seriesArgs),
		Long: "End `ktrdr data follow` for a series. The series stays as it is.", ValidArgsFunction: a.completeSeries,
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f := jobs.Follow{As: args[0], Timeframe: args[1]}
		err := a.withLab(cmd, func(l *local.Lab) error { return l.Library.Unfollow(cmd.Context(), f) })
		if errors.Is(err, market.ErrNoData) {
			err = usagef("%s is not kept current: `ktrdr data follow` lists the series that are", f.Name())
		}
		return a.show(f, err, func(w io.Writer) { fmt.Fprintf(w, "%s is not kept current any more\n", f.Name()) })
	}
	return cmd
}
