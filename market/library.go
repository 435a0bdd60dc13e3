package market

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// Library is a folder of series.
//
//	EURUSD_1h/
//	  3fa9….bars     a series as it once was imported
//	  77c0….bars     the same symbol later, with more bars
//	  current        the hash of the one to use now
//
// A run notes the hash of its data and finds the same bars by it for ever,
// whatever is imported since; so no file is changed or removed. Several
// processes may import and read at once: each file appears whole, and the last
// to import decides what is current.
type Library struct {
	root *os.Root
	dir  string
}

// ErrNoData means that the library has no such series.
var ErrNoData = errors.New("no such data")

// Entry is a series of the library.
type Entry struct {
	Symbol    string    `json:"symbol"`
	Timeframe Timeframe `json:"timeframe"`
	Hash      [32]byte  `json:"-"`
	Bars      int       `json:"bars"`
	First     int64     `json:"first"` // opening of the first bar, Unix seconds
	Last      int64     `json:"last"`  // opening of the last
	Size      int64     `json:"size"`  // of the file
	Path      string    `json:"path"`
}

// OpenLibrary opens the library in a folder and makes the folder if there is
// none.
func OpenLibrary(dir string) (*Library, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // prices are no secret
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Library{root, dir}, nil
}

// Close closes the library. Series opened from it stay open.
func (l *Library) Close() error { return l.root.Close() }

const currentName = "current"

// folder is the name of a symbol's folder. A month is 1mo there, since not
// every file system tells 1M from 1m.
func folder(symbol string, tf Timeframe) (string, error) {
	if err := CheckSymbol(symbol); err != nil {
		return "", err
	}
	if _, err := ParseTimeframe(string(tf)); err != nil {
		return "", err
	}
	if tf == Mo1 {
		return symbol + "_1mo", nil
	}
	return symbol + "_" + string(tf), nil
}

// ofFolder is the symbol and timeframe of a folder.
func ofFolder(name string) (symbol string, tf Timeframe, ok bool) {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return "", "", false
	}
	symbol, tf = name[:i], Timeframe(name[i+1:])
	if tf == "1mo" {
		tf = Mo1
	}
	again, err := folder(symbol, tf)
	return symbol, tf, err == nil && again == name
}

// Import stores a series and makes it the current one of its symbol and
// timeframe. The error is an InvalidError where the series breaks a rule.
func (l *Library) Import(b *Bars) (Entry, error) {
	e, err := l.importBars(b)
	if err != nil {
		return e, fmt.Errorf("import %s %s: %w", b.Symbol, b.Timeframe, err)
	}
	return e, nil
}

func (l *Library) importBars(b *Bars) (Entry, error) {
	dir, err := folder(b.Symbol, b.Timeframe)
	if err != nil {
		return Entry{}, err
	}
	if err := l.makeFolder(dir); err != nil {
		return Entry{}, err
	}
	if err := sweep(l.root, dir); err != nil {
		return Entry{}, err
	}
	h, err := store(l.root, dir, b)
	if err != nil {
		return Entry{}, err
	}
	err = replace(l.root, path.Join(dir, currentName), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%x\n", h.hash)
		return err
	})
	if err != nil {
		return Entry{}, err
	}
	return l.entry(dir, h.hash)
}

// makeFolder makes the folder of a symbol, unless another differs from it by
// case only: on some file systems they would be one.
func (l *Library) makeFolder(dir string) error {
	names, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Name() != dir && strings.EqualFold(n.Name(), dir) {
			return fmt.Errorf("the library has %s already, which differs from %s by capitals only; use that spelling", n.Name(), dir)
		}
	}
	if err := l.root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.Root{Root: l.root}.SyncDir(".")
}

// current is the hash of the current series in a folder.
func (l *Library) current(dir string) (hash [32]byte, err error) {
	text, err := l.root.ReadFile(path.Join(dir, currentName))
	if err != nil {
		return hash, err
	}
	b, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(b) != len(hash) {
		return hash, fmt.Errorf("%s does not hold a hash; import the data again", filepath.Join(l.dir, dir, currentName))
	}
	return [32]byte(b), nil
}

// entry describes the series with a hash in a folder.
func (l *Library) entry(dir string, hash [32]byte) (Entry, error) {
	name := path.Join(dir, fileName(hash))
	e := Entry{Hash: hash, Path: filepath.Join(l.dir, filepath.FromSlash(name))}
	f, err := l.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, fmt.Errorf("bars file %s is gone; import the data again", e.Path)
	}
	if err != nil {
		return e, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return e, err
	}
	h, err := readHeader(f, info.Size())
	if err != nil {
		return e, fmt.Errorf("bars file %s: %w", e.Path, err)
	}
	e.Symbol, e.Timeframe, e.Bars, e.Size = h.symbol, h.timeframe, h.bars, info.Size()
	if h.bars == 0 {
		return e, nil
	}
	var ends [2]int64
	for i, at := range []int64{headerSize, headerSize + 8*int64(h.bars-1)} {
		var b [8]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			return e, err
		}
		ends[i] = int64(binary.LittleEndian.Uint64(b[:]))
	}
	e.First, e.Last = ends[0], ends[1]
	return e, nil
}

// Damage is a series that cannot be read.
type Damage struct {
	Symbol    string
	Timeframe Timeframe
	Err       error // names the file and says what to do
}

// DamageError tells of the series of a library that cannot be read.
type DamageError struct{ Series []Damage }

