package main

import (
	"io"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/mcp"
)

const mcpHelp = `Let an AI assistant use the lab, with the Model Context Protocol over standard input and
output. Configure it in the assistant as a command:

  {"mcpServers": {"ktrdr": {"command": "ktrdr", "args": ["mcp"]}}}

It talks to the server of --url with the token of the command line. With a read token
the assistant can read, but it cannot start anything. It waits for a server that restarts.

An assistant never sees a holdout: it gets the rung and the adjusted p-value of a look.
With --open-holdout it may read holdouts. Each one is counted as a look, and every later
claim on that market needs a lower p-value.`

// mcpPatience is how long a tool waits for a server that restarts.
const mcpPatience = 2 * time.Minute

func newMCP(a *app) *cobra.Command {
	var opens bool
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let an AI assistant use the lab (Model Context Protocol)", Long: mcpHelp, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.assistant = api.AssistantSealed
			if opens {
				a.assistant = api.AssistantOpens
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			s := mcp.New(mcp.Config{Lab: c, Version: ourVersion(), Patience: mcpPatience})
			return s.Run(cmd.Context(), &sdk.IOTransport{Reader: os.Stdin, Writer: quiet{a.out}})
		},
	}
	cmd.Flags().BoolVar(&opens, "open-holdout", false, "let the assistant read holdouts; each one is counted as a look")
	return cmd
}

// quiet is a writer that its user may close.
type quiet struct{ io.Writer }

func (quiet) Close() error { return nil }
