package main

import (
	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/term"
)

// curveFlag says whether curves are drawn: by default on a terminal.
type curveFlag struct {
	on  bool
	cmd *cobra.Command
}

func (f *curveFlag) add(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().BoolVar(&f.on, "curves", false, "draw curves, also into a pipe (default: on a terminal)")
}

// wanted says whether curves are drawn.
func (f *curveFlag) wanted(a *app) bool {
	if f.cmd.Flags().Changed("curves") {
		return f.on
	}
	return term.IsTerminal(a.out) && !a.json
}

// check refuses --curves where the output is no text for people.
func (f *curveFlag) check(a *app, file bool) error {
	switch {
	case f.on && a.json:
		return usagef("give --curves or --json, not both")
	case f.on && file:
		return usagef("--curves draws on the terminal: leave it out where a file is written")
	}
	return nil
}
