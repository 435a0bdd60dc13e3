package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const marketHelp = `Show the market of a series, or decide it.

Trials and looks at the holdout are counted on a market. A market is its prices, under
any name. Two series are one market when their returns correlate by 0.98 or more, in
either sign, over 2,000 shared returns. With fewer shared returns you decide:
--same-market-as joins the market of another symbol, --new-market makes a new one.
Until then no research, training or backtest uses the series.

--same-market-as also merges two markets that the prices do not show to be one. Their
trials and looks are added, and they stay merged.`

func newDataMarket(a *app) *cobra.Command {
	var choice jobs.Choice
	cmd := &cobra.Command{
		Use: "market SYMBOL TIMEFRAME", Short: "Show or decide the market of a series", Long: marketHelp,
		Args: exactly(2, seriesArgs), ValidArgsFunction: a.completeSeries,
	}
	choiceFlags(cmd, &choice)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := seriesNamed(args)
		if err != nil {
			return err
		}
		if err := choice.Validate(); err != nil {
			return &exitError{exitUsage, err}
		}
		return a.decideMarket(cmd, s, choice)
	}
	return cmd
}

// choiceFlags adds the flags with which a user decides on a market.
func choiceFlags(cmd *cobra.Command, c *jobs.Choice) {
	cmd.Flags().StringVar(&c.SameAs, "same-market-as", "", "same market as `SYMBOL` (or the id of a market)")
	cmd.Flags().BoolVar(&c.New, "new-market", false, "new market, if the prices do not decide")
}

func (a *app) decideMarket(cmd *cobra.Command, s series, c jobs.Choice) error {
	var shown stored
	err := a.withLedger(cmd, func(l *ledger) error {
		e, p, err := l.markets.PlaceSeries(cmd.Context(), l.library, s.symbol, s.timeframe, c)
		if errors.Is(err, market.ErrNoData) {
			err = l.missing(cmd.Context(), s)
		}
		shown = inMarket(storedAs(e), p)
		return err
	})
	if errors.Is(err, market.ErrNoData) {
		err = missing(nil, s)
	}
	if err != nil {
		return err
	}
	return a.print(shown, func(w io.Writer) { printMarket(w, shown) })
}

// inLedger is what the ledger says of a series, as commands print it.
type inLedger struct {
	Market      string    `json:"market,omitempty"`
	Reason      string    `json:"market_reason,omitempty"`
	Question    string    `json:"market_question,omitempty"`
	HoldoutFrom time.Time `json:"holdout_from,omitzero"`
	Trials      int       `json:"trials"`
	Looks       int       `json:"looks"`
}

func ledgerShown(p jobs.Placement) inLedger {
	return inLedger{p.Market.ID, p.Reason, p.Question, p.Market.HoldoutFrom, p.Market.Trials, p.Market.Looks}
}

// inMarket adds to a series what the ledger says of it.
func inMarket(s stored, p jobs.Placement) stored {
	s.inLedger = ledgerShown(p)
	return s
}

// sentence is where a series belongs, for people.
func (m inLedger) sentence() string {
	switch {
	case m.Question != "":
		return "market undecided: " + m.Question
	case m.Market == "":
		return "its market is not decided yet"
	}
	return fmt.Sprintf("market %s: %s", m.Market, m.Reason)
}

func printMarket(w io.Writer, s stored) {
	fmt.Fprintf(w, "%s %s, %d bars, %s\n", s.Symbol, s.Timeframe, s.Bars, s.span())
	fmt.Fprintln(w, term.Plain(s.sentence()))
	if s.Market == "" {
		return
	}
	holdout := "no start of the holdout is set yet"
	if !s.HoldoutFrom.IsZero() {
		holdout = "holdout from " + term.Minute(s.HoldoutFrom.Unix())
	}
	fmt.Fprintf(w, "%s, trials %d, looks %d\n", holdout, s.Trials, s.Looks)
}

// addMarkets adds to the series of a list what the ledger says of them.
func (l *ledger) addMarkets(ctx context.Context, list []stored) error {
	for i, s := range list {
		p, err := l.markets.Describe(ctx, s.Entry)
		if err == nil && p.Market.ID == "" && s.Current {
			p.Question, err = l.questionOf(ctx, s.Entry)
		}
		if err != nil {
			return err
		}
		list[i] = inMarket(s, p)
	}
	return nil
}

// questionOf is what the user must decide about a series that has no market. A
// series that cannot be read says so there.
func (l *ledger) questionOf(ctx context.Context, e jobs.Entry) (string, error) {
	b, err := l.library.Open(ctx, e)
	if ktrdr.CodeOf(err) == ktrdr.CodeCorrupt {
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	return l.markets.Question(ctx, b)
}
