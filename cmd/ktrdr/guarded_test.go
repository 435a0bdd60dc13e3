package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
)

// A character whose bytes come in several writes is a character.
func TestGuard_SeesCharactersThatComeInPieces(t *testing.T) {
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	g := &guarded{file: said, guard: true}
	const text = "\x1b[32mä\u202e…\u2069\u0085 日本\n"
	for i := range len(text) {
		if n, err := g.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	got, err := os.ReadFile(said.Name())
	if want := "\x1b[32mä … \u0020 日本\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestLog_IsSafeToShowOnATerminal(t *testing.T) {
	var log bytes.Buffer
	newLog(backend.Config{LogJSON: true}, false, &log).Warn("a\u202eb", "c", "\u2066")
	if !ktrdr.PlainText(strings.TrimSpace(log.String())) || !strings.Contains(log.String(), `a\u202eb`) {
		t.Errorf("log: %q", &log)
	}
}
