package market

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// kept writes a series as earlier versions did, and makes it the current one.
func kept(t *testing.T, dir, folder string, b *Bars) string {
	t.Helper()
	data, err := os.ReadFile(written(t, b))
	if err != nil {
		t.Fatal(err)
	}
	h := b.Hash()
	name := hex.EncodeToString(h[:])
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, folder, name+Suffix)
	for file, content := range map[string][]byte{path: data, filepath.Join(dir, folder, currentName): []byte(name + "\n")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func openLibrary(t *testing.T, dir string) *Library {
	t.Helper()
	l, err := OpenLibrary(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestLibrary_ListsTheCurrentSeriesLast(t *testing.T) {
	dir := t.TempDir()
	var want []Vintage
	for i, bars := range []int{100, 150, 120} {
		b := Synth(SynthConfig{Symbol: "EUR_USD", Bars: bars, Seed: 1})
		want = append(want, Vintage{"EUR_USD", H1, kept(t, dir, "EUR_USD_1h", b), i == 2})
	}
	if want[0].Path > want[1].Path {
		want[0], want[1] = want[1], want[0]
	}
	month := Synth(SynthConfig{Symbol: "EUR_USD", Timeframe: Mo1, Bars: 20, Seed: 1})
	want = append(want, Vintage{"EUR_USD", Mo1, kept(t, dir, "EUR_USD_1mo", month), true})
	for _, other := range []string{"notes", "EUR_USD_7h", "-x_1h"} { // not folders of a series
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l := openLibrary(t, dir)
	if got, err := l.Vintages(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want\n%+v", got, err, want)
	}
	if err := os.Remove(filepath.Join(dir, "EUR_USD_1mo", currentName)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Vintages(); err != nil || got[3].Current {
		t.Errorf("%+v, %v, want that no month is current", got, err)
	}
}

func TestLibrary_DoesNotFollowLinksOutOfItsFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	kept(t, outside, "AAA_1h", Synth(SynthConfig{Symbol: "AAA", Bars: 10}))
	if err := os.Symlink(filepath.Join(outside, "AAA_1h"), filepath.Join(dir, "AAA_1h")); err != nil {
		t.Fatal(err)
	}
	if got, err := openLibrary(t, dir).Vintages(); err != nil || len(got) > 0 {
		t.Errorf("%v, %v, want that nothing outside the library is listed", got, err)
	}
}

func TestLibrary_ForgetsAFolderWithoutBars(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	path := kept(t, dir, "AAA_1h", Synth(SynthConfig{Symbol: "AAA", Bars: 10}))
	if err := os.WriteFile(filepath.Join(dir, "AAA_1h", tempPrefix+"x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLibrary(t, dir)
	if gone, err := l.Forget("AAA", H1); gone || err != nil {
		t.Errorf("%v, %v: the folder holds bars", gone, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if gone, err := l.Forget("AAA", H1); !gone || err != nil {
		t.Errorf("%v, %v, want that the library is gone", gone, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the empty library is still there")
	}
}
