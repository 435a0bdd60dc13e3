package page

import (
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
	kind string
	body []byte
}

func readAssets() (map[string]asset, map[string]string) {
	byHash, names := map[string]asset{}, map[string]string{}
	entries, err := fs.ReadDir(files, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, e := range entries {
		body, err := files.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		ext := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}[ext]
		byHash[name], names[e.Name()] = asset{kind, body}, "/assets/"+name
	}
	return byHash, names
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
	_, _ = w.Write(a.body) // the browser has gone
}
