package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/strategy"
)

// StrategySource is a strategy's text and where it is from.
type StrategySource struct {
	Name string
	From string // a file, FromLab or builtIn
	Text []byte
	Err  error // why there is no text
}

// Where a strategy is from that is not a file.
const (
	FromLab = "lab"
	builtIn = "built-in"
)

// StrategiesFolder holds the strategies of a data folder.
const StrategiesFolder = "strategies"

// Strategies lists the strategies that can be named, by name: the files, then those
// of the lab and the examples whose names are free.
func Strategies(files []StrategySource, lab []ktrdr.Document) []StrategySource {
	list := slices.Clone(files)
	add := func(name, from string, text []byte) {
		if !slices.ContainsFunc(list, func(s StrategySource) bool { return s.Name == name }) {
			list = append(list, StrategySource{Name: name, From: from, Text: text})
		}
	}
	for _, d := range lab {
		add(d.Name, FromLab, []byte(d.Content))
	}
	for _, e := range strategy.Examples() {
		add(e.Name, builtIn, e.Source)
	}
	slices.SortFunc(list, func(x, y StrategySource) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// StrategyFiles reads the strategies of a data folder; none where it has no folder
// for them.
func StrategyFiles(data string) ([]StrategySource, error) {
	if data == "" { // there is no home directory either
		return nil, nil
	}
	const most = 1000
	dir := filepath.Join(data, StrategiesFolder)
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
	var list []StrategySource
	for _, e := range entries {
		name, ok := StrategyName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		if len(list) == most {
			return nil, fmt.Errorf("%s holds more than %d strategies: move some elsewhere, and name them by their file", dir, most)
		}
		s := StrategySource{Name: name, From: filepath.Join(dir, e.Name())}
		f, err := root.Open(e.Name())
		if s.Err = err; err == nil {
			s.Text, s.Err = readBounded(f)
			_ = f.Close() // it was only read
		}
		list = append(list, s)
	}
	return list, nil
}

// StrategyName is the name under which a file of the folder is known.
func StrategyName(file string) (string, bool) {
	for _, suffix := range []string{".yaml", ".yml"} {
		if name, ok := strings.CutSuffix(file, suffix); ok && name != "" && name[0] != '.' {
			return name, true
		}
	}
	return "", false
}

// IsStrategyFile says whether an argument is a path: it has a slash, or the suffix
// of a strategy's file.
func IsStrategyFile(arg string) bool {
	_, file := StrategyName(arg)
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
func FindStrategy(list []StrategySource, name string) (StrategySource, error) {
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
	return StrategySource{}, invalid("there is no strategy %q; %s", name, hint)
}

// Where names the text in messages.
func (s StrategySource) Where() string {
	switch s.From {
	case builtIn:
		return s.Name + " (built-in)"
	case FromLab:
		return s.Name + " (of the lab)"
	}
	return s.From
}

// Argument is how a command names the strategy.
func (s StrategySource) Argument() string {
	if s.From == builtIn || s.From == FromLab {
		return s.Name
	}
	return s.From
}
