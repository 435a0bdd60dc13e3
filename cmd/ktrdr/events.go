package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

const eventsHelp = `Print events as they happen, until Ctrl-C. With an OPERATION only its own, from
the beginning of its life, until it has ended.`

func newEvents(a *app) *cobra.Command {
	var after string
	cmd := &cobra.Command{
		Use: "events [OPERATION]", Short: "Print events as they happen", Long: eventsHelp,
		ValidArgsFunction: a.completeIDs,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1, "at most one OPERATION")(cmd, args)
			}
			return nil
		},
		RunE: a.asking(func(ctx context.Context, c *httpapi.Client, args []string) error {
			cursor, err := ktrdr.ParseCursor(after)
			if err != nil {
				return usagef("--after: %w", err)
			}
			if len(args) == 0 {
				return a.stream(ctx, c, "", cursor)
			}
			id, err := resolve(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.stream(ctx, c, id, cursor)
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "begin after the event with this `ID`, as --json shows it")
	return cmd
}

// stream prints events until the context ends or, for one operation, until it
// has ended.
func (a *app) stream(ctx context.Context, c *httpapi.Client, id ktrdr.OperationID, after ktrdr.Cursor) error {
	for e, err := range c.FollowEvents(ctx, id, after) {
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		if a.json {
			if err := a.line(eventLine{e.Cursor.String(), e}); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(a.out, stamped(e))
		}
	}
	return context.Cause(ctx)
}

// eventLine is an event with its place in the log.
type eventLine struct {
	ID string `json:"id"`
	ktrdr.Event
}
