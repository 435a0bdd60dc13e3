package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// ledger is the storage of a lab, with its library and its markets.
type ledger struct {
	backend.Storage
	library *jobs.Library
	markets *jobs.Markets
}

func newLedger(st backend.Storage) *ledger {
	return &ledger{st, jobs.NewLibrary(st.Store, st.Blobs), jobs.NewMarkets(st.Store, st.Blobs)}
}

// withLedger opens the lab for a command that reads it. Where there is no lab yet
// the error is market.ErrNoData.
func (a *app) withLedger(cmd *cobra.Command, use func(*ledger) error) error {
	l, err := a.openLedger(cmd)
	if err != nil {
		return err
	}
	if l == nil {
		return market.ErrNoData
	}
	return errors.Join(use(l), l.Close())
}

// withNewLedger is withLedger that makes the lab if it does not exist.
func (a *app) withNewLedger(cmd *cobra.Command, use func(*ledger) error) error {
	l, err := a.makeLedger(cmd)
	if err != nil {
		return err
	}
	return errors.Join(use(l), l.Close())
}

// configOf is the configuration of a command that works on a lab itself.
func (a *app) configOf(cmd *cobra.Command) (backend.Config, error) {
	file := ""
	if f := cmd.Flags().Lookup("config"); f != nil {
		file = f.Value.String()
	}
	cfg, err := a.serveConfig(cmd, file)
	if err != nil {
		return cfg, &exitError{exitUsage, err}
	}
	return cfg, nil
}

// openLedger opens the lab of the data folder. It is nil where there is no
// database and no bars of an earlier version.
func (a *app) openLedger(cmd *cobra.Command) (*ledger, error) {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return nil, err
	}
	if db, ok := backend.SQLiteFile(cfg.Database()); ok {
		if _, err := os.Stat(db); errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat(filepath.Join(cfg.Data, oldLibraryFolder)); errors.Is(err, fs.ErrNotExist) {
				return nil, backend.RefuseRestoring(cfg.Data)
			}
			return a.makeLedger(cmd)
		}
	}
	backend.Private()
	if err := a.sameVersion(cmd.Context()); err != nil {
		return nil, err
	}
	st, err := backend.OpenStorage(cmd.Context(), cfg)
	if err != nil {
		return nil, err
	}
	if err := st.Join(cmd.Context(), cfg); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return a.takenOver(cmd.Context(), newLedger(st), cfg)
}

// makeLedger is openLedger that makes the database if it does not exist, as the
// first start of a backend does.
func (a *app) makeLedger(cmd *cobra.Command) (*ledger, error) {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	backend.Private()
	if err := a.sameVersion(ctx); err != nil {
		return nil, err
	}
	if err := cmp.Or(backend.MakeFolder(cfg.Data), backend.RefuseRestoring(cfg.Data)); err != nil {
		return nil, err
	}
	st, err := backend.MakeStorage(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := st.Join(ctx, cfg); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return a.takenOver(ctx, newLedger(st), cfg)
}

// takenOver brings the bars of an earlier version into the lab. A series that
// cannot be taken over is told and stays where it is.
func (a *app) takenOver(ctx context.Context, l *ledger, cfg backend.Config) (*ledger, error) {
	err := l.library.TakeOverBars(ctx, cfg.Data, func(t jobs.TakenOver) {
		if t.Err != nil {
			fmt.Fprintf(a.err, "warning: %s stays in %s: %s\n", term.Plain(t.What), term.Plain(t.Path), term.Plain(t.Err.Error()))
		}
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// oldLibraryFolder is where earlier versions kept bars in the data folder.
const oldLibraryFolder = "data"

// addMade stores bars that a command has made and assigns them to their market.
// replace says that they may take the place of others.
func (l *ledger) addMade(ctx context.Context, b *market.Bars, im jobs.Import, replace bool) (stored, error) {
	im.Bars, im.Markets = b, l.markets
	if replace {
		im.Mode = jobs.ImportReplace
	}
	done, err := l.library.Import(ctx, im)
	return inMarket(storedAs(done.Entry), done.Placement), err
}

// free refuses to make a series that exists with other bars, unless it may be
// replaced. otherwise says what else can be done.
func (l *ledger) free(ctx context.Context, b *market.Bars, replace bool, otherwise string) error {
	was, err := l.library.Entry(ctx, b.Symbol, b.Timeframe)
	switch {
	case errors.Is(err, market.ErrNoData):
		return nil
	case err != nil:
		return err
	case replace || was.Hash == b.Hash():
		return nil
	}
	s := storedAs(was)
	return usagef("%s is there already, %d bars, %s: %slet this take its place with --replace", series{b.Symbol, b.Timeframe}, s.Bars,
		s.span(), otherwise)
}
