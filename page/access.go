package page

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
)

// settingsView is the settings of the backend that answers.
type settingsView struct {
	Tabs     []tab
	Headline string
	Rows     []settingRow
}

type settingRow struct {
	Key, Env, Value, From, Default, Help string
	Changed                              bool
}

func (p *Pages) readSettings(ctx context.Context, _ *http.Request) (any, error) {
	all, err := client.Call(ctx, p.lab, api.Settings, api.None{})
	if err != nil {
		return nil, err
	}
	v := settingsView{Tabs: labTabs("/lab/settings")}
	changed := 0
	for _, s := range all {
		r := settingRow{Key: s.Key, Env: s.Env, Value: s.Value, From: s.From, Default: s.Default, Help: s.Help, Changed: s.Changed}
		if r.Value == "" {
			r.Value = missing
		}
		if s.Changed {
			changed++
		}
		v.Rows = append(v.Rows, r)
	}
	v.Headline = fmt.Sprintf("%d of %d settings are not the default.", changed, len(all))
	return v, nil
}

// tokensView is the tokens, and a secret or a link that was just made.
type tokensView struct {
	Tabs         []tab
	Headline     string
	Rows         []tokenRow
	Scopes       []option
	Secret, Name string // of a token that was just made; they are never shown again
	Link, Until  string
	Allowed      bool
	Signed       bool // signing in is needed, so a link is of use
}

type tokenRow struct {
	ID, Name, Scope, Created, Revoked string
	Revoke                            *action
}

func (p *Pages) readTokens(ctx context.Context) (tokensView, error) {
	v := tokensView{
		Tabs: labTabs("/lab/tokens"), Allowed: may(ctx), Signed: p.sessions != nil, Headline: "Tokens",
		Scopes: []option{
			{Value: string(ktrdr.ScopeRead), Name: "read: look at everything, change nothing", Chosen: true},
			{Value: string(ktrdr.ScopeWorker), Name: "worker: run operations on another machine"},
			{Value: string(ktrdr.ScopeAssistant), Name: "assistant: look and start work, without holdouts"},
			{Value: string(ktrdr.ScopeAdmin), Name: "admin: everything"},
		},
	}
	if !v.Allowed {
		v.Headline = "Tokens need an admin token."
		return v, nil
	}
	all, err := p.lab.Tokens(ctx)
	if err != nil {
		return v, err
	}
	me, _ := api.Caller(ctx)
	valid := 0
	for _, t := range all {
		r := tokenRow{ID: t.ID, Name: t.Name, Scope: string(t.Scope), Created: t.CreatedAt.UTC().Format(time.RFC3339)}
		if t.RevokedAt.IsZero() {
			valid++
			ask := fmt.Sprintf("Revoke the token %s? Every browser and program that uses it is signed out.", ktrdr.ToPrintable(t.Name))
			if t.ID == me.ID {
				ask += " You use it now."
			}
			r.Revoke = &action{Name: "Revoke", Path: "/lab/tokens/" + t.ID + "/revoke", Command: "ktrdr token revoke " + t.ID, Ask: ask}
		} else {
			r.Revoked = t.RevokedAt.UTC().Format(time.RFC3339)
		}
		v.Rows = append(v.Rows, r)
	}
	v.Headline = have(valid, "token", "is valid.", "are valid.")
	return v, nil
}

// makeToken makes a token and shows its secret in the answer, once: the secret is
// in no URL.
func (p *Pages) makeToken(w http.ResponseWriter, r *http.Request) {
	p.made(w, r, func(ctx context.Context, v *tokensView) error {
		name := strings.TrimSpace(r.PostFormValue("name"))
		if name == "" {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "give the token a name, to know it by")
		}
		secret, token, err := p.lab.CreateToken(ctx, name, ktrdr.Scope(r.PostFormValue("scope")))
		v.Secret, v.Name = secret.Reveal(), token.Name
		return err
	})
}

// makeLink makes a link that signs another browser in as the token of this one.
func (p *Pages) makeLink(w http.ResponseWriter, r *http.Request) {
	p.made(w, r, func(ctx context.Context, v *tokensView) error {
		link, err := client.Call(ctx, p.lab, api.CreateLink, api.None{})
		scheme := "http://"
		if r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") {
			scheme = "https://"
		}
		v.Link, v.Until = scheme+r.Host+link.Path, link.ExpiresAt.UTC().Format(time.RFC3339)
		return err
	})
}

// made makes something and shows it on the page of tokens.
func (p *Pages) made(w http.ResponseWriter, r *http.Request, do func(context.Context, *tokensView) error) {
	ctx := r.Context()
	if _, ok := api.Caller(ctx); !ok {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	var made tokensView
	if err := do(ctx, &made); err != nil {
		p.fail(w, r, err)
		return
	}
	v, err := p.readTokens(ctx)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	v.Secret, v.Name, v.Link, v.Until = made.Secret, made.Name, made.Link, made.Until
	p.render(w, r, http.StatusOK, "Tokens", "lab-tokens", v)
}
