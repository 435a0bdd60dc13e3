package main

import (
	"io"
	"log/slog"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
)

// newLog makes the logger that c asks for; verbose shows debug lines too.
func newLog(c backend.Config, verbose bool, out io.Writer) *slog.Logger {
	level := c.LogLevel
	if verbose {
		level = min(level, slog.LevelDebug)
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogJSON {
		return slog.New(slog.NewJSONHandler(term.JSONLines(out), opts))
	}
	return slog.New(slog.NewTextHandler(out, opts))
}
