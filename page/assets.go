package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed assets views
var files embed.FS

// fetched is the folder that `make assets` copies the charts from npm to. It has
// only a README where that was not done.
//
//go:embed npm
var fetched embed.FS

// assets are the files that pages load. A file that changed has another URL, and
// each is kept by the browser for ever.
type assets struct {
	byHash map[string]asset  // by its name with its hash
	paths  map[string]string // of each name
	charts bool              // those that zoom are among them
}

type asset struct {
	kind   string
	body   []byte
	packed func() []byte // by gzip, when first asked for: it would be a sixth of the work of a start
}

// ownAssets are the files of the page itself. Those of a folder are joined, in the
// order of their names: css/10-page.css and css/20-chart.css are page.css.
var ownAssets = map[string]string{
	"page.css": "assets/css/*.css", "page.js": "assets/js/*.js", "live.js": "assets/live.js", "theme.js": "assets/theme.js",
	"icon.svg": "assets/icon.svg",
}

// chartAssets are the files of the charts that zoom, and licences their licences.
var (
	chartAssets = []string{"lightweight-charts.js", "uplot.js", "uplot.css"}
	licences    = []string{"lightweight-charts.LICENSE", "uplot.LICENSE"}
)

// readAssets reads the files. npm holds those of the charts that zoom, or nothing.
func readAssets(npm fs.FS) (*assets, error) {
	a := &assets{byHash: map[string]asset{}, paths: map[string]string{}}
	for name, pattern := range ownAssets {
		body, err := joined(files, pattern)
		if err != nil {
			return nil, err
		}
		switch path.Ext(name) {
		case ".css":
			body = squeeze(body)
		case ".js":
			body = squeezeScript(body)
		}
		a.add(name, body)
	}
	return a, a.addCharts(npm)
}

func joined(from fs.FS, pattern string) ([]byte, error) {
	parts, err := fs.Glob(from, pattern)
	if err != nil {
		return nil, err
	}
	var body []byte
	for _, part := range parts {
		text, err := fs.ReadFile(from, part)
		if err != nil {
			return nil, err
		}
		body = append(body, text...)
	}
	return body, nil
}

// addCharts adds the charts that zoom with their licences, if all of them are
// there.
func (a *assets) addCharts(npm fs.FS) error {
	bodies := map[string][]byte{}
	for _, name := range slices.Concat(chartAssets, licences) {
		body, err := joined(npm, name)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return nil
		}
		bodies[name] = body
	}
	for _, name := range chartAssets {
		a.add(name, bodies[name])
	}
	var text bytes.Buffer
	for _, name := range licences {
		fmt.Fprintf(&text, "%s\n\n%s\n\n", strings.TrimSuffix(name, path.Ext(name)), bytes.TrimSpace(bodies[name]))
	}
	a.byHash["licences"] = newAsset("text/plain; charset=utf-8", text.Bytes())
	a.charts = true
	return nil
}

func newAsset(kind string, body []byte) asset {
	return asset{kind, body, sync.OnceValue(func() []byte { return pack(body, gzip.BestCompression) })}
}

func (a *assets) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	withHash := strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[ext]
	a.byHash[withHash], a.paths[name] = newAsset(kind, body), "/assets/"+withHash
}

// squeeze drops the comments of a style sheet, and the space that only people need.
// Texts in quotes stay as they are.
func squeeze(css []byte) []byte {
	var out bytes.Buffer
	for len(css) > 0 {
		switch c := css[0]; {
		case bytes.HasPrefix(css, []byte("/*")):
			_, css, _ = bytes.Cut(css[2:], []byte("*/"))
			continue
		case c == '"':
			end := bytes.IndexByte(css[1:], '"') + 2
			out.Write(css[:end])
			css = css[end:]
			continue
		case c == ' ' || c == '\n':
			css = bytes.TrimLeft(css, " \n")
			if last := out.Len() - 1; last >= 0 && len(css) > 0 && !strings.ContainsRune("{};:,", rune(out.Bytes()[last])) &&
				css[0] != '{' && css[0] != '}' {
				out.WriteByte(' ')
			}
			continue
		case c == '}' && bytes.HasSuffix(out.Bytes(), []byte(";")):
			out.Truncate(out.Len() - 1)
		}
		out.WriteByte(css[0])
		css = css[1:]
	}
	return out.Bytes()
}

// squeezeScript drops the lines of a script that are comments, and the space that
// only people need. Texts in quotes stay as they are. No script has a text of
// several lines, or a regular expression.
func squeezeScript(js []byte) []byte {
	var out []byte
	for line := range bytes.Lines(js) {
		if line = bytes.TrimSpace(line); len(line) == 0 || bytes.HasPrefix(line, []byte("//")) {
			continue
		}
		for len(line) > 0 {
			code, text := line, 0
			if quote := bytes.IndexAny(line, "\"'`"); quote >= 0 {
				code, text = line[:quote], textEnd(line[quote:])
			}
			if comment := bytes.Index(code, []byte("// ")); comment >= 0 {
				code, line = code[:comment], line[:comment]
				text = 0
			}
			out = append(out, needless.ReplaceAll(code, []byte("$1"))...)
			out = append(out, line[len(code):len(code)+text]...)
			line = line[len(code)+text:]
		}
		out = append(bytes.TrimRight(out, " "), '\n')
	}
	return out
}

// textEnd is the length of the text in quotes that js begins with. One in back
// quotes may have expressions with other texts inside.
func textEnd(js []byte) int {
	for i := 1; i < len(js); i++ {
		switch {
		case js[i] == js[0]:
			return i + 1
		case js[i] == '\\':
			i++
		case js[0] == '`' && bytes.HasPrefix(js[i:], []byte("${")):
			for i += 2; i < len(js) && js[i] != '}'; i++ {
				if bytes.IndexByte([]byte("\"'`"), js[i]) >= 0 {
					i += textEnd(js[i:]) - 1
				}
			}
		}
	}
	return len(js)
}

// needless is space beside a sign.
var needless = regexp.MustCompile(` ?([=<>{}()[\];,:?&|*]) ?`)

func pack(body []byte, level int) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, level) // the level is one of gzip's
	_, _ = w.Write(body)                     // memory does not fail
	_ = w.Close()
	return out.Bytes()
}

// path is where a file is served; "" if the program was built without it.
func (a *assets) path(name string) string { return a.paths[name] }

func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	file, ok := a.byHash[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	keep := "public, max-age=31536000, immutable"
	if name == "licences" { // its URL has no hash
		keep = "no-cache"
	}
	w.Header().Set("Cache-Control", keep)
	sendPacked(w, r, http.StatusOK, file.body, file.packed)
}

// sendPacked writes a body, packed if the browser can unpack it.
func sendPacked(w http.ResponseWriter, r *http.Request, status int, body []byte, packed func() []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = packed()
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // templates escaped what is HTML; an error means that the browser has gone
}
