package market

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// Write stores a series in a folder as {hash}.bars and gives the file's path.
// The file appears whole or not at all, and stays after a power cut. The error
// is an InvalidError where b breaks a rule.
func Write(dir string, b *Bars) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	h, err := store(root, ".", b)
	if err != nil {
		return "", fmt.Errorf("store %s %s: %w", b.Symbol, b.Timeframe, err)
	}
	return filepath.Join(dir, fileName(h.hash)), nil
}

// Encode writes the bars file of a series, byte for byte as Write stores it.
func Encode(w io.Writer, b *Bars) error {
	if err := CheckSymbol(b.Symbol); err != nil {
		return err
	}
	if _, err := Check(b, b.Symbol); err != nil {
		return err
	}
	return b.write(w, header{b.Len(), b.Hash(), b.Symbol, b.Timeframe})
}

// fileName is the name of the bars file with a hash.
func fileName(hash [32]byte) string { return hex.EncodeToString(hash[:]) + Suffix }

// store writes the file of a series into a folder of root, unless it is there.
func store(root *os.Root, dir string, b *Bars) (header, error) {
	if err := CheckSymbol(b.Symbol); err != nil {
		return header{}, err
	}
	if _, err := Check(b, b.Symbol); err != nil {
		return header{}, err
	}
	h := header{b.Len(), b.Hash(), b.Symbol, b.Timeframe}
	name := path.Join(dir, fileName(h.hash))
	if f, err := root.Open(name); err == nil {
		defer f.Close()
		if _, c, err := MapVerified(f); err == nil {
			return h, c.Close()
		}
	}
	return h, replace(root, name, func(w io.Writer) error { return b.write(w, h) })
}

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".tmp-"

// replace gives name the content that write writes. Readers see the old file
// or the new one, and so does whoever starts after a crash.
func replace(root *os.Root, name string, write func(io.Writer) error) error {
	temp := path.Join(path.Dir(name), tempPrefix+rand.Text())
	return atomicfile.Write(atomicfile.Root{Root: root, Perm: 0o644}, temp, func(f io.Writer) (string, error) {
		w := bufio.NewWriterSize(f, 64<<10)
		return name, errors.Join(write(w), w.Flush())
	}, nil)
}

// sweep removes what writers that died left in a folder.
func sweep(root *os.Root, dir string) error {
	const abandoned = time.Hour
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > abandoned {
			err = root.Remove(path.Join(dir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another may have swept it
			return err
		}
	}
	return nil
}
