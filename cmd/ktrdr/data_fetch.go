package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const fetchHelp = `Fetch bars from the internet and add them to the library. The fetch is an operation: it
survives crashes, and fetches nothing twice. SYMBOL is written as the source writes it.

  binance    BTCUSDT          archive of spot trading; 1m to 1d
  dukascopy  EURUSD           quotes, as bars of the bid with a spread; 1m to 1d
  yahoo      AAPL, ^GSPC      adjusted for splits; 1m to 1h for some weeks, 1d
  kraken     XBTUSD           the newest 720 bars only; 1m to 1d
  coinbase   BTC-USD          1m, 5m, 15m, 1h, 1d
  fred       SP500, DGS10     economic series; 1d, 1w, 1M
  url:https://HOST/{symbol}_{timeframe}.csv?from={from}&to={to}
                              files that "ktrdr data import" can read

An address may have {symbol}, {timeframe}, {from}, {to} (days), {from_unix}, {to_unix},
{from_ms}, {to_ms}, {year}, {month} and {day}. With {day}, {month} or {year} one file is
fetched for each. An address with a key belongs into KTRDR_FETCH_SOURCES=NAME=ADDRESS.

Without --from a series that exists is continued, and its newest bars are compared with
those of the source. Bars that have not closed are left out. If old bars have changed,
the series gets a new version; operations that started with the old one keep it.

The sources were not tried where this program was made. --check asks one, without a
backend, and says whether it still answers as expected.

  ktrdr data fetch binance BTCUSDT 1h --from 2020-01-01 --follow
  ktrdr data fetch yahoo ^GSPC 1d --as SP500
  ktrdr data fetch --check binance`

func newDataFetch(a *app) *cobra.Command {
	var (
		r     jobs.DataFetchRequest
		check bool
		start startFlags
	)
	cmd := &cobra.Command{Use: "fetch SOURCE SYMBOL TIMEFRAME", Short: "Fetch prices from the internet", Long: fetchHelp}
	const args = "a SOURCE, a SYMBOL and a TIMEFRAME, such as binance BTCUSDT 1h"
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if check && len(given) == 1 {
			return nil
		}
		return exactly(3, args)(cmd, given)
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if check {
			return a.checkSource(cmd, given)
		}
		tf, err := market.ParseTimeframe(given[2])
		if err != nil {
			return usagef("%w", err)
		}
		r.Source, r.Symbol, r.Timeframe = given[0], given[1], string(tf)
		return a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			started, err := c.StartDataFetch(ctx, r, start.key)
			return a.started(ctx, c, started, err, start.follow)
		})(cmd, given)
	}
	f := cmd.Flags()
	f.BoolVar(&check, "check", false, "ask the SOURCE for a little, and say whether it answers as expected")
	f.StringVar(&r.As, "as", "", "`SYMBOL` in the library (default: the same)")
	f.StringVar(&r.From, "from", "", "first `DAY`, such as 2020-01-01 (default: where the series ends, or 90 days to 10 years ago)")
	f.StringVar(&r.To, "to", "", "last `DAY` (default: now)")
	f.Float64Var(&r.Divide, "divide", 0, "`NUMBER` of points that make one unit, for dukascopy and url: (default: what is known)")
	notZero(f, "divide")
	f.StringVar(&r.Mode, "mode", "", "`WORD`: append to a series that exists (default), or replace it")
	f.StringVar(&r.SameMarketAs, "same-market-as", "", "the prices are those of this `SYMBOL` or market")
	f.BoolVar(&r.NewMarket, "new-market", false, "the prices are of a market that the lab does not know")
	f.String("config", "", "the backend's configuration `FILE`, for --check")
	start.add(cmd, "follow it to its end")
	return cmd
}

// checkSource asks a source, without a backend.
func (a *app) checkSource(cmd *cobra.Command, args []string) error {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	f, err := cfg.Fetch.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	symbol, tf := "", market.Timeframe("")
	if len(args) == 3 {
		symbol = args[1]
		if tf, err = market.ParseTimeframe(args[2]); err != nil {
			return usagef("%w", err)
		}
	}
	p, err := f.Check(cmd.Context(), args[0], symbol, tf, time.Now())
	return a.show(p, err, func(w io.Writer) { printProbe(w, p) })
}

func printProbe(w io.Writer, p fetch.Probed) {
	fmt.Fprintf(w, "%s works: %s of %s within %v, the last opens at %s\n", term.Plain(p.Source), text.Counted(p.Bars, "bar"),
		term.Plain(p.Asked),
		time.Duration(p.Millis)*time.Millisecond, term.Minute(p.Last))
	fmt.Fprintf(w, "the library will call it %s\n", term.Plain(p.Label))
}
