package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed assets views
var files embed.FS

// assets maps the name with its hash to the file, and back: a file that changed
// has another URL, and each is kept by the browser for ever.
var assets, hashed = readAssets()

type asset struct {
	kind         string
	body, packed []byte // packed by gzip
}

// readAssets reads the files. Those of a folder are joined, in the order of
// their names: css/10-page.css and css/20-chart.css are page.css.
func readAssets() (map[string]asset, map[string]string) {
	byHash, names := map[string]asset{}, map[string]string{}
	add := func(name string, body []byte) {
		sum := sha256.Sum256(body)
		ext := path.Ext(name)
		withHash := strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[ext]
		byHash[withHash], names[name] = asset{kind, body, pack(body)}, "/assets/"+withHash
	}
	for name, pattern := range map[string]string{
		"page.css": "assets/css/*.css", "page.js": "assets/js/*.js", "live.js": "assets/live.js", "theme.js": "assets/theme.js",
		"icon.svg": "assets/icon.svg",
	} {
		parts, err := fs.Glob(files, pattern)
		if err != nil {
			panic(err) // the pattern is ours
		}
		var body []byte
		for _, part := range parts {
			text, err := files.ReadFile(part)
			if err != nil {
				panic(err) // it is embedded
			}
			body = append(body, text...)
		}
		add(name, body)
	}
	return byHash, names
}

func pack(body []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one of gzip's
	_, _ = w.Write(body)                                    // memory does not fail
	_ = w.Close()
	return out.Bytes()
}

// assetPath is where a file is served.
func assetPath(name string) string { return hashed[name] }

func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	sendPacked(w, r, a.body, a.packed)
}

// sendPacked writes a body, packed if the browser can unpack it.
func sendPacked(w http.ResponseWriter, r *http.Request, body, packed []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = packed
	}
	_, _ = w.Write(body) // an error means that the browser has gone
}
