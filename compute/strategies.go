package compute

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/strategy"
)

// StrategyText returns the text of a strategy that can be named.
func (d *Service) StrategyText(ctx context.Context, name string) ([]byte, error) {
	text, _, err := d.byName(ctx, name)
	return text, err
}

// byName finds a strategy: of strategies/, of the lab, or of the program.
func (d *Service) byName(ctx context.Context, name string) ([]byte, string, error) {
	if strings.ContainsAny(name, `/\`) {
		return nil, "", wrong("strategy_name %q is a path: use strategy_path", name)
	}
	for _, ext := range []string{".yaml", ".yml"} {
		file := path.Join(library.StrategiesDir, name+ext)
		b, err := d.read(file)
		if !errors.Is(err, fs.ErrNotExist) {
			return b, file, err
		}
	}
	doc, err := d.cfg.Library.Strategy(ctx, name)
	switch {
	case err == nil:
		return []byte(doc.Content), name + " of the lab", nil
	case ktrdr.CodeOf(err) != ktrdr.CodeNotFound:
		return nil, "", err
	}
	var names []string
	for _, e := range strategy.Examples() {
		if e.Name == name {
			return e.Source, e.Name, nil
		}
		names = append(names, e.Name)
	}
	list, _ := d.Strategies(ctx) // without them the message is shorter
	known := slices.Concat(names, text.Map(list, func(s jobs.Strategy) string { return s.Name }))
	hint := ""
	if near := text.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("; did you mean %s? If not", near)
	}
	return nil, "", wrong("there is no strategy %q%s: add it with `ktrdr strategies add %s.yaml`, put the file into %s/ of the data folder "+
		"of this backend, or use one of those that come with the program: %s",
		name, hint, name, library.StrategiesDir, strings.Join(names, ", "))
}

// Strategies lists the strategies by name, each as byName finds it.
func (d *Service) Strategies(ctx context.Context) ([]jobs.Strategy, error) {
	entries, err := fs.ReadDir(d.root.FS(), library.StrategiesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	files, err := library.StrategyFiles(library.StrategiesDir, entries, func(file string) ([]byte, error) {
		return d.read(path.Join(library.StrategiesDir, file))
	})
	if err != nil {
		return nil, wrong("%w", err)
	}
	documents, err := d.cfg.Library.Strategies(ctx)
	if err != nil {
		return nil, err
	}
	list := []jobs.Strategy{}
	for _, src := range library.StrategySources(files, documents) {
		s := jobs.Strategy{Name: src.Name}
		if src.Err == nil {
			s = library.Outline(src.Name, src.Text)
		} else {
			s.Problems = []string{src.Err.Error()}
		}
		if s.From, s.Source = src.From, src.Source; src.From != jobs.StrategyOfLab && src.From != jobs.StrategyOfProgram {
			s.From, s.Path = jobs.StrategyOfFile, src.From
		}
		list = append(list, s)
	}
	return list, nil
}
