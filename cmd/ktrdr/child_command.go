package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
)

// newChild is the command of a child process. People have no use for it.
func newChild(a *app) *cobra.Command {
	return &cobra.Command{
		Use: backend.ChildCommand, Short: "Run one operation for the backend that started this process", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := newLog(backend.Config{LogLevel: slog.LevelWarn}, a.verbose, a.err)
			return backend.RunChild(cmd.Context(), os.Stdin, a.process(log))
		},
	}
}
