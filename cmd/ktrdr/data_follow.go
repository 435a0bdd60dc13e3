package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const followDataHelp = `Keep a series current: "ktrdr serve" fetches its new bars again and again, by default when
a bar closes, at most every 5 minutes. Each fetch is an operation that continues where
the series ends; living claims are followed over the new bars. Sources and symbols are
those of "ktrdr data fetch". Without arguments what is kept current is listed, with the
last turn of each, the bars that it added, and what fails since when.
"ktrdr data unfollow SYMBOL TIMEFRAME" ends it; the series stays.

--folder watches a folder on the machine of the backend instead. Its price files are
imported with --append, by default every 5 minutes: those that are new or changed, each
content of a file once, those that were changed first before the others. A file that was
changed in the last 10 seconds waits for the next turn. A file with an error does not
stop the others. Folders and links in it are not read.

  ktrdr data follow binance BTCUSDT 1h
  ktrdr data follow kraken XBTUSD 1m --as BTCUSD --every 10m
  ktrdr data follow --folder /srv/prices --every 1h`

func newDataFollow(a *app) *cobra.Command {
	var (
		f     jobs.Follow
		often string
	)
	cmd := &cobra.Command{Use: "follow [SOURCE SYMBOL TIMEFRAME]", Short: "Keep a series current", Long: followDataHelp}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if len(given) == 0 || f.Folder != "" {
			return nil
		}
		return exactly(3, "nothing, or a SOURCE, a SYMBOL and a TIMEFRAME, such as binance BTCUSDT 1h")(cmd, given)
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if cmd.Flags().Changed("folder") {
			return a.followFolder(cmd, f, often, given)
		}
		if f.Zone != "" {
			return usagef("--zone is for files: it needs --folder")
		}
		if len(given) == 0 {
			if len(changedFlags(cmd, "as", "divide", "every")) > 0 {
				return usagef("say what to keep current: a SOURCE, a SYMBOL and a TIMEFRAME, such as binance BTCUSDT 1h, or --folder PATH")
			}
			return a.listFollows(cmd)
		}
		tf, err := market.ParseTimeframe(given[2])
		if err != nil {
			return usagef("%w", err)
		}
		if f.Seconds, err = everySeconds(often, max(time.Duration(tf.End(0))*time.Second, 5*time.Minute)); err != nil {
			return err
		}
		f.Source, f.Symbol, f.Timeframe = given[0], given[1], string(tf)
		if f.As == "" {
			f.As = f.Symbol
		}
		return a.followSeries(cmd, f, tf)
	}
	cmd.Flags().StringVar(&f.As, "as", "", "`SYMBOL` in the library (default: the same)")
	cmd.Flags().StringVar(&f.Folder, "folder", "", "`PATH` of a folder to watch for price files, instead of a source")
	cmd.Flags().StringVar(&f.Zone, "zone", "", "time `ZONE` of times in the files that name no zone (default: that of the format, else UTC)")
	cmd.Flags().Float64Var(&f.Divide, "divide", 0,
		"`NUMBER` of points that make one unit, for dukascopy, url: and files in points (default: what is known)")
	cmd.Flags().StringVar(&often, "every", "", "`TIME` between two turns, such as 1h (default: that of a bar, at least 5m; 5m for a folder)")
	notZero(cmd.Flags(), "divide")
	storageFlags(cmd)
	return cmd
}

func everySeconds(often string, usual time.Duration) (int64, error) {
	if often == "" {
		return int64(usual / time.Second), nil
	}
	every, err := time.ParseDuration(often)
	if err != nil {
		return 0, usagef("--every %q is no time: write it like 10m or 4h", often)
	}
	return int64(every / time.Second), nil
}

