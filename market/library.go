package market

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Library is a folder in which earlier versions kept series. Their bars are
// moved from it into the lab.
//
//	EURUSD_1h/
//	  3fa9….bars     a series as it once was imported
//	  77c0….bars     the same symbol later, with more bars
//	  current        the hash of the one in use
type Library struct {
	root *os.Root
	dir  string
}

// OpenLibrary opens the library in a folder.
func OpenLibrary(dir string) (*Library, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Library{root, dir}, nil
}

// Close closes the library.
func (l *Library) Close() error { return l.root.Close() }

const (
	currentName = "current"
	tempPrefix  = ".tmp-" // begins the names of files that are being written
)

// folder is the name of a symbol's folder. A month is 1mo there, since not every file system tells 1M from 1m.
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
		current, _ := l.root.ReadFile(path.Join(n.Name(), currentName)) // without it none is current
		var last []Vintage
		for _, f := range files {
			if path.Ext(f.Name()) != Suffix || !f.Type().IsRegular() {
				continue
			}
			v := Vintage{symbol, tf, filepath.Join(l.dir, n.Name(), f.Name()), f.Name() == strings.TrimSpace(string(current))+Suffix}
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

// Forget removes the folder of a symbol and timeframe if no bars file is left in it,
// and the library if nothing is left in that. It tells whether the library is gone.
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
