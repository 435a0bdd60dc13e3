package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
)

// notZero lets flags refuse a 0 that would silently mean their default.
func notZero(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		f.Value = nonZero{f.Value}
	}
}

type nonZero struct{ pflag.Value }

// Set implements pflag.Value.
func (v nonZero) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	d, notDuration := time.ParseDuration(text)
	if err == nil && x == 0 || notDuration == nil && d == 0 {
		return errors.New("it must be above 0; leave the flag out for the default")
	}
	return v.Value.Set(text)
}

// bounded lets a command refuse a number that is out of bounds.
func bounded(cmd *cobra.Command, name string, value *int, least, most int) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *value < least || *value > most {
			return usagef("--%s must be %d to %d, not %d", name, least, most, *value)
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

func limitFlag(cmd *cobra.Command, limit *int, usual int) {
	cmd.Flags().IntVar(limit, "limit", usual, "largest number of rows")
	bounded(cmd, "limit", limit, 1, 1000)
}

func cursorFlag(cmd *cobra.Command, cursor *string) {
	cmd.Flags().StringVar(cursor, "cursor", "", "continue after the previous page: the value that it printed")
}

func more(w io.Writer, next string) {
	if next != "" {
		fmt.Fprintf(w, "There is more: add --cursor %s.\n", next)
	}
}

// startFlags are those of every command that starts an operation.
type startFlags struct {
	follow bool
	key    string
}

func (f *startFlags) add(cmd *cobra.Command, follow string) {
	followFlag(cmd, &f.follow, follow)
	cmd.Flags().StringVar(&f.key, "key", "", "idempotency `KEY`: the same key again starts nothing new")
}

func followFlag(cmd *cobra.Command, follow *bool, help string) {
	cmd.Flags().BoolVarP(follow, "follow", "f", false, help)
}

// storageFlags adds what a command needs that works on the database and the
// blobs themselves, with or without a backend.
func storageFlags(cmd *cobra.Command) {
	cmd.Flags().Var(&textFlag{kind: "URL"}, "db", "database: a SQLite file or postgres://… (KTRDR_DB; default DATA/ktrdr.db)")
	cmd.Flags().String("config", "", "the backend's configuration `FILE`")
}

// sameVersion refuses to open a database under a running backend of another
// version: opening may migrate it, and that backend would not know.
func (a *app) sameVersion(ctx context.Context) error {
	h, err := a.askHealth(ctx)
	if err != nil || h.Version == ourVersion() {
		return nil //nolint:nilerr // no backend answers, so none is disturbed
	}
	return fmt.Errorf("a backend of version %s is running and this is %s: use the binary of the same version, or stop it first",
		h.Version, ourVersion())
}

// askHealth asks the server how it is, briefly.
func (a *app) askHealth(ctx context.Context) (ktrdr.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, shortly)
	defer cancel()
	c, err := a.connect()
	if err != nil {
		return ktrdr.Health{}, err
	}
	return c.Health(ctx)
}

// configOf is the configuration of a command that works on a lab itself.
func (a *app) configOf(cmd *cobra.Command) (backend.Config, error) {
	file, _ := cmd.Flags().GetString("config") // some commands have no such flag
	cfg, err := a.serveConfig(cmd, file)
	if err != nil {
		return cfg, &exitError{exitUsage, err}
	}
	return cfg, nil
}