// Error has a line for each.
func (e *DamageError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap gives the error of each.
func (e *DamageError) Unwrap() []error {
	errs := make([]error, len(e.Series))
	for i, d := range e.Series {
		errs[i] = d.Err
	}
	return errs
}

// List describes the current series, by symbol and timeframe as names sort. A
// DamageError tells of those that cannot be read; the others are listed all the
// same.
func (l *Library) List() ([]Entry, error) {
	names, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var damaged []Damage
	for _, n := range names {
		symbol, tf, ok := ofFolder(n.Name())
		if !ok || !n.IsDir() {
			continue
		}
		hash, err := l.current(n.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // an import that did not finish
		}
		var e Entry
		if err == nil {
			e, err = l.entry(n.Name(), hash)
		}
		if err != nil {
			damaged = append(damaged, Damage{symbol, tf, fmt.Errorf("%s %s: %w", symbol, tf, err)})
			continue
		}
		entries = append(entries, e)
	}
	if damaged != nil {
		return entries, &DamageError{damaged}
	}
	return entries, nil
}

// Get opens the current series of a symbol and timeframe, checked to its last
// byte; see OpenVerified. Where there is none the error is ErrNoData.
func (l *Library) Get(symbol string, tf Timeframe) (*Bars, io.Closer, error) {
	name, err := l.currentFile(symbol, tf)
	if err != nil {
		return nil, nil, err
	}
	b, c, h, err := l.open(name)
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(l.dir, name)
	if b.Symbol != symbol || b.Timeframe != tf {
		err = fmt.Errorf("bars file %s holds %s %s; import the data again", file, b.Symbol, b.Timeframe)
	} else if wrong := verify(b, h, file); wrong != nil {
		err = fmt.Errorf("bars file %s: %w", file, wrong)
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return b, c, nil
}

// Path is the file of the current series of a symbol and timeframe. Where there
// is none the error is ErrNoData.
func (l *Library) Path(symbol string, tf Timeframe) (string, error) {
	name, err := l.currentFile(symbol, tf)
	if err != nil {
		return "", err
	}
	return filepath.Join(l.dir, filepath.FromSlash(name)), nil
}

// currentFile is the name within the library of the current series.
func (l *Library) currentFile(symbol string, tf Timeframe) (string, error) {
	dir, err := folder(symbol, tf)
	if err != nil {
		return "", err
	}
	hash, err := l.current(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s %s in %s: %w", symbol, tf, l.dir, ErrNoData)
	}
	if err != nil {
		return "", err
	}
	return path.Join(dir, fileName(hash)), nil
}

// ByHash opens the series with a hash, current or not, and checks that it has
// it. Where there is none the error is ErrNoData.
func (l *Library) ByHash(hash [32]byte) (*Bars, io.Closer, error) {
	names, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return nil, nil, err
	}
	for _, n := range names {
		if _, _, ok := ofFolder(n.Name()); !ok {
			continue
		}
		name := path.Join(n.Name(), fileName(hash))
		b, c, h, err := l.open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && (h.hash != hash || b.Hash() != hash) {
			err = errors.Join(fmt.Errorf("bars file %s is damaged: its content does not have the hash of its name; import the data again",
				filepath.Join(l.dir, name)), c.Close())
		}
		if err != nil {
			return nil, nil, err
		}
		return b, c, nil
	}
	return nil, nil, fmt.Errorf("bars with hash %x in %s: %w", hash, l.dir, ErrNoData)
}

// open opens a bars file of the library.
func (l *Library) open(name string) (*Bars, io.Closer, header, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return nil, nil, header{}, err
	}
	defer f.Close()
	b, c, h, err := open(f)
	if err != nil {
		return nil, nil, h, fmt.Errorf("bars file %s: %w", filepath.Join(l.dir, name), err)
	}
	return b, c, h, nil
}

// Vintage is a series as it once was imported.
type Vintage struct {
	Symbol    string
	Timeframe Timeframe
	Path      string
	Current   bool
}

// Vintages lists every bars file of the library: for each symbol and timeframe
// first those that are not current, then the current one.
func (l *Library) Vintages() ([]Vintage, error) {
	names, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var all []Vintage
	for _, n := range names {
		symbol, tf, ok := ofFolder(n.Name())
		if !ok || !n.IsDir() {
			continue
		}
		files, err := fs.ReadDir(l.root.FS(), n.Name())
		if err != nil {
			return nil, err
		}
		current, err := l.current(n.Name())
		known := err == nil
		var last []Vintage
		for _, f := range files {
			if path.Ext(f.Name()) != Suffix || !f.Type().IsRegular() {
				continue
			}
			v := Vintage{symbol, tf, filepath.Join(l.dir, n.Name(), f.Name()), known && f.Name() == fileName(current)}
			if v.Current {
				last = append(last, v)
			} else {
				all = append(all, v)
			}
		}
		all = append(all, last...)
	}
	return all, nil
}

// Forget removes the folder of a symbol and timeframe if no bars file is left in
// it, and the library if nothing is left in that. It tells whether the library is
// gone.
func (l *Library) Forget(symbol string, tf Timeframe) (gone bool, err error) {
	dir, err := folder(symbol, tf)
	if err != nil {
		return false, err
	}
	files, err := fs.ReadDir(l.root.FS(), dir)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if f.Name() != currentName && !strings.HasPrefix(f.Name(), tempPrefix) {
			return false, nil
		}
	}
	if err := l.root.RemoveAll(dir); err != nil {
		return false, err
	}
	left, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil || len(left) > 0 {
		return false, err
	}
	return true, os.Remove(l.dir)
}
