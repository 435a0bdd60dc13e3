package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/internal/text"
)

// announcement is what serve prints once it is ready.
type announcement struct {
	URL      string          `json:"url"`
	PID      int             `json:"pid"`
	Data     string          `json:"data"`
	Store    ktrdr.StoreInfo `json:"store"`
	Blobs    string          `json:"blobs"`
	Workers  int             `json:"workers"`
	Agents   int             `json:"agents"`
	Models   []string        `json:"models,omitempty"`
	Token    string          `json:"token_file,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`

	// Requeued are the operations that backends ran when they died. Each runs
	// next in a child process.
	Requeued []ktrdr.OperationID `json:"requeued,omitempty"`
}

// announce makes sure that there is a token, and prints what was started.
func (b *backend) announce(ctx context.Context, a *app) error {
	info, err := b.store.Info(ctx)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	said := announcement{
		URL: b.url(), PID: os.Getpid(), Data: b.cfg.Data, Store: info, Blobs: withoutQuery(b.cfg.blobRoot()), Workers: b.cfg.Workers, Agents: b.cfg.Agents,
		Models: b.cfg.Models.Chain, Warnings: b.cfg.Models.gaps(b.lifelines.models, os.Getenv),
		Requeued: b.engine.Requeued(),
	}
	if b.cfg.NoAuth {
		said.Warnings = append(said.Warnings, "everybody on this machine may use it (KTRDR_AUTH=none)")
	} else {
		var warning string
		if said.Token, warning, err = b.ensureToken(ctx); err != nil {
			return err
		}
		if warning != "" {
			said.Warnings = append(said.Warnings, warning)
		}
	}
	if host, _, _ := net.SplitHostPort(b.cfg.Addr); !loopback(host) && len(b.hosts()) == 0 {
		said.Warnings = append(said.Warnings, "only loopback names are answered: set KTRDR_HOSTS to the names others call this machine by")
	}
	return a.print(said, func(w io.Writer) { a.checklist(w, said) })
}

func (a *app) checklist(w io.Writer, s announcement) {
	p := a.palette()
	done := func(what, detail string) { fmt.Fprintf(w, "%s %-9s %s\n", p.good("✔"), what, plain(detail)) }
	done("data", s.Data)
	done("database", fmt.Sprintf("%s %s at %s", s.Store.Kind, s.Store.Version, s.Store.Location))
	done("schema", fmt.Sprintf("version %d", s.Store.Schema))
	done("blobs", s.Blobs)
	if s.Workers > 0 {
		done("workers", fmt.Sprintf("%d in this process", s.Workers))
	} else {
		done("workers", "none in this process; start some with `ktrdr worker`")
	}
	if s.Agents > 0 {
		done("agents", fmt.Sprintf("%d design and assess in this process", s.Agents))
	}
	if len(s.Models) > 0 {
		done("models", strings.Join(s.Models, ", ")+", and then the program itself")
	}
	if s.Token != "" {
		done("token", s.Token)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "%s %s\n", p.bad("⚠"), plain(warning))
	}
	if n := len(s.Requeued); n > 0 {
		fmt.Fprintf(w, "%s %s ran in a backend that died without a stop; each runs next in a child process:\n", p.bad("⚠"), text.Counted(n, "operation"))
		for _, id := range s.Requeued {
			fmt.Fprintf(w, "    %s\n", id)
		}
	}
	fmt.Fprintf(w, "→ %s  (try `ktrdr research --follow`; Ctrl-C stops)\n", s.URL)
}

func (b *backend) url() string {
	scheme := "http"
	if b.cfg.tls() {
		scheme = "https"
	}
	return scheme + "://" + b.listener.Addr().String()
}

// ensureToken makes the first admin token, and another when the database does
// not accept the one in the folder: one that was revoked stays revoked. It
// returns the file's name, and a warning when its token was replaced.
func (b *backend) ensureToken(ctx context.Context) (name, warning string, err error) {
	name = filepath.Join(b.cfg.Data, tokenFile)
	secret, err := readToken(name)
	switch {
	case err == nil:
		_, err = b.store.TokenByHash(ctx, httpapi.HashToken(secret))
		if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return name, "", err
		}
		warning = fmt.Sprintf("the token in %s was revoked, or is not one of this database; a new one is there now", name)
	case errors.Is(err, errNoToken):
		warning = fmt.Sprintf("%s held no token; a new one is there now", name)
	case !errors.Is(err, os.ErrNotExist):
		return "", "", err
	}
	if err := b.revokeFirst(ctx); err != nil {
		return "", "", fmt.Errorf("token file: %w", err)
	}
	secret, token := httpapi.NewToken(b.firstToken(), ktrdr.ScopeAdmin)
	// The file before the row: a token without a row is replaced at the next
	// start, a row without its secret would be of no use to anybody.
	if err := writeOnce(name, secret.Reveal()+"\n"); err != nil {
		return "", "", fmt.Errorf("token file: %w", err)
	}
	return name, warning, b.store.AddToken(ctx, token)
}

// firstToken is the name of the tokens that were made for this data folder's
// file. Backends that share a database have a file each.
func (b *backend) firstToken() string { return "first of " + b.self.ID }

// revokeFirst revokes what was in the file before: nobody has it any more, or
// somebody who should not.
func (b *backend) revokeFirst(ctx context.Context) error {
	tokens, err := b.store.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Name == b.firstToken() && t.Scope == ktrdr.ScopeAdmin && t.RevokedAt.IsZero() {
			if err := b.store.RevokeToken(ctx, t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutQuery is a location that may be shown.
func withoutQuery(location string) string {
	shown, _, _ := strings.Cut(location, "?")
	return shown
}
