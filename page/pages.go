package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
)

// Config is what pages are made from.
type Config struct {
	// Lab is the API of the server. It is called as the token of the context.
	Lab      *client.Client // required
	Sessions Sessions       // nil: signing in is not needed
	Events   Events         // required
	Log      *slog.Logger   // required
	Proxied  bool           // a proxy in front of the server speaks TLS
	Version  string
	Charts   fs.FS // the charts that zoom, as npm has them; nil: those of the build
}

// Pages answers the requests of browsers.
type Pages struct {
	lab       *client.Client
	sessions  Sessions
	proxied   bool
	events    Events
	backend   string // names this life of the backend
	started   time.Time
	log       *slog.Logger
	version   string
	assets    *assets
	templates *template.Template
	mux       *http.ServeMux
	origin    *http.CrossOriginProtection
	now       func() time.Time
	shared    sharing
}

// New makes the pages.
func New(c Config) (*Pages, error) {
	p := &Pages{
		lab: c.Lab, sessions: c.Sessions, proxied: c.Proxied, events: c.Events, backend: rand.Text(), started: time.Now(),
		log: c.Log, version: c.Version, mux: http.NewServeMux(), now: time.Now,
		origin: http.NewCrossOriginProtection(),
	}
	if c.Charts == nil {
		c.Charts, _ = fs.Sub(fetched, "npm") // the name is valid
	}
	var err error
	if p.assets, err = readAssets(c.Charts); err != nil {
		return nil, err
	}
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"asset": p.assets.path, "count": count, "time": func(t time.Time, layout string) string { return t.UTC().Format(layout) },
		"rfc": func(t time.Time) string { return t.UTC().Format(time.RFC3339) }, "monthNames": monthNames,
		"coded": coded, "unbroken": unbroken, "hatch": func() template.HTML { return chart.Hatch },
	}).ParseFS(files, "views/*.html")
	if err != nil {
		return nil, err
	}
	p.route()
	return p, nil
}

// route says which path shows what.
func (p *Pages) route() {
	p.mux.Handle("GET /{$}", http.RedirectHandler("/night", http.StatusFound))
	p.mux.HandleFunc("GET /assets/{name}", p.assets.serve)
	p.mux.HandleFunc("GET /live", p.live)
	if p.sessions != nil {
		p.mux.HandleFunc("GET /login", p.showLogin)
		p.mux.HandleFunc("POST /login", p.signIn)
		p.mux.HandleFunc("POST /logout", p.signOut)
	}
	p.mux.HandleFunc("GET /session", p.showSession)
	p.mux.HandleFunc("/", p.view("Not found", "not-found", func(_ context.Context, r *http.Request) (any, error) {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no page at %.200s", r.URL.Path)
	}))
	p.routeOverview()
	p.routeBack()
	p.routeStart()
	p.routeStrategies()
	p.routePanel()
	p.routeCompare()
	p.routeOperations()
	p.routeData()
	p.routeLab()
	p.routeExport()
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers a browser. A request that changes something and comes from
// another site is refused before anything else.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address of a login has a secret in it
	if err := p.origin.Check(r); err != nil {
		http.Error(w, "this request comes from another site; open the page and try again", http.StatusForbidden)
		return
	}
	limit := int64(formLimit)
	if r.URL.Path == api.UploadPath && r.Method == http.MethodPost {
		limit += api.PutBlob.Limit
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	p.mux.ServeHTTP(w, r)
}

const formLimit = 1 << 20

// frame is what is around every view.
type frame struct {
	Title   string
	Nav     []place
	Here    string // path and query of the page
	Now     time.Time
	Version string
	Signed  bool // in, with a session that can be ended
	May     bool // change something
	Charts  bool // those that zoom
	Body    template.HTML
}

// place is an entry of the main menu. Its title is that of the views behind it.
type place struct {
	Name, Path string
	Here       bool
}

var nav = []place{
	{Name: "Night", Path: "/night"},
	{Name: "Strategies", Path: "/strategies"},
	{Name: "Compare", Path: "/compare"},
	{Name: "Operations", Path: "/operations"},
	{Name: "Data", Path: "/data"},
	{Name: "Lab", Path: "/lab"},
}

// view answers with a template, for a browser that is signed in.
func (p *Pages) view(title, name string, read func(context.Context, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := api.Caller(r.Context()); !ok {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		}
		content, err := p.shared.content(r, func() ([]byte, error) { //nolint:contextcheck // the request holds its context
			v, err := read(r.Context(), r)
			if err != nil {
				return nil, err
			}
			return p.content(name, v)
		})
		if err != nil {
			p.fail(w, r, err)
			return
		}
		p.frame(w, r, http.StatusOK, title, content)
	}
}

// render writes a template inside the frame.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, title, name string, v any) {
	content, err := p.content(name, v)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.frame(w, r, status, title, content)
}

// content is a template without the frame.
func (p *Pages) content(name string, v any) ([]byte, error) {
	var body bytes.Buffer
	if err := p.templates.ExecuteTemplate(&body, name, v); err != nil {
		return nil, err
	}
	return bytes.Map(printable, body.Bytes()), nil
}

// frame writes the content of a view inside what is around every view. A fragment
// is the content alone.
func (p *Pages) frame(w http.ResponseWriter, r *http.Request, status int, title string, content []byte) {
	if r.Header.Get("Ktrdr-Fragment") != "" {
		p.send(w, r, status, content)
		return
	}
	_, signed := api.Caller(r.Context())
	f := frame{
		Title: title, Here: r.URL.RequestURI(), Now: p.now(), Version: p.version, Signed: signed && p.sessions != nil, May: may(r.Context()),
		Charts: p.assets.charts, Body: template.HTML(content), //nolint:gosec // rendered by a template
	}
	if signed {
		f.Nav = slices.Clone(nav)
	}
	for i, at := range f.Nav {
		f.Nav[i].Here = strings.HasPrefix(r.URL.Path, at.Path)
	}
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, "layout", f); err != nil {
		p.fail(w, r, err)
		return
	}
	p.send(w, r, status, out.Bytes())
}

// printable replaces controls, and marks that turn the direction of the text around
// them. No template has one, so that each comes from outside.
func printable(r rune) rune {
	if !ktrdr.Printable(r) && r != '\n' && r != '\t' {
		return ' '
	}
	return r
}

func (p *Pages) send(w http.ResponseWriter, r *http.Request, status int, html []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	sendPacked(w, r, status, html, func() []byte { return pack(html, gzip.BestSpeed) })
}

func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	if f := fileOf(r.Context()); f != nil {
		f.err = err
		return
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	status, text := http.StatusInternalServerError, err.Error()
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeNotFound:
		status = http.StatusNotFound
	case ktrdr.CodeUnauthorized:
		status = http.StatusUnauthorized
	case ktrdr.CodeForbidden:
		status = http.StatusForbidden
	case ktrdr.CodeConflict, ktrdr.CodeNoCheckpoint, ktrdr.CodeMismatch:
		status = http.StatusConflict
	case ktrdr.CodeInvalid:
		status = http.StatusBadRequest
	case ktrdr.CodeTooLarge:
		status = http.StatusRequestEntityTooLarge
	case ktrdr.CodeUnavailable:
		status = http.StatusServiceUnavailable
	default:
		p.log.ErrorContext(r.Context(), "page failed", "path", r.URL.Path, "error", err)
		text = "Something went wrong in the server; its log has the details."
	}
	p.render(w, r, status, http.StatusText(status), "failure", text)
}
