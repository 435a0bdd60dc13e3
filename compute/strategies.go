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

const maxStrategies = 1000

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
	known := slices.Clone(names)
	list, _ := d.Strategies(ctx) // without them the message is shorter
	for _, s := range list {
		known = append(known, s.Name)
	}
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
	files, err := d.strategyFiles()
	if err != nil {
		return nil, err
	}
	list := []jobs.Strategy{}
	for _, f := range files {
		if f.err != nil {
			list = append(list, jobs.Strategy{Name: f.name, From: jobs.StrategyOfFile, Path: f.path, Problems: []string{f.err.Error()}})
			continue
		}
		s := library.Outline(f.name, f.text)
		s.From, s.Path = jobs.StrategyOfFile, f.path
		list = append(list, s)
	}
	add := func(s jobs.Strategy) {
		if !slices.ContainsFunc(list, func(x jobs.Strategy) bool { return x.Name == s.Name }) {
			list = append(list, s)
		}
	}
	documents, err := d.cfg.Library.Strategies(ctx)
	if err != nil {
		return nil, err
	}
	for _, doc := range documents {
		s := library.Outline(doc.Name, []byte(doc.Content))
		s.From, s.Source = jobs.StrategyOfLab, doc.Source
		add(s)
	}
	for _, e := range strategy.Examples() {
		s := library.Outline(e.Name, e.Source)
		s.From = jobs.StrategyOfProgram
		add(s)
	}
	slices.SortFunc(list, func(a, b jobs.Strategy) int { return strings.Compare(a.Name+" "+a.Path, b.Name+" "+b.Path) })
	return list, nil
}

type strategyFile struct {
	name, path string
	text       []byte
	err        error // why there is no text
}

func (d *Service) strategyFiles() ([]strategyFile, error) {
	names, err := fs.ReadDir(d.root.FS(), library.StrategiesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []strategyFile
	for _, n := range names {
		ext := path.Ext(n.Name())
		if n.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if len(list) == maxStrategies {
			return nil, wrong("%s/ of the data folder holds more than %d strategies: move some elsewhere, and name them by strategy_path",
				library.StrategiesDir, maxStrategies)
		}
		f := strategyFile{name: strings.TrimSuffix(n.Name(), ext), path: path.Join(library.StrategiesDir, n.Name())}
		f.text, f.err = d.read(f.path)
		list = append(list, f)
	}
	return list, nil
}
