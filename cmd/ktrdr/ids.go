package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
)

// fullID is an id as the store makes them.
var fullID = regexp.MustCompile(`^op_[a-z_]+_\d{8}_\d{6}_[0-9a-f]{8}$`)

// shortest is how many characters of an id's random tail name an operation.
const shortest = 4

// named says whether text is enough of an id: the beginning of all of it, or
// of its random tail, which is the part people remember.
func named(id ktrdr.OperationID, text string) bool {
	if strings.HasPrefix(string(id), text) {
		return true
	}
	return len(text) >= shortest && strings.HasPrefix(id.Tail(), text)
}

// searched bounds how many of the newest operations a short id is looked for
// in; an older one needs its whole id.
const searched = 10_000

// resolve finds the operation that a whole or a short id means.
func resolve(ctx context.Context, c *client.Client, text string) (ktrdr.OperationID, error) {
	return resolveAs(ctx, c, text, "")
}

// resolveAs is resolve for who wants an operation of a type: of a tree it is
// then the one of that type. An empty type means the tree's top.
func resolveAs(ctx context.Context, c *client.Client, text string, want ktrdr.Type) (ktrdr.OperationID, error) {
	if fullID.MatchString(text) {
		op, err := c.Operation(ctx, ktrdr.OperationID(text))
		return op.ID, unknownName(err)
	}
	if isRunID(text) {
		run, err := resolveRun(ctx, c, text)
		if err != nil {
			return "", err
		}
		id := ktrdr.ShortRun(run.ID)
		return "", usagef("%s is a run, not an operation: `ktrdr status %s` shows it, `ktrdr leaderboard --run %s` the results of its "+
			"researches, and `ktrdr ops --run %s` its operations",
			id, id, id, id)
	}
	if len(text) < shortest { // an unset variable must not mean whatever there is
		return "", usagef("%q is too short for an operation's id; give at least %d characters of one that `ktrdr ops` shows", text, shortest)
	}
	var found []ktrdr.Operation
	q := ktrdr.OperationQuery{Limit: 1000}
	for seen := 0; seen < searched; {
		page, err := c.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, op := range page.Operations {
			if named(op.ID, text) {
				found = append(found, op)
			}
		}
		seen += len(page.Operations)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return choose(text, found, want)
}

// unknownName makes wrong usage of the error that nothing has the name that was
// given.
func unknownName(err error) error {
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return &exitError{exitUsage, err}
	}
	return err
}

// choose picks what a short id means. The children of a research carry its tail,
// which is what every table shows: a tail that belongs to one tree means its top.
func choose(text string, found []ktrdr.Operation, want ktrdr.Type) (ktrdr.OperationID, error) {
	if wanted := slices.DeleteFunc(slices.Clone(found), func(op ktrdr.Operation) bool { return op.Type != want }); len(wanted) == 1 {
		return wanted[0].ID, nil
	}
	switch {
	case len(found) == 0:
		return "", unknownName(ktrdr.Errorf(ktrdr.CodeNotFound, "no operation begins with %q; `ktrdr ops` lists them", text))
	case len(found) == 1:
		return found[0].ID, nil
	case !slices.ContainsFunc(found, func(op ktrdr.Operation) bool {
		return op.Root != found[0].Root || !strings.HasPrefix(op.ID.Tail(), text)
	}):
		return found[0].Root, nil
	}
	var b strings.Builder
	for _, op := range found[:min(len(found), 5)] {
		fmt.Fprintf(&b, "\n  %s", op.ID)
	}
	return "", ktrdr.Errorf(ktrdr.CodeInvalid, "%q means %d operations; add a character or two:%s", text, len(found), b.String())
}

// completeIDs offers the newest operations that an argument may mean.
func (a *app) completeIDs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	return a.offers(cmd, func(ctx context.Context, c *client.Client) (offers []string) {
		page, _ := c.List(ctx, ktrdr.OperationQuery{Limit: 100})
		for _, op := range page.Operations {
			if named(op.ID, typed) {
				offers = append(offers, fmt.Sprintf("%s\t%s, created %s", op.ID, op.Status, term.Ago(op.CreatedAt)))
			}
		}
		return offers
	}), none | cobra.ShellCompDirectiveKeepOrder
}

// offers asks the server for completions. The shell shows no errors: without an
// answer there are none.
func (a *app) offers(cmd *cobra.Command, ask func(ctx context.Context, c *client.Client) []string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), shortly)
	defer cancel()
	c, err := a.connect()
	if err != nil {
		return nil
	}
	return ask(ctx, c)
}

// onOperation makes a command that asks the server about one operation.
func (a *app) onOperation(use, short string, ask func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " OPERATION", Short: short,
		Args: exactly(1, "one OPERATION: its id, or enough of it"), ValidArgsFunction: a.completeIDs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			id, err := resolve(ctx, c, args[0])
			if err != nil {
				return err
			}
			return ask(ctx, c, id)
		}),
	}
}
