package market

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openLibrary(t *testing.T, dir string) *Library {
	t.Helper()
	l, err := OpenLibrary(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLibrary_FindsTheNewestByNameAndAllByHash(t *testing.T) {
	l := openLibrary(t, filepath.Join(t.TempDir(), "data"))
	older := Synth(SynthConfig{Symbol: "EUR_USD", Bars: 100, Seed: 1})
	newer := Synth(SynthConfig{Symbol: "EUR_USD", Bars: 150, Seed: 1})
	minute := Synth(SynthConfig{Symbol: "EUR_USD", Timeframe: M1, Bars: 50, Seed: 1})
	month := Synth(SynthConfig{Symbol: "EUR_USD", Timeframe: Mo1, Bars: 20, Seed: 1})
	for _, b := range []*Bars{older, newer, minute, month} {
		e, err := l.Import(b)
		if err != nil {
			t.Fatal(err)
		}
		if e.Hash != b.Hash() || e.Bars != b.Len() || e.First != b.Time[0] || e.Last != b.Time[b.Len()-1] || e.Symbol != "EUR_USD" {
			t.Errorf("entry %+v", e)
		}
	}
	for _, want := range []*Bars{newer, minute, month} {
		got, c, err := l.Get("EUR_USD", want.Timeframe)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		c.Close()
	}
	got, c, err := l.ByHash(older.Hash())
	if err != nil || got.Len() != 100 {
		t.Fatalf("the older series: %v", err)
	}
	c.Close()
	list, err := l.List()
	if err != nil || len(list) != 3 || list[0].Timeframe != H1 || list[1].Timeframe != M1 || list[2].Timeframe != Mo1 {
		t.Errorf("list %+v, %v", list, err)
	}
	path, err := l.Path("EUR_USD", H1)
	if err != nil || path != list[0].Path {
		t.Errorf("path %s (%v), want %s", path, err, list[0].Path)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestLibrary_SaysWhatItDoesNotHave(t *testing.T) {
	l := openLibrary(t, t.TempDir())
	if _, _, err := l.Get("EURUSD", H1); !errors.Is(err, ErrNoData) {
		t.Errorf("Get: %v", err)
	}
	if _, err := l.Path("EURUSD", H1); !errors.Is(err, ErrNoData) {
		t.Errorf("Path: %v", err)
	}
	if _, _, err := l.ByHash([32]byte{1}); !errors.Is(err, ErrNoData) {
		t.Errorf("ByHash: %v", err)
	}
	for _, symbol := range []string{"", "../etc", "a/b", ".hidden", "-x", "EUR USD", "EURUSD\x00", strings.Repeat("A", 33), "Ä"} {
		if _, _, err := l.Get(symbol, H1); err == nil || errors.Is(err, ErrNoData) {
			t.Errorf("symbol %q: %v", symbol, err)
		}
	}
	if _, _, err := l.Get("EURUSD", "7h"); err == nil || errors.Is(err, ErrNoData) {
		t.Errorf("timeframe 7h: %v", err)
	}
}

func TestLibrary_RefusesASymbolThatDiffersByCapitals(t *testing.T) {
	l := openLibrary(t, t.TempDir())
	if _, err := l.Import(Synth(SynthConfig{Symbol: "EURUSD", Bars: 10})); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Import(Synth(SynthConfig{Symbol: "eurusd", Bars: 10})); err == nil || !strings.Contains(err.Error(), "use that spelling") {
		t.Errorf("err = %v", err)
	}
}

func TestLibrary_ShowsTheGoodBesideTheDamaged(t *testing.T) {
	dir := t.TempDir()
	l := openLibrary(t, dir)
	for _, s := range []string{"AAA", "BBB", "CCC"} {
		if _, err := l.Import(Synth(SynthConfig{Symbol: s, Bars: 10})); err != nil {
			t.Fatal(err)
		}
	}
	path, err := l.Path("BBB", H1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "CCC_1h", currentName), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "DDD_1h"), 0o700); err != nil { // an import that got no further
		t.Fatal(err)
	}
	list, err := l.List()
	if len(list) != 1 || list[0].Symbol != "AAA" {
		t.Errorf("list %+v", list)
	}
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), filepath.Join("CCC_1h", currentName)) {
		t.Errorf("err = %v", err)
	}
}

