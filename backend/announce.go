package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

// Announcement is what there is to tell about a backend that is ready.
type Announcement struct {
	URL      string          `json:"url"`
	PID      int             `json:"pid"`
	Data     string          `json:"data"`
	Store    ktrdr.StoreInfo `json:"store"`
	Blobs    string          `json:"blobs"`
	Workers  int             `json:"workers"`
	Agents   int             `json:"agents"`
	Models   []string        `json:"models,omitempty"`
	Token    string          `json:"token_file,omitempty"`
	Link     string          `json:"link"` // opens the page, and signs one browser in
	Warnings []string        `json:"warnings,omitempty"`

	// Requeued are the operations that backends ran when they died. Each runs
	// next in a child process.
	Requeued []ktrdr.OperationID `json:"requeued,omitempty"`
}

// Announce makes sure that there is a token, and tells what was started.
func (b *Backend) Announce(ctx context.Context) (Announcement, error) {
	info, err := b.store.Info(ctx)
	if err != nil {
		return Announcement{}, fmt.Errorf("database: %w", err)
	}
	said := Announcement{
		URL: b.url(), PID: os.Getpid(), Data: b.cfg.Data, Store: info, Blobs: WithoutQuery(b.cfg.BlobRoot()), Workers: b.cfg.Workers,
		Agents: b.cfg.Agents, Models: b.cfg.Models.Chain, Warnings: b.cfg.Models.gaps(b.models.models, b.Getenv), Requeued: b.engine.Requeued(),
	}
	if b.cfg.NoAuth {
		said.Link = said.URL + "/"
		said.Warnings = append(said.Warnings, "every user of this machine may use it (KTRDR_AUTH=none)")
	} else {
		var warning string
		if said.Token, warning, err = b.ensureToken(ctx); err != nil {
			return said, err
		}
		if said.Link, err = b.newLink(ctx, said.Token); err != nil {
			return said, err
		}
		if warning != "" {
			said.Warnings = append(said.Warnings, warning)
		}
	}
	if host, _, _ := net.SplitHostPort(b.cfg.Addr); !Loopback(host) && len(b.hosts()) == 0 {
		said.Warnings = append(said.Warnings, "only loopback names are answered: set KTRDR_HOSTS to the names others call this machine by")
	}
	return said, nil
}

func (b *Backend) url() string {
	scheme := "http"
	if b.cfg.UsesTLS() {
		scheme = "https"
	}
	return scheme + "://" + b.listener.Addr().String()
}

// ensureToken makes the first admin token, and another when the database does
// not accept the one in the folder: one that was revoked stays revoked. It
// returns the file's name, and a warning when its token was replaced.
func (b *Backend) ensureToken(ctx context.Context) (name, warning string, err error) {
	name = filepath.Join(b.cfg.Data, TokenFile)
	secret, err := ReadToken(name)
	switch {
	case err == nil:
		_, err = b.store.TokenByHash(ctx, httpapi.HashToken(secret))
		if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return name, "", err
		}
		warning = fmt.Sprintf("the token in %s was revoked, or is not one of this database; a new one is there now", name)
	case errors.Is(err, ErrNoToken):
		warning = fmt.Sprintf("%s held no token; a new one is there now", name)
	case !errors.Is(err, os.ErrNotExist):
		return "", "", err
	}
	if err := b.revokeFirst(ctx); err != nil {
		return "", "", fmt.Errorf("token file: %w", err)
	}
	secret, token := httpapi.NewToken(b.firstToken(), ktrdr.ScopeAdmin)
	// The file before the row: a token without a row is replaced at the next
	// start, a row without its secret would be of no use.
	if err := WriteOnce(name, secret.Reveal()+"\n"); err != nil {
		return "", "", fmt.Errorf("token file: %w", err)
	}
	return name, warning, b.store.AddToken(ctx, token)
}

// newLink makes a link that signs a browser in with the token in a file.
func (b *Backend) newLink(ctx context.Context, file string) (string, error) {
	secret, err := ReadToken(file)
	if err != nil {
		return "", err
	}
	token, err := b.store.TokenByHash(ctx, httpapi.HashToken(secret))
	if err != nil {
		return "", err
	}
	link, err := httpapi.NewLink(ctx, b.store, token.ID)
	return b.url() + link.Path, err
}

// firstToken is the name of the tokens that were made for this data folder's
// file. Backends that share a database have a file each.
func (b *Backend) firstToken() string { return "first of " + b.self.ID }

// revokeFirst revokes the token that was in the file before: it is lost, or a
// user has it who should not.
func (b *Backend) revokeFirst(ctx context.Context) error {
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

// WithoutQuery is a location that may be shown.
func WithoutQuery(location string) string {
	shown, _, _ := strings.Cut(location, "?")
	return shown
}
