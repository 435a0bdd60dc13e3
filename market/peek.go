package market

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
)

// Peek tells the symbol that the rows of a file name, and the timeframe of its first rows;
// each is "" where it is not told. The error says why no row could be read. inside names a
// file of an archive. It reads the head of the file only, or all of a Parquet file.
func Peek(ctx context.Context, file, inside string, opt ImportOptions) (symbol string, tf Timeframe, err error) {
	opt.Mode, opt.Inside = Normalise, inside
	f, err := os.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	head := make([]byte, len(parquetMagic))
	if _, err := f.ReadAt(head, 0); err == nil && string(head) == parquetMagic {
		return told(ReadFile(ctx, file, opt))
	}
	var r io.Reader = f
	if isZip(f) {
		info, err := f.Stat()
		if err != nil {
			return "", "", err
		}
		a, err := openArchive(f, info.Size())
		if err != nil {
			return "", "", err
		}
		for _, m := range a.files {
			if m.Name != inside && inside != "" {
				continue
			}
			text, err := m.Open()
			if err != nil {
				return "", "", err
			}
			defer text.Close()
			r, opt.Inside = text, m.Name
			break
		}
	}
	text, err := plain(r)
	if err != nil {
		return "", "", err
	}
	rows, err := text.Peek(headBytes)
	if n := bytes.LastIndexByte(rows, '\n'); n >= 0 && !errors.Is(err, io.EOF) {
		rows = rows[:n+1]
	}
	opt.Source = file
	return told(ReadCSV(bytes.NewReader(rows), opt))
}

// told is the symbol and the timeframe of what was read. What is wrong with the rows of a
// table is no error here: only its head was read.
func told(b *Bars, rep DataReport, err error) (symbol string, tf Timeframe, _ error) {
	if rep.Recognised != nil {
		symbol = SymbolOf(rep.Recognised.Symbol)
	}
	switch {
	case err == nil:
		return symbol, b.Timeframe, nil
	case rep.Recognised != nil:
		return symbol, "", nil
	}
	return symbol, "", err
}

// SymbolOf is the symbol that a service calls EUR/USD, C:EURUSD, FX:EURUSD or EURUSD=X; "" if it is not one.
func SymbolOf(name string) string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.ToUpper(strings.TrimSuffix(strings.ReplaceAll(name, "/", ""), "=X"))
	if CheckSymbol(name) != nil {
		return ""
	}
	return name
}
