package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

const (
	linkLasts    = time.Minute // that a token makes for itself
	sessionLasts = 30 * 24 * time.Hour
)

// Sessions is what signing in needs of the store.
type Sessions interface {
	ktrdr.Sessions
	TokenByHash(ctx context.Context, h ktrdr.Hash) (ktrdr.Token, error)
}

func hashOf(secret string) ktrdr.Hash { return sha256.Sum256([]byte(secret)) }

// cookieName is bound to the host under TLS: the browser then refuses one that
// another host or a plain connection set.
func (p *Pages) cookieName(r *http.Request) string {
	if p.secure(r) {
		return "__Host-ktrdr"
	}
	return "ktrdr"
}

// secure reports whether the browser speaks TLS, with this server or with a proxy
// in front of it.
func (p *Pages) secure(r *http.Request) bool { return r.TLS != nil || p.proxied }

func (p *Pages) setCookie(w http.ResponseWriter, r *http.Request, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // a browser would not send a Secure cookie over plain HTTP, which is for loopback
		Name: p.cookieName(r), Value: value, Path: "/", MaxAge: int(lasts.Seconds()),
		HttpOnly: true, Secure: p.secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// Token returns the token that a browser is signed in with; CodeUnauthorized.
func (p *Pages) Token(r *http.Request) (ktrdr.Token, error) {
	c, err := r.Cookie(p.cookieName(r))
	if err != nil {
		return ktrdr.Token{}, errSignedOut
	}
	token, err := p.sessions.SessionToken(r.Context(), hashOf(c.Value))
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return ktrdr.Token{}, errSignedOut
	}
	return token, err
}

var errSignedOut = ktrdr.Errorf(ktrdr.CodeUnauthorized, "you are not signed in")

// login is the page that signs in. A link shows it with its code: the code is
// spent by the button, so that a preview of the link does not spend it.
type login struct {
	Code  string
	Wrong string
}

func (p *Pages) showLogin(w http.ResponseWriter, r *http.Request) {
	p.render(w, r, http.StatusOK, "Sign in", "login", login{Code: r.URL.Query().Get("code")})
}

// signIn spends a link, or takes a token. The session is always a new one: a
// cookie that the browser sent before means nothing afterwards.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request) {
	code, secret := r.PostFormValue("code"), strings.TrimSpace(r.PostFormValue("token"))
	if code == "" {
		var err error
		if code, err = p.linkFor(r.Context(), secret); err != nil {
			p.refuseLogin(w, r, err)
			return
		}
	}
	session := rand.Text() + rand.Text()
	if _, err := p.sessions.SpendLink(r.Context(), hashOf(code), hashOf(session), sessionLasts); err != nil {
		p.refuseLogin(w, r, err)
		return
	}
	p.setCookie(w, r, session, sessionLasts)
	http.Redirect(w, r, "/night", http.StatusSeeOther)
}

// linkFor makes a link for a token that was typed in.
func (p *Pages) linkFor(ctx context.Context, secret string) (string, error) {
	token, err := p.sessions.TokenByHash(ctx, hashOf(secret))
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound || err == nil && token.Scope == ktrdr.ScopeWorker {
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "this is not a token for people, or it was revoked; `ktrdr token create` makes one")
	}
	if err != nil {
		return "", err
	}
	code := rand.Text()
	return code, p.sessions.AddLink(ctx, hashOf(code), token.ID, linkLasts)
}

func (p *Pages) refuseLogin(w http.ResponseWriter, r *http.Request, err error) {
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		p.fail(w, r, err)
		return
	}
	p.render(w, r, http.StatusUnauthorized, "Sign in", "login", login{Wrong: err.Error()})
}

func (p *Pages) signOut(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(p.cookieName(r)); err == nil {
		if err := p.sessions.EndSession(r.Context(), hashOf(c.Value)); err != nil {
			p.fail(w, r, err)
			return
		}
	}
	p.setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// showSession answers 204 while the browser is signed in, and 401 afterwards. The
// script asks it after the server was lost.
func (p *Pages) showSession(w http.ResponseWriter, r *http.Request) {
	if _, ok := api.Caller(r.Context()); !ok {
		p.fail(w, r, errSignedOut)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
