package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/library"
)

// StrategyFiles reads the strategies of a data folder; none where it has no folder
// for them.
func StrategyFiles(data string) ([]library.StrategySource, error) {
	if data == "" { // there is no home directory either
		return nil, nil
	}
	dir := filepath.Join(data, library.StrategiesDir)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		if err := backend.RefuseRestoring(data); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("strategies: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("strategies: %w", err)
	}
	return library.StrategyFiles(dir, entries, func(file string) ([]byte, error) {
		f, err := root.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readBounded(f)
	})
}

// IsStrategyFile says whether an argument is a path: it has a slash, or the suffix
// of a strategy's file.
func IsStrategyFile(arg string) bool {
	_, file := library.StrategyName(arg)
	return file || strings.ContainsRune(arg, filepath.Separator)
}

// ReadStrategy reads the file of a strategy.
func ReadStrategy(file string) ([]byte, error) {
	f, err := backend.UserFile{What: "strategy file", Name: file, Next: "name one of `ktrdr strategies`, or a file"}.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readBounded(f)
	if err != nil {
		return nil, fmt.Errorf("strategy %s: %w", file, err)
	}
	return text, nil
}

// readBounded reads a file that should be small. The bound is more than any strategy
// takes; the grammar's own limit is lower, and says so with figures.
func readBounded(r io.Reader) ([]byte, error) {
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it is larger than %d KB, which no strategy is", most>>10)
	}
	return text, err
}

// FindStrategy finds a strategy by its name.
func FindStrategy(list []library.StrategySource, name string) (library.StrategySource, error) {
	names := make([]string, len(list))
	for i, s := range list {
		if s.Name == name {
			return s, s.Err
		}
		names[i] = s.Name
	}
	hint := "`ktrdr strategies` lists those there are; a file is named with its suffix, as mine.yaml"
	if near := text.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return library.StrategySource{}, invalid("there is no strategy %q; %s", name, hint)
}
