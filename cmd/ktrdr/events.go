package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

const eventsHelp = `Print events as they happen, until Ctrl-C. With an OPERATION: all its events from its
creation to its end. --kind shows only some kinds, such as backend_started,
backend_died, worker_registered, worker_left and worker_lost.`

func newEvents(a *app) *cobra.Command {
	var (
		after string
		given []string
	)
	cmd := &cobra.Command{
		Use: "events [OPERATION]", Short: "Print events as they happen", Long: eventsHelp,
		ValidArgsFunction: a.completeIDs,
		Args:              atMostOne("OPERATION"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			cursor, err := ktrdr.ParseCursor(after)
			if err != nil {
				return usagef("--after: %w", err)
			}
			if after != "" && cursor == (ktrdr.Cursor{}) {
				cursor = client.FromBeginning
			}
			kinds, err := eventKinds(given)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.stream(ctx, c, "", cursor, kinds)
			}
			id, err := resolve(ctx, c, args[0])
			if err != nil {
				return err
			}
			return a.stream(ctx, c, id, cursor, kinds)
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "start after the event with this `ID`, as --json shows it; 0-0: start with the oldest event")
	cmd.Flags().StringSliceVar(&given, "kind", nil, "only events of these `KINDS`")
	_ = cmd.RegisterFlagCompletionFunc("kind", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return kindNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func kindNames() []string {
	names := make([]string, len(ktrdr.EventKinds))
	for i, k := range ktrdr.EventKinds {
		names[i] = string(k)
	}
	return names
}

func eventKinds(given []string) (kinds []ktrdr.EventKind, err error) {
	for _, name := range given {
		k := ktrdr.EventKind(strings.ToLower(name))
		if !k.Known() {
			return nil, noneSuch("--kind", name, kindNames())
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// stream prints events until the context ends or, for one operation, until it
// has ended.
func (a *app) stream(ctx context.Context, c *client.Client, id ktrdr.OperationID, after ktrdr.Cursor, kinds []ktrdr.EventKind) error {
	for e, err := range c.FollowEvents(ctx, id, after, kinds...) {
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
