package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
)

// openBrowser shows an address in the user's browser.
func openBrowser(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil { //nolint:gosec // the address is one that this program made
		return fmt.Errorf("no browser could be opened (%s: %w); open the address yourself", name, err)
	}
	return nil
}

func addOpen(cmd *cobra.Command, open *bool) {
	cmd.Flags().BoolVar(open, "open", false, "open the page in a browser")
}

// signIn is a link for one browser.
type signIn struct {
	URL string `json:"url"`
	api.Link
}

func newTokenLink(a *app) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "link", Short: "Print a link that signs one browser in, for ten minutes", Args: noArgs,
		Long: "Print a link that opens the page and signs one browser in with the rights of your own token. The link works once " +
			"and for ten minutes.",
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			link, err := client.Call(ctx, c, api.CreateLink, api.None{})
			made := signIn{c.URL() + link.Path, link}
			if err := a.show(made, err, func(w io.Writer) { fmt.Fprintln(w, made.URL) }); err != nil || !open {
				return err
			}
			return openBrowser(ctx, made.URL)
		}),
	}
	addOpen(cmd, &open)
	return cmd
}
