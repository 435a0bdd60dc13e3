package page

import (
	"mime"
	"net/http"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

func (p *Pages) routeExport() {
	p.mux.HandleFunc("GET /export/{file}", p.export)
}

// export answers with a file to keep: /export/night.html is the report.
func (p *Pages) export(w http.ResponseWriter, r *http.Request) {
	if _, ok := api.Caller(r.Context()); !ok {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	f, err := p.exported(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", filePolicy) // of the file, if a browser shows it nevertheless
	h.Set("Content-Type", f.kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.name}))
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(f.body) // an error means that the browser has gone
}

// download is a file that a browser keeps.
type download struct {
	name, kind string
	body       []byte
}

const kindHTML = "text/html; charset=utf-8"

func (p *Pages) exported(r *http.Request) (download, error) {
	ctx, file := r.Context(), r.PathValue("file")
	named, ext, _ := cutLast(file, ".")
	if named == "night" && ext == "html" {
		q := r.URL.Query()
		span := api.ReportRequest{Since: q.Get("since"), Run: q.Get("run")}
		html, err := p.file(ctx, reportPath(span))
		return download{"ktrdr-report-" + p.now().UTC().Format("2006-01-02-1504") + ".html", kindHTML, html}, err
	}
	return download{}, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no file %.200s", file)
}

// exportOf is where the report of a span of time or of a run is, and the command
// that writes it.
func exportOf(r api.ReportRequest) (path, command string) {
	path, command = strings.Replace(reportPath(r), "/night", "/export/night.html", 1), "ktrdr report --html report.html"
	if r.Run != "" {
		command += " --run " + r.Run
	}
	if r.Since != "" {
		command += " --since " + r.Since
	}
	return path, command
}
