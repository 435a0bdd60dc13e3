// Package assistant uses the lab as an AI assistant does: the official client of the
// Model Context Protocol, the real binary, and kills.
package assistant

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ktrdr/ktrdr/labtest"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

// assistant is a session with the lab.
type assistant struct {
	*testing.T
	session *sdk.ClientSession
}

// overStdio starts `ktrdr mcp` and connects to it.
func overStdio(t *testing.T, l *labtest.Lab, args ...string) *assistant {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), labtest.Binary(t), append([]string{"mcp"}, args...)...)
	cmd.Env = labtest.Environment(t, l.Data(), labtest.Times{}, "KTRDR_URL="+l.Client().URL())
	return connect(t, &sdk.CommandTransport{Command: cmd})
}

// overHTTP connects to a server with a token.
func overHTTP(t *testing.T, url, token string) *assistant {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{
		Endpoint: url + "/mcp", DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(token)},
	})
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, transport sdk.Transport) *assistant {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &assistant{t, session}
}

// try uses a tool and returns what it says, and whether that is an error.
func (a *assistant) try(tool string, args map[string]any) (said string, handles []string, failed bool) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), 5*time.Minute)
	defer cancel()
	r, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.Errorf("%s: %v", tool, err)
		return err.Error(), nil, true
	}
	return textOf(r), handlesOf(r), r.IsError
}

// use uses a tool that must not fail.
func (a *assistant) use(tool string, args map[string]any) (said string, handles []string) {
	a.Helper()
	said, handles, failed := a.try(tool, args)
	if failed {
		a.Fatalf("%s %v: %s", tool, args, said)
	}
	return said, handles
}

// waitFor waits until a handle has ended. It may be called beside the test.
func (a *assistant) waitFor(handle string) {
	a.Helper()
	for until := time.Now().Add(4 * time.Minute); time.Now().Before(until); {
		said, _, failed := a.try("wait", map[string]any{"handles": []string{handle}, "seconds": 60})
		switch {
		case failed:
			a.Errorf("wait for %s: %s", handle, said)
			return
		case strings.HasPrefix(said, "All have ended"):
			return
		}
	}
	a.Errorf("%s does not end", handle)
}

// read reads a resource.
func (a *assistant) read(uri string) string {
	a.Helper()
	r, err := a.session.ReadResource(a.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		a.Fatalf("%s: %v", uri, err)
	}
	return r.Contents[0].Text
}

func textOf(r *sdk.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			all = append(all, c.Text)
		case *sdk.ResourceLink:
			all = append(all, c.URI)
		}
	}
	return strings.Join(all, "\n")
}

func handlesOf(r *sdk.CallToolResult) (handles []string) {
	told, _ := r.StructuredContent.(map[string]any)
	list, _ := told["handles"].([]any)
	for _, h := range list {
		if text, ok := h.(string); ok {
			handles = append(handles, text)
		}
	}
	return handles
}