func TestLibrary_GetRefusesDamage(t *testing.T) {
	l := openLibrary(t, t.TempDir())
	e, err := l.Import(Synth(SynthConfig{Symbol: "AAA", Bars: 30}))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-100] ^= 1
	if err := os.WriteFile(e.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Get("AAA", H1); err == nil || !strings.Contains(err.Error(), "it is damaged; import the data again") {
		t.Errorf("err = %v, want that it is damaged and what to do", err)
	}
}

func TestLibrary_ByHashRefusesDamage(t *testing.T) {
	l := openLibrary(t, t.TempDir())
	b := Synth(SynthConfig{Symbol: "AAA", Bars: 10})
	e, err := l.Import(b)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	data[headerSize+130] ^= 1
	if err := os.WriteFile(e.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.ByHash(e.Hash); err == nil || !strings.Contains(err.Error(), "does not have the hash of its name") {
		t.Errorf("err = %v", err)
	}
	if _, err := l.Import(b); err != nil {
		t.Fatal(err)
	}
	if _, c, err := l.ByHash(e.Hash); err != nil {
		t.Errorf("after importing again: %v", err)
	} else {
		c.Close()
	}
}

func TestLibrary_DoesNotFollowLinksOutOfItsFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	other := openLibrary(t, outside)
	if _, err := other.Import(Synth(SynthConfig{Symbol: "AAA", Bars: 10})); err != nil {
		t.Fatal(err)
	}
	l := openLibrary(t, dir)
	if err := os.Symlink(filepath.Join(outside, "AAA_1h"), filepath.Join(dir, "AAA_1h")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Get("AAA", H1); err == nil {
		t.Error("a series outside the library was opened")
	}
}

func TestLibrary_SweepsWhatDeadWritersLeft(t *testing.T) {
	dir := t.TempDir()
	l := openLibrary(t, dir)
	b := Synth(SynthConfig{Symbol: "AAA", Bars: 10})
	if _, err := l.Import(b); err != nil {
		t.Fatal(err)
	}
	old, fresh := filepath.Join(dir, "AAA_1h", tempPrefix+"old"), filepath.Join(dir, "AAA_1h", tempPrefix+"fresh")
	for _, f := range []string{old, fresh} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Import(b); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old file is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("the file of a live writer was removed")
	}
}

// TestLibrary_TakesImportsFromTwoProcessesAtOnce runs this test binary twice
// against one library while this process reads it.
func TestLibrary_TakesImportsFromTwoProcessesAtOnce(t *testing.T) {
	if dir := os.Getenv("MARKET_IMPORT_INTO"); dir != "" {
		importMany(t, dir)
		return
	}
	dir := t.TempDir()
	var writers []*exec.Cmd
	for _, seed := range []string{"1", "2"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLibrary_TakesImportsFromTwoProcessesAtOnce$")
		cmd.Env = append(os.Environ(), "MARKET_IMPORT_INTO="+dir, "MARKET_SEED="+seed)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writers = append(writers, cmd)
	}
	done := make(chan error)
	go func() { done <- errors.Join(writers[0].Wait(), writers[1].Wait()) }()
	l := openLibrary(t, dir)
	read := func() {
		b, c, err := l.Get("EURUSD", H1)
		if errors.Is(err, ErrNoData) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := Check(b, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
			read()
		}
	}
	read()
	for _, seed := range []uint64{1, 2} {
		for n := range importRounds {
			b, c, err := l.ByHash(Synth(SynthConfig{Symbol: "EURUSD", Bars: 100 + n, Seed: seed}).Hash())
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			if b.Symbol != "EURUSD" {
				t.Errorf("symbol %s", b.Symbol)
			}
		}
	}
}

const importRounds = 20

func importMany(t *testing.T, dir string) {
	l := openLibrary(t, dir)
	seed := uint64(os.Getenv("MARKET_SEED")[0] - '0')
	for n := range importRounds {
		if _, err := l.Import(Synth(SynthConfig{Symbol: "EURUSD", Bars: 100 + n, Seed: seed})); err != nil {
			t.Fatal(err)
		}
	}
}
