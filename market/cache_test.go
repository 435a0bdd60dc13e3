package market

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHash_IsStable pins the byte layout: data pinned by hash must be found by
// every later version.
func TestHash_IsStable(t *testing.T) {
	h := twoBars.Hash()
	if got, want := hex.EncodeToString(h[:]), "b291427d1d205d12e0180ce0a214cd59c8d7c6d194723f3d0ecf14dab2d80197"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestHash_SeesEveryPart(t *testing.T) {
	seen := map[[32]byte]string{}
	try := func(name string, change func(b *Bars)) {
		b := Synth(SynthConfig{Symbol: "AB", Bars: 5000, Seed: 3}) // more than a buffer
		change(b)
		h := b.Hash()
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[h] = name
	}
	try("the series", func(*Bars) {})
	try("another symbol", func(b *Bars) { b.Symbol = "AC" })
	try("another timeframe", func(b *Bars) { b.Timeframe = H2 })
	try("a letter moved", func(b *Bars) { b.Symbol, b.Timeframe = "A", "B1h" })
	try("the first time", func(b *Bars) { b.Time[0]-- })
	try("the last volume", func(b *Bars) { b.Volume[4999]++ })
	try("a middle close", func(b *Bars) { b.Close[2500] += 1e-5 })
	try("one less", func(b *Bars) { *b = *b.Slice(0, 4999) })
	try("columns exchanged", func(b *Bars) { b.High, b.Low = b.Low, b.High })
}

func written(t testing.TB, b *Bars) string {
	t.Helper()
	var file bytes.Buffer
	if err := Encode(&file, b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x"+Suffix)
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFile_GivesBackWhatWasWritten(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 3000} {
		b := Synth(SynthConfig{Symbol: "GBP.USD_x-1", Timeframe: M15, Bars: n, Seed: 2})
		path := written(t, b)
		got, c, err := OpenVerified(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, got); diff != "" {
			t.Error(diff)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestFile_RefusesWhatIsNoSeries(t *testing.T) {
	unsorted := Synth(SynthConfig{Bars: 100})
	unsorted.Time[3], unsorted.Time[4] = unsorted.Time[4], unsorted.Time[3]
	nameless := Synth(SynthConfig{Bars: 100})
	nameless.Symbol = "../x"
	for name, b := range map[string]*Bars{"out of order": unsorted, "a path for a symbol": nameless, "no bars": {Symbol: "X", Timeframe: H1}} {
		if err := Encode(io.Discard, b); err == nil {
			t.Errorf("%s: written", name)
		}
	}
}

// TestFile_DamageIsASentence cuts the file at every length around its parts
// and changes each byte of the header, and bytes of the columns.
func TestFile_DamageIsASentence(t *testing.T) {
	complete, err := os.ReadFile(written(t, Synth(SynthConfig{Bars: 20, Seed: 4})))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.bars")
	try := func(name string, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, c, err := OpenVerified(path)
		if err == nil {
			c.Close()
			t.Errorf("%s: accepted %d bars", name, b.Len())
		} else if !strings.HasPrefix(err.Error(), "bars file "+path+": it") {
			t.Errorf("%s: %q is no sentence", name, err)
		}
	}
	for n := range len(complete) {
		if n < 300 || n%37 == 0 || n > len(complete)-10 {
			try("cut", complete[:n])
		}
	}
	try("longer", append(append([]byte{}, complete...), 0))
	for i := range headerSize {
		bad := append([]byte{}, complete...)
		bad[i] ^= 0x40
		try("header", bad)
	}
	for column := range 6 {
		bad := append([]byte{}, complete...)
		bad[headerSize+192*column+8] ^= 1
		try("column", bad)
	}
	if _, _, err := OpenVerified(filepath.Dir(path)); err == nil {
		t.Error("a folder was opened")
	}
	if _, _, err := OpenVerified(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v, want fs.ErrNotExist", err)
	}
}

func TestVerify_AFileCutShortMeanwhileIsASentence(t *testing.T) {
	path := written(t, Synth(SynthConfig{Bars: 20_000}))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, c, h, err := open(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if err := verify(b, h, path); err == nil || !strings.Contains(err.Error(), "cut short meanwhile") {
		t.Errorf("err = %v, want that it was cut short", err)
	}
}

func TestDecode_IsOpenVerifiedFromMemory(t *testing.T) {
	b := Synth(SynthConfig{Symbol: "EURUSD", Timeframe: H1, Bars: 21, Seed: 4})
	complete, err := os.ReadFile(written(t, b))
	if err != nil {
		t.Fatal(err)
	}
	for shift := range 8 { // wherever the bytes lie, also between two words
		data := append(make([]byte, shift), complete...)[shift:]
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, got); diff != "" {
			t.Error(diff)
		}
	}
	refuse := func(name string, data []byte) {
		if got, err := Decode(data); err == nil {
			t.Errorf("%s: accepted %d bars", name, got.Len())
		} else if !strings.HasPrefix(err.Error(), "bars file: it") {
			t.Errorf("%s: %q is no sentence", name, err)
		}
	}
	for n := range len(complete) {
		refuse("cut", complete[:n])
	}
	refuse("longer", append(append([]byte{}, complete...), 0))
	for i := range headerSize {
		bad := append([]byte{}, complete...)
		bad[i] ^= 0x40
		refuse("header", bad)
	}
	for column := range 6 {
		bad := append([]byte{}, complete...)
		bad[headerSize+192*column+8] ^= 1
		refuse("column", bad)
	}
}

func TestDecode_HoldsTheColumnsToTheRules(t *testing.T) {
	b := Synth(SynthConfig{Symbol: "EURUSD", Timeframe: H1, Bars: 9, Seed: 4})
	b.Time[3], b.Time[4] = b.Time[4], b.Time[3]
	var file bytes.Buffer
	if err := (&Encoding{b, headerOf(b, b.Hash())}).Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(file.Bytes()); err == nil {
		t.Error("bars out of order were accepted, since their hash is right")
	}
}
