package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/report"
)

// A file is a view that can be sent: the same templates inside another layout.
//
//	GET /night, as a reader who may change nothing
//	  └─> fragment ──> parts that a browser loads later, in their places
//	        └─> without forms, buttons, and links to other pages ──> layout "file"
//
// It holds its style sheet, and its policy forbids everything else: no script
// runs and no host is asked.

// MaxFile is the largest size of a file in bytes.
const MaxFile = 1 << 20

// WriteReport writes what happened in a span of time, or in a run, as one HTML
// file. Its errors have the codes of the API.
func WriteReport(ctx context.Context, c Config, w io.Writer, r api.ReportRequest) error {
	return writeFile(ctx, c, w, reportPath(r))
}

// WriteStrategy writes the page of a research as one HTML file. The beginning of an
// id is enough.
func WriteStrategy(ctx context.Context, c Config, w io.Writer, id string) error {
	return writeFile(ctx, c, w, strategyPath(id))
}

func strategyPath(id string) string { return "/strategies/" + url.PathEscape(id) }

func reportPath(r api.ReportRequest) string {
	q := url.Values{}
	for name, value := range map[string]string{"since": r.Since, "run": r.Run} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "/night?" + q.Encode()
}

// writeFile writes the view of a path. Of a Config it needs Lab and Version.
func writeFile(ctx context.Context, c Config, w io.Writer, path string) error {
	c.Log = slog.New(slog.DiscardHandler)
	p, err := New(c)
	if err != nil {
		return err
	}
	ctx = api.As(ctx, ktrdr.Token{Scope: ktrdr.ScopeRead}) // for the views; the server knows the client's own token
	html, err := p.file(ctx, path)
	if err != nil {
		return err
	}
	_, err = w.Write(html)
	return err
}

type (
	fileKey  struct{}
	smallKey struct{} // true: the file must be small
)

// filed is a view while it is written into a file.
type filed struct{ err error }

func fileOf(ctx context.Context) *filed {
	f, _ := ctx.Value(fileKey{}).(*filed)
	return f
}

// inFile reports whether a view is read for a file: it has no second page.
func inFile(ctx context.Context) bool { return fileOf(ctx) != nil }

// rows is how many rows a table has: those of a page, or all that a file has room for.
func rows(ctx context.Context, page, file int) int {
	if small, _ := ctx.Value(smallKey{}).(bool); inFile(ctx) && !small {
		return file
	}
	return page
}

// spanOf writes the span of a file. No run can be chosen in it, so it says which it
// shows.
func spanOf(told *report.Report, runs []ktrdr.Run) string {
	const layout = "Mon 2 Jan 2006, 15:04"
	span := told.From.UTC().Format(layout) + " to " + told.To.UTC().Format(layout) + " UTC"
	if told.Run == "" {
		return span
	}
	goal := ""
	for i := range runs {
		if runs[i].ID == told.Run && runs[i].Goal != "" {
			goal = ": " + clip(runs[i].Goal, 120)
		}
	}
	return span + ", run " + told.Run + goal
}

// fileFrame is what is around a view in a file.
type fileFrame struct {
	Title, Policy, Version string
	Style                  template.CSS
	Written                time.Time
	Body                   template.HTML
	Small                  bool // parts are left out
}

// file renders the view of a path into a file. If it would be too large, it has the
// tables of a page and no conversation.
func (p *Pages) file(ctx context.Context, path string) ([]byte, error) {
	html, err := p.layOut(ctx, path, false)
	if err == nil && len(html) > MaxFile {
		html, err = p.layOut(ctx, path, true)
	}
	if err == nil && len(html) > MaxFile {
		err = ktrdr.Errorf(ktrdr.CodeTooLarge, "the file would have %d kB, and a file has at most %d kB", len(html)>>10, MaxFile>>10)
	}
	return html, err
}

func (p *Pages) layOut(ctx context.Context, path string, small bool) ([]byte, error) {
	ctx = context.WithValue(ctx, smallKey{}, small)
	body, err := p.fragment(ctx, path)
	if err != nil {
		return nil, err
	}
	s := sheet{load: func(path string) ([]byte, error) { return p.fragment(ctx, path) }, small: small}
	if err := s.take(body); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = p.templates.ExecuteTemplate(&out, "file", fileFrame{
		Title: s.title(), Policy: filePolicy, Version: p.version, Style: fileStyle, Written: p.now().UTC(), Small: small,
		Body: template.HTML(s.out.String()), //nolint:gosec // rendered by a template
	})
	return out.Bytes(), err
}

// fragment renders the view of a path without a layout.
func (p *Pages) fragment(ctx context.Context, path string) ([]byte, error) {
	f := &filed{}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, fileKey{}, f), http.MethodGet, path, nil) //nolint:gosec // to our own mux
	if err != nil {
		return nil, err
	}
	r.Header.Set("Ktrdr-Fragment", "1")
	a := &answered{header: http.Header{}}
	p.mux.ServeHTTP(a, r)
	return a.body.Bytes(), f.err
}

// answered is the answer of a view.
type answered struct {
	header http.Header
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.header }
func (a *answered) WriteHeader(int)             {}
func (a *answered) Write(b []byte) (int, error) { return a.body.Write(b) }

var fileStyle, filePolicy = readFileStyle()

// readFileStyle reads the style sheet of the pages and of files, and makes the
// policy that allows it and nothing else.
func readFileStyle() (template.CSS, string) {
	own, err := files.ReadFile("assets/file.css")
	if err != nil {
		panic(err) // it is embedded
	}
	css, err := joined(files, ownAssets["page.css"])
	if err != nil {
		panic(err) // the same
	}
	css = squeeze(append(css, own...))
	sum := sha256.Sum256(css)
	return template.CSS(css), //nolint:gosec // it is ours
		"default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'none'; base-uri 'none'"
}
