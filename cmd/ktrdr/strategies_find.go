package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// strategySource is a strategy's text and where it is from.
type strategySource struct {
	name string
	from string // a file, ofLab or builtIn
	text []byte
	err  error // why there is no text
}

const (
	builtIn          = "built-in"
	ofLab            = "lab"
	strategiesFolder = "strategies"
	maxStrategies    = 1000 // files of the folder that are looked at
)

// strategySources lists the strategies that can be named, by name.
func (a *app) strategySources(cmd *cobra.Command) ([]strategySource, error) {
	list, err := a.strategyFiles()
	if err != nil {
		return nil, err
	}
	add := func(name, from string, text []byte) {
		if !slices.ContainsFunc(list, func(s strategySource) bool { return s.name == name }) {
			list = append(list, strategySource{name: name, from: from, text: text})
		}
	}
	err = a.withLedger(cmd, func(l *ledger) error {
		documents, err := l.library.Strategies(cmd.Context())
		for _, d := range documents {
			add(d.Name, ofLab, []byte(d.Content))
		}
		return err
	})
	if err != nil && !errors.Is(err, market.ErrNoData) {
		return nil, err
	}
	for _, e := range strategy.Examples() {
		add(e.Name, builtIn, e.Source)
	}
	slices.SortFunc(list, func(x, y strategySource) int { return strings.Compare(x.name, y.name) })
	return list, nil
}

// strategyFiles reads the strategies of the data folder; none where there is no
// such folder.
func (a *app) strategyFiles() ([]strategySource, error) {
	dir := a.dataDir()
	if dir == "" {
		return nil, nil
	}
	return a.strategyFilesOf(dir)
}

// strategyFilesOf is strategyFiles of another data folder.
func (a *app) strategyFilesOf(dir string) ([]strategySource, error) {
	dir = filepath.Join(dir, strategiesFolder)
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		if err := backend.RefuseRestoring(filepath.Dir(dir)); err != nil {
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
	var list []strategySource
	for _, e := range entries {
		name, ok := strategyName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		if len(list) == maxStrategies {
			return nil, fmt.Errorf("%s holds more than %d strategies: move some elsewhere, and name them by their file", dir, maxStrategies)
		}
		s := strategySource{name: name, from: filepath.Join(dir, e.Name())}
		s.text, s.err = readWithin(root, e.Name())
		list = append(list, s)
	}
	return list, nil
}

// strategyName is the name under which a file of the folder is known.
func strategyName(file string) (string, bool) {
	for _, suffix := range []string{".yaml", ".yml"} {
		if name, ok := strings.CutSuffix(file, suffix); ok && name != "" && name[0] != '.' {
			return name, true
		}
	}
	return "", false
}

func readWithin(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

func fileOfStrategy(name string) backend.UserFile {
	return backend.UserFile{What: "strategy file", Name: name, Next: "name one of `ktrdr strategies`, or a file"}
}

// strategyText reads the file of a strategy.
func strategyText(file string) ([]byte, error) {
	f, err := fileOfStrategy(file).Open()
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

// strategyNamed finds a strategy by its name, or reads it from a file: a name
// with a slash or the suffix of a strategy's file is a path.
func (a *app) strategyNamed(cmd *cobra.Command, name string) (strategySource, error) {
	if _, file := strategyName(name); file || strings.ContainsRune(name, filepath.Separator) {
		text, err := strategyText(name)
		return strategySource{name: name, from: name, text: text}, err
	}
	list, err := a.strategySources(cmd)
	if err != nil {
		return strategySource{}, err
	}
	names := make([]string, len(list))
	for i, s := range list {
		if s.name == name {
			return s, s.err
		}
		names[i] = s.name
	}
	hint := "`ktrdr strategies` lists those there are; a file is named with its suffix, as mine.yaml"
	if near := text.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return strategySource{}, usagef("there is no strategy %q; %s", name, hint)
}

// parseNamed finds and parses a strategy. Warnings are printed as they are
// found, on standard error.
func (a *app) parseNamed(cmd *cobra.Command, name string) (*strategy.Strategy, error) {
	src, err := a.strategyNamed(cmd, name)
	if err != nil {
		return nil, err
	}
	s, warnings, err := strategy.Parse(src.text, src.where())
	for _, x := range warnings {
		fmt.Fprintln(a.err, "warning:", term.Plain(x.String()))
	}
	return s, err
}

// where names the text in messages.
func (s strategySource) where() string {
	switch s.from {
	case builtIn:
		return s.name + " (built-in)"
	case ofLab:
		return s.name + " (of the lab)"
	}
	return s.from
}

// named is how a command names the strategy.
func (s strategySource) named() string {
	if s.from == builtIn || s.from == ofLab {
		return s.name
	}
	return s.from
}

func (a *app) completeStrategies(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := a.strategySources(cmd) // shell completion shows no errors
	var offers []string
	for _, s := range list {
		if strings.HasPrefix(s.name, typed) {
			offers = append(offers, s.name)
		}
	}
	return offers, cobra.ShellCompDirectiveDefault // a file will do too
}
