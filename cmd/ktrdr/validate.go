package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/local"
)

const validateHelp = `Check strategy files. Each problem is printed with file, line and column. "-" reads
standard input. A warning means: allowed, but probably a mistake.
The exit code is 1 when a strategy is not valid, and 2 when a file cannot be read.`

func newValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "validate FILE…", Short: "Check strategy files", Long: validateHelp,
		Args: atLeastOne("strategy FILE"),
		RunE: func(cmd *cobra.Command, files []string) error {
			results := make([]local.Validated, len(files))
			failed, unread := false, false
			for i, file := range files {
				results[i] = local.ValidateFile(file, cmd.InOrStdin())
				failed, unread = failed || !results[i].Valid, unread || results[i].Unread
			}
			err := a.print(results, func(w io.Writer) {
				for _, r := range results {
					r.Print(w, a.palette())
				}
			})
			if err == nil && unread {
				return &exitError{code: exitUsage}
			}
			return failedIf(err, failed)
		},
	}
}
