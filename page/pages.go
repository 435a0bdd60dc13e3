package page

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// Source is what the pages show.
type Source interface {
	Report(ctx context.Context, q report.Query) (report.Report, error)
	Search(ctx context.Context, q report.Query) (report.Search, error)
	Leaderboard(ctx context.Context, q report.LeaderboardQuery) (report.Leaderboard, error)
	Status(ctx context.Context, waiting int) (research.Status, error)
}

// Config is what pages are made from.
type Config struct {
	Source  Source // required
	Log     *slog.Logger
	Version string
}

// Pages answers the requests of browsers.
type Pages struct {
	source    Source
	log       *slog.Logger
	version   string
	templates *template.Template
	mux       *http.ServeMux
	now       func() time.Time
}

// New makes the pages.
func New(c Config) (*Pages, error) {
	p := &Pages{source: c.Source, log: c.Log, version: c.Version, mux: http.NewServeMux(), now: time.Now}
	var err error
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"asset": assetPath, "count": count, "time": func(t time.Time, layout string) string { return t.UTC().Format(layout) },
		"hatch": func() template.HTML { return chart.Hatch },
	}).ParseFS(files, "views/*.html")
	if err != nil {
		return nil, err
	}
	p.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/night", http.StatusFound) })
	p.mux.HandleFunc("GET /night", p.view("Night", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readNight(ctx, readNightQuery(r.URL.Query()))
	}))
	p.mux.HandleFunc("GET /assets/{name}", serveAsset)
	return p, nil
}

func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	p.mux.ServeHTTP(w, r)
}

// frame is what is around every view.
type frame struct {
	Title   string
	Nav     []place
	Now     time.Time
	Version string
	Body    template.HTML
}

type place struct {
	Name, Path string
	Here       bool
}

// view answers with a template of the same name, in lower case.
func (p *Pages) view(title string, read func(context.Context, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := read(r.Context(), r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		var body bytes.Buffer
		if err := p.templates.ExecuteTemplate(&body, "night", v); err != nil {
			p.fail(w, r, err)
			return
		}
		f := frame{Title: title, Now: p.now(), Version: p.version, Body: template.HTML(body.String())} //nolint:gosec // rendered by a template
		for _, at := range []place{{Name: "Night", Path: "/night"}} {
			at.Here = at.Name == title
			f.Nav = append(f.Nav, at)
		}
		var out bytes.Buffer
		if err := p.templates.ExecuteTemplate(&out, "layout", f); err != nil {
			p.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(out.Bytes()) // the browser has gone
	}
}

func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	status := http.StatusInternalServerError
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeNotFound:
		status = http.StatusNotFound
	case ktrdr.CodeInvalid:
		status = http.StatusBadRequest
	case ktrdr.CodeUnavailable:
		status = http.StatusServiceUnavailable
	default:
		p.log.ErrorContext(r.Context(), "page failed", "path", r.URL.Path, "error", err)
	}
	http.Error(w, err.Error(), status)
}
