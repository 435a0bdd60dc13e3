package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
)

// storageFlags adds what a command needs that works on the database and the
// blobs themselves, with or without a backend.
func storageFlags(cmd *cobra.Command) (config *string) {
	cmd.Flags().Var(&textFlag{kind: "URL"}, "db", "database: a SQLite file or postgres://… (KTRDR_DB; default DATA/ktrdr.db)")
	return cmd.Flags().String("config", "", "the backend's configuration `FILE`")
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
