package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/export"
	"github.com/ktrdr/ktrdr/research"
)

func (p *Pages) routeExport() {
	p.mux.HandleFunc("GET /export/{file}", p.export)
}

// export answers with a file to keep: /export/night.html is the report, and
// /export/{id}.html, json, csv or yaml is of a research.
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
	read := map[string]func(context.Context, ktrdr.OperationID) (string, []byte, error){
		"html": p.strategyHTML, "json": p.strategyJSON, "csv": p.strategyCSV, "yaml": p.strategyYAML,
	}[ext]
	switch {
	case named == "night" && ext == "html":
		q := r.URL.Query()
		html, err := p.file(ctx, reportPath(api.ReportRequest{Since: q.Get("since"), Run: q.Get("run")}))
		return download{"ktrdr-report-" + p.now().UTC().Format("2006-01-02-1504") + ".html", kindHTML, html}, err
	case read == nil || named == "night":
		return download{}, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no file %.200q: a file ends with html, json, csv or yaml", file)
	}
	id, err := p.findResearch(ctx, named)
	if err != nil {
		return download{}, err
	}
	kind, body, err := read(ctx, id)
	return download{"ktrdr-" + id.Tail() + "." + ext, kind, body}, err
}

func (p *Pages) strategyHTML(ctx context.Context, id ktrdr.OperationID) (string, []byte, error) {
	html, err := p.file(ctx, strategyPath(string(id)))
	return kindHTML, html, err
}

// strategyJSON is what the API says of the result, and the verdict.
func (p *Pages) strategyJSON(ctx context.Context, id ktrdr.OperationID) (string, []byte, error) {
	r, _, err := p.lab.Results(ctx, id, nil, 0, "")
	if err != nil {
		return "", nil, err
	}
	f := facts{op: ktrdr.Operation{ID: id}}
	if err := f.readChildren(ctx, p.lab); err != nil {
		return "", nil, err
	}
	verdict, err := resultOf[research.Assessment](ctx, p.lab, f.state.AssessmentOperation)
	if err != nil {
		return "", nil, err
	}
	text, err := json.MarshalIndent(struct {
		api.Results
		Verdict *research.Assessment `json:"verdict,omitempty"`
	}{r, verdict}, "", "  ")
	return "application/json", append(text, '\n'), err
}

// strategyCSV is the trades of the test part.
func (p *Pages) strategyCSV(ctx context.Context, id ktrdr.OperationID) (string, []byte, error) {
	tables, err := export.Results(ctx, p.lab, id)
	if err != nil {
		return "", nil, err
	}
	for _, t := range tables {
		if t.Name() == "trades" {
			var out bytes.Buffer
			err := export.WriteCSV(&out, t)
			return "text/csv; charset=utf-8", out.Bytes(), err
		}
	}
	return "", nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has not traded", id)
}

func (p *Pages) strategyYAML(ctx context.Context, id ktrdr.OperationID) (string, []byte, error) {
	f, err := p.readFacts(ctx, id)
	if err != nil {
		return "", nil, err
	}
	text := cmp.Or(f.state.Strategy, f.note.yaml)
	if text == "" {
		return "", nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has no strategy yet", id)
	}
	return "application/yaml", []byte(text), nil
}

// downloads are the links to the files of a research.
func (f *facts) downloads() []link {
	at := "/export/" + f.op.ID.Tail()
	list := []link{{"Download report", at + ".html"}}
	if f.ended() {
		list = append(list, link{"JSON", at + ".json"})
	}
	if f.backtest != nil && f.op.Status == ktrdr.Completed {
		list = append(list, link{"Trades as CSV", at + ".csv"})
	}
	if cmp.Or(f.state.Strategy, f.note.yaml) != "" {
		list = append(list, link{"YAML", at + ".yaml"})
	}
	return list
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
