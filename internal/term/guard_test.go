package term

import (
	"os"
	"path/filepath"
	"testing"
)

// A character whose bytes come in several writes is a character.
func TestGuard_SeesCharactersThatComeInPieces(t *testing.T) {
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	g := &guarded{file: said, terminal: true}
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
