package library_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// The error of a damaged blob tells the user to import the bars again. That
// must mend it.
func TestPinBars_MendsADamagedBlob(t *testing.T) {
	dir := t.TempDir()
	blobs, err := blob.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blobs.Close() }()
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 300, Seed: 1})
	pinned, err := library.PinBars(t.Context(), blobs, bars, "")
	if err != nil {
		t.Fatal(err)
	}
	read := func() []byte {
		t.Helper()
		r, err := blobs.Open(t.Context(), pinned.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := read()
	var file string
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if info, statErr := os.Stat(path); statErr == nil && info.Mode().IsRegular() && info.Size() == int64(len(good)) {
			file = path
		}
		return err
	})
	if err != nil || file == "" {
		t.Fatal("the blob's file was not found", err)
	}
	for name, damage := range map[string][]byte{
		"other bytes": append(bytes.Repeat([]byte{7}, 4), good[4:]...),
		"cut off":     good[:100],
	} {
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := library.PinBars(t.Context(), blobs, bars, ""); err != nil || again != pinned {
			t.Errorf("%s: %+v, %v, want %+v", name, again, err, pinned)
		}
		if !bytes.Equal(read(), good) {
			t.Errorf("%s: the blob is still damaged", name)
		}
	}
}
