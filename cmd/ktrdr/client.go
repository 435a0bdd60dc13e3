package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
)

const defaultURL = "http://127.0.0.1:8000"

// serverURL is the server that the flag or the environment names.
func (a *app) serverURL() (*url.URL, error) {
	text := cmp.Or(a.url, a.getenv("KTRDR_URL"), defaultURL)
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, usagef("--url must look like %s, not %q", defaultURL, text)
	}
	return u, nil
}

// secret finds the token: the flag's, the environment's, or that of the data
// folder. The last is sent only to this machine: another server has no business
// with it. It also tells where the token is from.
func (a *app) secret(to *url.URL) (token ktrdr.Secret, from string, err error) {
	for _, given := range []backend.Given{{Text: a.token, Where: "--token"}, {Text: a.getenv("KTRDR_TOKEN"), Where: "KTRDR_TOKEN"}} {
		if given.Text == "" {
			continue
		}
		if !backend.Visible(given.Text) {
			return "", "", usagef("%s holds a space or another character that no token has: copy it again", given.Where)
		}
		return ktrdr.Secret(given.Text), given.Where, nil
	}
	if !backend.Loopback(to.Hostname()) {
		return "", "", nil
	}
	from = filepath.Join(a.dataDir(), backend.TokenFile)
	token, err = backend.ReadToken(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", "", nil // the server will say whether it wants one
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return "", "", backend.NoFolder(a.dataDir())
	}
	return token, from, err
}

// connect makes a client of the server. It does not call it yet.
func (a *app) connect() (*client.Client, error) {
	u, err := a.serverURL()
	if err != nil {
		return nil, err
	}
	token, _, err := a.secret(u)
	if err != nil {
		return nil, err
	}
	return a.clientFor(u, token)
}

func (a *app) clientFor(u *url.URL, token ktrdr.Secret) (*client.Client, error) {
	ca := cmp.Or(a.ca, a.getenv("KTRDR_CA"))
	c, err := client.New(u.String(), token, client.Options{CAFile: ca, Version: ourVersion(), Assistant: a.assistant})
	if err != nil {
		named := backend.UserFile{What: "certificate file", Name: ca, Next: "name another with --ca or KTRDR_CA, or leave it out"}
		return nil, usagef("%w", named.Trouble(err))
	}
	return c, nil
}

// asking makes a command's RunE of what it asks the server.
func (a *app) asking(ask func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connect()
		if err != nil {
			return err
		}
		return a.explain(cmd.Context(), ask(cmd.Context(), c, args))
	}
}

// explain adds to an error what to do about it, where the server could not
// know.
func (a *app) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errStopped) {
		return cause
	}
	u, urlErr := a.serverURL()
	if urlErr != nil {
		return urlErr
	}
	switch code := ktrdr.CodeOf(err); {
	case code == ktrdr.CodeUnauthorized:
		_, from, _ := a.secret(u)
		return a.unauthorized(u, from, err)
	case isNetwork(err):
		return &exitError{
			exitUnreachable, ktrdr.Errorf(code, "no server at %s: start one with `ktrdr serve`, or name another with --url (%w)", u,
				backend.Innermost(err)),
		}
	case code == ktrdr.CodeUnavailable:
		return &exitError{exitUnreachable, err}
	}
	return err
}

// unauthorized says which token was refused, and how to come by another.
func (a *app) unauthorized(u *url.URL, from string, err error) error {
	const code = ktrdr.CodeUnauthorized
	file := filepath.Join(a.dataDir(), backend.TokenFile)
	switch from {
	case "":
		return ktrdr.Errorf(code, "%s wants a token: set KTRDR_TOKEN, or run this where %s can be read (%w)", u, file, err)
	case file:
		return ktrdr.Errorf(code, "%s does not accept the token in %s: name the folder of that server with --data, "+
			"or set KTRDR_TOKEN to one of its tokens (%w)", u, file, err)
	default:
		return ktrdr.Errorf(code, "%s does not accept the token of %s: it was revoked, or belongs to another server; "+
			"an admin makes one with `ktrdr token create` (%w)", u, from, err)
	}
}

// isNetwork says whether err came from the way to the server rather than from
// the server.
func isNetwork(err error) bool {
	_, op := errors.AsType[*net.OpError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	return op || dns
}
