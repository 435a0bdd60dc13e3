package chaos

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"os"
)

// Leaks lists where a secret is to be found that should be nowhere: in a file of
// the lab, or in what the API tells.
func (l *Lab) Leaks(secret string) (places []string) {
	l.t.Helper()
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := root.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(secret)) {
			places = append(places, path)
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, path := range []string{"/metrics", "/api/v1/health", "/api/v1/operations?limit=1000", "/api/v1/breakers", "/api/v1/breakers/history", "/api/v1/agent/models", "/api/v1/agent/status", "/api/v1/degradation"} {
		req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "http://"+l.addr+path, nil)
		if err != nil {
			l.t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			l.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			l.t.Fatalf("%s: %d %v", path, res.StatusCode, err)
		}
		if bytes.Contains(text, []byte(secret)) {
			places = append(places, path)
		}
	}
	return places
}
