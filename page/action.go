package page

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// action is a button. Each does what a command does, which can be copied.
type action struct {
	Name    string
	Path    string // where it is sent
	Fields  []field
	Command string // that does the same
	Ask     string // the question before it is done; empty: none
	Main    bool   // the one that is most wanted
}

// may reports whether the browser may change anything. A file changes nothing.
func may(ctx context.Context) bool {
	t, _ := api.Caller(ctx)
	return t.Scope == ktrdr.ScopeAdmin && !inFile(ctx)
}

// act answers a form that changes something. do returns where to go then. A form
// says by the field "back" that it wants to return to the page that it is on.
func (p *Pages) act(do func(context.Context, *http.Request) (to string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := api.Caller(r.Context()); !ok {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		to, err := do(r.Context(), r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		if back := r.PostFormValue("back"); localPath(back) {
			to = back
		}
		http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // to is a path of this server: see localPath
	}
}

// localPath reports whether a text is a path of this server, and nothing that a
// browser would take for another host.
func localPath(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host == "" && u.Scheme == "" && strings.HasPrefix(text, "/") &&
		!strings.HasPrefix(text, "//") && !strings.Contains(text, `\`)
}
