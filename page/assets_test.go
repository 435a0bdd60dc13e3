package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// npm are the files that `make assets` copies.
func npm() fstest.MapFS {
	files := fstest.MapFS{"README.md": {Data: []byte("Charts from npm")}}
	for _, name := range slices.Concat(chartAssets, licences) {
		files[name] = &fstest.MapFile{Data: []byte("text of " + name)}
	}
	return files
}

func pagesWith(t *testing.T, charts fstest.MapFS) *Pages {
	t.Helper()
	p, err := New(Config{Charts: charts})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Pages) get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	p.ServeHTTP(w, r)
	return w
}

func unpacked(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAssets_StayWithinTheirBudgets(t *testing.T) {
	a, err := readAssets(fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	size := func(names ...string) (n int) {
		for _, name := range names {
			n += len(a.byHash[strings.TrimPrefix(a.path(name), "/assets/")].packed())
		}
		return n
	}
	for kind, is := range map[string]struct{ size, most int }{
		"scripts":      {size("page.js", "live.js", "theme.js"), 8 << 10},
		"style sheets": {size("page.css"), 6 << 10},
	} {
		if t.Logf("%s: %d bytes", kind, is.size); is.size == 0 || is.size > is.most {
			t.Errorf("the %s have %d bytes packed, want at most %d", kind, is.size, is.most)
		}
	}
}

func TestAssets_ServesTheChartsThatZoomWithTheirLicences(t *testing.T) {
	p := pagesWith(t, npm())
	for _, name := range chartAssets {
		w := p.get(p.assets.path(name))
		if got := unpacked(t, w); got != "text of "+name || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %q, kept %q", name, w.Code, got, w.Header().Get("Cache-Control"))
		}
	}
	w := p.get("/assets/licences")
	got := unpacked(t, w)
	for _, name := range licences {
		if !strings.Contains(got, "text of "+name) {
			t.Errorf("the licences lack %s:\n%s", name, got)
		}
	}
	if kept := w.Header().Get("Cache-Control"); kept != "no-cache" {
		t.Errorf("the licences are kept: %q", kept)
	}
}

func TestAssets_AreAllOrNone(t *testing.T) {
	without := map[string]fstest.MapFS{"nothing": {"README.md": {Data: []byte("Charts from npm")}}}
	for name := range npm() {
		if name != "README.md" {
			without[name] = npm()
			delete(without[name], name)
		}
	}
	for missing, charts := range without {
		p := pagesWith(t, charts)
		if p.assets.charts || p.assets.path("uplot.js") != "" || p.get("/assets/licences").Code != http.StatusNotFound {
			t.Errorf("without %s there are charts at %q", missing, p.assets.path("uplot.js"))
		}
	}
}

func TestFooter_SaysWhetherChartsZoom(t *testing.T) {
	const missing, notice = "Built without zoomable charts", "TradingView Lightweight Charts™ Copyright"
	const link = `href="https://www.tradingview.com/"`
	for name, is := range map[string]struct {
		charts fstest.MapFS
		has    []string
		lacks  []string
	}{
		"with":    {npm(), []string{notice, link, `href="/assets/licences"`}, []string{missing}},
		"without": {fstest.MapFS{}, []string{missing}, []string{notice, link, "licences"}},
	} {
		p := pagesWith(t, is.charts)
		w := httptest.NewRecorder()
		p.render(w, httptest.NewRequest(http.MethodGet, "/", nil), http.StatusOK, "Test", "failure", "text")
		for _, text := range is.has {
			if !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s the charts a page lacks %q", name, text)
			}
		}
		for _, text := range is.lacks {
			if strings.Contains(w.Body.String(), text) {
				t.Errorf("%s the charts a page has %q", name, text)
			}
		}
	}
}

func TestSqueeze_KeepsWhatAStyleSheetSays(t *testing.T) {
	for css, want := range map[string]string{
		"/* a */\na, b > c { color: red; }\n":               "a,b > c{color:red}",
		".a { content: \"x ;  y /* z */\" }":                `.a{content:"x ;  y /* z */"}`,
		"a :hover { margin: 0 -1px }":                       "a :hover{margin:0 -1px}",
		"@media (max-width: 9px) {\n  .a { top: 1px }\n}\n": "@media (max-width:9px){.a{top:1px}}",
		".a { width: calc(1px + 2px) }":                     ".a{width:calc(1px + 2px)}",
	} {
		if got := string(squeeze([]byte(css))); got != want {
			t.Errorf("%s becomes %s, want %s", css, got, want)
		}
	}
}

func TestSqueeze_KeepsWhatAScriptDoes(t *testing.T) {
	for js, want := range map[string]string{
		"// a\n  const a = (b) => c; // d\n":                    "const a=(b)=>c;\n",
		"f(\"a = b, c\", `x ; y`, { a: 1 });\n":                 "f(\"a = b, c\",`x ; y`,{a:1});\n",
		"a = b ? `x ${c > 0 ? `, y ${d} z` : \"\"} , e` : f;\n": "a=b?`x ${c > 0 ? `, y ${d} z` : \"\"} , e`:f;\n",
		"a(\"b\"); // it's \"c\" , d\n":                         "a(\"b\");\n",
		"a = b + +c - d;\n\nreturn a / 2;\n":                    "a=b + +c - d;\nreturn a / 2;\n",
		"go(\"https://x/\"); // the place, of it\n":             "go(\"https://x/\");\n",
	} {
		if got := string(squeezeScript([]byte(js))); got != want {
			t.Errorf("%s becomes %s, want %s", js, got, want)
		}
	}
}
