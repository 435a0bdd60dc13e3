package main

import (
	"os"
	"path/filepath"

	"github.com/ktrdr/ktrdr/market"
)

// barsFile is the file of a current series in the blob folder of a lab.
func (l *lab) barsFile(symbol, timeframe string) string {
	l.t.Helper()
	st, err := openStorage(l.t.Context(), Config{Data: l.data})
	if err != nil {
		l.t.Fatal(err)
	}
	defer st.close()
	b, err := st.store.BarsOf(l.t.Context(), symbol, timeframe)
	if err != nil {
		l.t.Fatal(err)
	}
	name := b.File.SHA256.String()
	return filepath.Join(l.data, "blobs", name[:2], name[2:4], name)
}

// earlier puts bars into the data folder as earlier versions kept them.
func (l *lab) earlier(b *market.Bars) {
	l.t.Helper()
	old, err := market.OpenLibrary(filepath.Join(l.data, "data"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if _, err := old.Import(b); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Chmod(l.data, 0o700); err != nil { //nolint:gosec // a folder
		l.t.Fatal(err)
	}
}