// changedFlags are those of the flags that were given.
func changedFlags(cmd *cobra.Command, names ...string) (given []string) {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

func (a *app) followFolder(cmd *cobra.Command, f jobs.Follow, often string, given []string) (err error) {
	if len(given) > 0 || f.As != "" {
		return usagef("--folder takes no SOURCE, SYMBOL, TIMEFRAME and --as: the names of the files tell them")
	}
	if _, err := time.LoadLocation(f.Zone); err != nil {
		return usagef("--zone %q is no time zone: give one like Europe/Athens or UTC", f.Zone)
	}
	if f.Seconds, err = everySeconds(often, 5*time.Minute); err != nil {
		return err
	}
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	if _, err := compute.FollowedFolder(cfg.Data, f.Folder); err != nil {
		return usagef("%w", err)
	}
	f.Folder = filepath.Clean(f.Folder)
	err = a.withNewLab(cmd, func(l *local.Lab) error { return l.Library.Follow(cmd.Context(), f) })
	return a.show(f, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s is watched: a running backend imports new and changed price files in it every %s\n", term.Plain(f.Folder),
			text.Duration(time.Duration(f.Seconds)*time.Second))
	})
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
		fmt.Fprintf(w, "%s is kept current: a running backend fetches %s every %s\n", f.Name(), term.Plain(r.Label()),
			text.Duration(time.Duration(f.Seconds)*time.Second))
	})
}

func (a *app) listFollows(cmd *cobra.Command) error {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	all, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) ([]jobs.Followed, error) {
		return compute.Followed(ctx, l.Library, l.Store, cfg.Data)
	})
	if errors.Is(err, market.ErrNoData) {
		all, err = []jobs.Followed{}, nil
	}
	return a.show(all, err, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, "No series is kept current and no folder is watched. See `ktrdr data follow --help`.")
			return
		}
		term.Table(w, "SYMBOL\tTIMEFRAME\tSOURCE\tEVERY\tLAST TURN\tNEW BARS\tSTATE", all, func(f jobs.Followed) []any {
			symbol, timeframe, source := f.As, f.Timeframe, f.Folder
			if f.Folder == "" {
				source = fetch.Request{Source: f.Source, Symbol: f.Symbol}.Label()
			} else {
				symbol, timeframe = "-", "-"
			}
			at, bars, state := lastTurn(f)
			return []any{symbol, timeframe, source, text.Duration(time.Duration(f.Seconds) * time.Second), at, bars, state}
		})
		for _, f := range all {
			printFollowFailures(w, f)
		}
	})
}

// lastTurn says when the last turn of a follow was, what it brought, and how it stands.
func lastTurn(f jobs.Followed) (at, bars, state string) {
	at, bars, state = "-", "-", "waiting"
	if f.Last != nil {
		at, bars, state = term.Minute(f.Last.At.Unix()), strconv.Itoa(f.Last.NewBars), "ok"
		if f.Last.Active > 0 {
			state = "running"
		}
	}
	if n := len(f.Failures); n > 0 {
		state = text.Counted(n, "failure")
	}
	return at, bars, state
}

// printedFailures is how many of a follow are printed.
const printedFailures = 10

func printFollowFailures(w io.Writer, f jobs.Followed) {
	for i, x := range f.Failures {
		if i == printedFailures {
			fmt.Fprintf(w, "  and %d more of %s; --json shows all\n", len(f.Failures)-i, term.Plain(f.Label()))
			return
		}
		said := x.What
		if !x.Since.IsZero() {
			said += " fails since " + term.Minute(x.Since.Unix())
		}
		if x.Operation != "" {
			said += " (" + string(x.Operation) + ")"
		}
		fmt.Fprintln(w, "  ✗", term.Plain(said+": "+x.Error))
	}
}

func newDataUnfollow(a *app) *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "unfollow SYMBOL TIMEFRAME", Short: "Do not keep a series current any more",
		Long:              "End `ktrdr data follow` for a series, or with --folder for a folder. The series stay as they are.",
		ValidArgsFunction: a.completeSeries,
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if folder != "" {
			return noArgs(cmd, given)
		}
		return exactly(2, seriesArgs)(cmd, given)
	}
	cmd.Flags().StringVar(&folder, "folder", "", "`PATH` of the folder that is not watched any more")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f := jobs.Follow{}
		if folder != "" {
			f.Folder = filepath.Clean(folder)
		} else {
			f.As, f.Timeframe = args[0], args[1]
		}
		err := a.withLab(cmd, func(l *local.Lab) error { return l.Library.Unfollow(cmd.Context(), f) })
		if errors.Is(err, market.ErrNoData) || ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			err = usagef("%s is not kept current: `ktrdr data follow` lists what is", f.Label())
		}
		return a.show(f, err, func(w io.Writer) { fmt.Fprintf(w, "%s is not kept current any more\n", term.Plain(f.Label())) })
	}
	return cmd
}
