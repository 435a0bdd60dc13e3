package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
)

func newToken(a *app) *cobra.Command {
	return group("token", "Tokens of the API: create, list, revoke; sign a browser in", newTokenCreate(a), newTokenList(a), newTokenRevoke(a),
		newTokenLink(a))
}

func newTokenCreate(a *app) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a token; it is shown once",
		Args: exactly(1, "one NAME, to know the token by"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			if scopes := names(ktrdr.Scopes); !slices.Contains(scopes, scope) {
				return noneSuch("--scope", scope, scopes)
			}
			secret, made, err := c.CreateToken(ctx, args[0], ktrdr.Scope(scope))
			return a.show(api.NewTokenReply{Token: made, Secret: secret.Reveal()}, err, func(w io.Writer) {
				fmt.Fprintln(w, secret.Reveal())
				fmt.Fprintf(a.err, "This is the only time it is shown. Use it as KTRDR_TOKEN; revoke it with `ktrdr token revoke %s`.\n", made.ID)
			})
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", string(ktrdr.ScopeWorker), "admin, worker, read or assistant")
	return cmd
}

func newTokenList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tokens, without their secrets", Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			tokens, err := c.Tokens(ctx)
			return a.show(tokens, err, func(w io.Writer) {
				term.Table(w, "TOKEN\tNAME\tSCOPE\tCREATED\tREVOKED", tokens, func(t ktrdr.Token) []any {
					return []any{t.ID, t.Name, t.Scope, term.Ago(t.CreatedAt), term.Ago(t.RevokedAt)}
				})
			})
		}),
	}
}

func newTokenRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Short: "Revoke a token by its id",
		Args: exactly(1, "one TOKEN id from `ktrdr token list`"),
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			return a.show(revoked{args[0]}, unknownName(c.RevokeToken(ctx, args[0])), func(w io.Writer) {
				fmt.Fprintf(w, "%s is revoked; it is refused within seconds.\n", args[0])
			})
		}),
	}
}

type revoked struct {
	ID string `json:"token_id"`
}
