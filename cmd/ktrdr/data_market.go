package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const marketHelp = `Show the market of a series, or decide it.

A market is its prices, whatever they are called: trials and looks at the holdout are
counted on it. Two series are one market when their returns correlate by 0.98 or more,
in either sign, over 2,000 shared returns. With fewer shared returns you decide:
--same-market-as joins the market of another symbol, --new-market begins a new one.
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
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := seriesNamed(args)
		if err != nil {
			return err
		}
		if err := choice.Validate(); err != nil {
			return &exitError{exitUsage, err}
		}
		return a.decideMarket(cmd, *file, s, choice)
	}
	return cmd
}

// choiceFlags adds the flags with which a user decides on a market.
func choiceFlags(cmd *cobra.Command, c *jobs.Choice) {
	cmd.Flags().StringVar(&c.SameAs, "same-market-as", "", "it is the market of `SYMBOL` (or a market's id)")
	cmd.Flags().BoolVar(&c.New, "new-market", false, "it is a market of its own, where its prices do not decide")
}

func (a *app) decideMarket(cmd *cobra.Command, file string, s series, c jobs.Choice) error {
	lib, err := a.readLibrary()
	if errors.Is(err, market.ErrNoData) {
		return a.missing(s)
	}
	if err != nil {
		return err
	}
	defer lib.Close()
	l, err := a.makeLedger(cmd, file)
	if err != nil {
		return err
	}
	e, p, err := placeSeries(cmd.Context(), l.markets, lib, s, c)
	if errors.Is(err, market.ErrNoData) {
		err = a.missing(s)
	}
	if err := errors.Join(err, l.close()); err != nil {
		return err
	}
	shown := inMarket(storedAs(e), p)
	return a.print(shown, func(w io.Writer) { printMarket(w, shown) })
}

// ledger is the storage of a lab and the markets in it.
type ledger struct {
	storage
	markets *jobs.Markets
}

// openLedger opens the ledger of the data folder for a command that can do
// without. It is nil where no backend has made a database yet.
func (a *app) openLedger(cmd *cobra.Command, file string) (*ledger, error) {
	cfg, err := a.serveConfig(cmd, file)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if db, ok := sqliteFile(cfg.database()); ok {
		if _, err := os.Stat(db); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	private()
	if err := a.sameVersion(cmd.Context()); err != nil {
		return nil, err
	}
	st, err := openStorage(cmd.Context(), cfg)
	if err != nil {
		return nil, err
	}
	return &ledger{st, jobs.NewMarkets(st.store, st.blobs)}, nil
}

// makeLedger is openLedger that makes the database where there is none, as the
// first start of a backend does.
func (a *app) makeLedger(cmd *cobra.Command, file string) (*ledger, error) {
	l, err := a.openLedger(cmd, file)
	if l != nil || err != nil {
		return l, err
	}
	cfg, err := a.serveConfig(cmd, file)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	ctx := cmd.Context()
	private()
	if err := refuseRestoring(cfg.Data); err != nil {
		return nil, err
	}
	st, err := makeStorage(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(st.refuseForeignBlobs(ctx, cfg), st.bind(ctx)); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return &ledger{st, jobs.NewMarkets(st.store, st.blobs)}, nil
}

// placing assigns what a command adds to the library. The zero value, without
// a ledger, assigns nothing: the next start of a backend does.
type placing struct {
	*ledger
	lib    *market.Library
	choice jobs.Choice
	err    error // why there is no ledger
}

// placing opens the ledger for a command that adds to the library. With a
// choice a ledger is needed; else the command goes on without.
func (a *app) placing(cmd *cobra.Command, file string, lib *market.Library, c jobs.Choice) (placing, error) {
	if c != (jobs.Choice{}) {
		l, err := a.makeLedger(cmd, file)
		return placing{l, lib, c, nil}, err
	}
	l, err := a.openLedger(cmd, file)
	return placing{l, lib, c, err}, nil
}

func (p placing) close() error {
	if p.ledger == nil {
		return nil
	}
	return p.ledger.close()
}

// place assigns bars before they are stored. Only a choice that is refused is
// an error; what else keeps a series from its market is told.
func (p placing) place(ctx context.Context, b *market.Bars) (inLedger, error) {
	err := p.err
	if p.ledger != nil {
		var placed jobs.Placement
		if placed, err = p.markets.PlaceBeside(ctx, p.lib, b, p.choice); err == nil {
			return ledgerShown(placed), nil
		}
	}
	switch {
	case err == nil:
		return inLedger{}, nil
	case p.choice != (jobs.Choice{}) || ctx.Err() != nil:
		return inLedger{}, err
	}
	return inLedger{Question: fmt.Sprintf("its market could not be decided: %v", err)}, nil //nolint:nilerr // it is told instead
}

// addMade stores bars that a command has made and assigns them to their market.
func (a *app) addMade(cmd *cobra.Command, file string, lib *market.Library, b *market.Bars) (stored, error) {
	p, err := a.placing(cmd, file, lib, jobs.Choice{})
	if err != nil {
		return stored{}, err
	}
	placed, err := p.place(cmd.Context(), b)
	if err := errors.Join(err, p.close()); err != nil {
		return stored{}, err
	}
	e, err := lib.Import(b)
	made := storedAs(e)
	made.inLedger = placed
	return made, err
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
		return "its market is decided when a backend starts"
	}
	return fmt.Sprintf("market %s: %s", m.Market, m.Reason)
}

func printMarket(w io.Writer, s stored) {
	fmt.Fprintf(w, "%s %s, %d bars, %s\n", s.Symbol, s.Timeframe, s.Bars, s.span())
	fmt.Fprintln(w, s.sentence())
	if s.Market == "" {
		return
	}
	holdout := "no start of the holdout is set yet"
	if !s.HoldoutFrom.IsZero() {
		holdout = "holdout from " + minute(s.HoldoutFrom.Unix())
	}
	fmt.Fprintf(w, "%s, trials %d, looks %d\n", holdout, s.Trials, s.Looks)
}

// addMarkets adds to the series of a list what the ledger says of them. The
// returned error says why some of it is missing.
func (a *app) addMarkets(cmd *cobra.Command, file string, list []stored) error {
	l, err := a.openLedger(cmd, file)
	if l == nil || err != nil {
		return err
	}
	for i, s := range list {
		var p jobs.Placement
		if p, err = l.markets.Describe(cmd.Context(), s.entry()); err == nil && p.Market.ID == "" {
			p.Question, err = a.questionOf(cmd.Context(), l, s)
		}
		if err != nil {
			break
		}
		list[i] = inMarket(s, p)
	}
	return errors.Join(err, l.close())
}

// questionOf is what the user must decide about a series that has no market.
func (a *app) questionOf(ctx context.Context, l *ledger, s stored) (string, error) {
	b, c, err := a.openSeries(series{s.Symbol, s.Timeframe})
	if err != nil {
		return "", err
	}
	q, err := l.markets.Question(ctx, b)
	return q, errors.Join(err, c.Close())
}

// entry is the series as the library describes it.
func (s stored) entry() market.Entry {
	e := s.Entry
	if h, err := ktrdr.ParseHash(s.Hash); err == nil {
		e.Hash = h
	}
	return e
}
