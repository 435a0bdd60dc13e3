package library

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// Outline describes a strategy by its text, and says what is wrong with it.
func Outline(name string, text []byte) jobs.Strategy {
	o := jobs.Strategy{Name: name}
	s, warnings, err := strategy.Parse(text, name)
	for _, w := range warnings {
		o.Warnings = append(o.Warnings, w.String())
	}
	if err != nil {
		o.Problems = strings.Split(err.Error(), "\n")
		return o
	}
	o.Description, o.Symbols, o.Model, o.Features = s.Description, s.Data.Symbols, string(s.Model.Type), len(s.Columns())
	for _, tf := range s.Data.Timeframes {
		o.Timeframes = append(o.Timeframes, string(tf))
	}
	return o
}

// StrategySource is a strategy that can be named.
type StrategySource struct {
	Name   string
	From   string // a file, jobs.StrategyOfLab or jobs.StrategyOfProgram
	Source string // the file that one of the lab was read from
	Text   []byte
	Err    error // why there is no text
}

// Where names the text in messages.
func (s StrategySource) Where() string {
	switch s.From {
	case jobs.StrategyOfProgram:
		return s.Name + " (built-in)"
	case jobs.StrategyOfLab:
		return s.Name + " (of the lab)"
	}
	return s.From
}

// Argument is how a command names the strategy.
func (s StrategySource) Argument() string {
	if s.From == jobs.StrategyOfProgram || s.From == jobs.StrategyOfLab {
		return s.Name
	}
	return s.From
}

// StrategySources lists the strategies that can be named, by name: the files, then
// those of the lab and the examples whose names are free.
func StrategySources(files []StrategySource, lab []ktrdr.Document) []StrategySource {
	list := slices.Clone(files)
	add := func(s StrategySource) {
		if !slices.ContainsFunc(list, func(x StrategySource) bool { return x.Name == s.Name }) {
			list = append(list, s)
		}
	}
	for _, d := range lab {
		add(StrategySource{Name: d.Name, From: jobs.StrategyOfLab, Source: d.Source, Text: []byte(d.Content)})
	}
	for _, e := range strategy.Examples() {
		add(StrategySource{Name: e.Name, From: jobs.StrategyOfProgram, Text: e.Source})
	}
	slices.SortStableFunc(list, func(x, y StrategySource) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// StrategyFiles reads the strategies among the entries of a folder, each by read.
func StrategyFiles(dir string, entries []fs.DirEntry, read func(file string) ([]byte, error)) ([]StrategySource, error) {
	const most = 1000
	var list []StrategySource
	for _, e := range entries {
		name, ok := StrategyName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		if len(list) == most {
			return nil, fmt.Errorf("%s holds more than %d strategies: move some elsewhere, and name them by their file (strategy_path)", dir, most)
		}
		text, err := read(e.Name())
		list = append(list, StrategySource{Name: name, From: filepath.Join(dir, e.Name()), Text: text, Err: err})
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

// NewStrategy is a strategy to be given to the lab.
type NewStrategy struct {
	Name    string // empty means the one that the text says
	Text    string
	Source  string // the file that it was read from
	Replace bool   // take the place of one with the same name
}

// AddStrategy gives the lab a valid strategy. CodeConflict if the name is taken.
func (l *Library) AddStrategy(ctx context.Context, n NewStrategy) (jobs.Strategy, error) {
	if len(n.Text) > MaxStrategy {
		return jobs.Strategy{}, wrong("the strategy has %d bytes; at most %d are allowed", len(n.Text), MaxStrategy)
	}
	s, _, err := strategy.Parse([]byte(n.Text), n.Name)
	if err != nil {
		return jobs.Strategy{}, wrong("%w", err)
	}
	if n.Name == "" {
		n.Name = s.Name
	}
	err = l.store.SaveDocument(ctx, ktrdr.Document{
		Kind: ktrdr.StrategyDocument, Name: n.Name, Content: n.Text, Origin: ktrdr.DocumentFromUser, Source: n.Source,
	}, n.Replace)
	if ktrdr.CodeOf(err) == ktrdr.CodeConflict {
		err = ktrdr.Errorf(ktrdr.CodeConflict,
			"the lab has another strategy %s already: replace it with --replace (replace), or choose another name with --name (name)", n.Name)
	}
	o := Outline(n.Name, []byte(n.Text))
	o.From, o.Source = jobs.StrategyOfLab, n.Source
	return o, err
}

// DeleteStrategy deletes a strategy of the lab; CodeNotFound.
func (l *Library) DeleteStrategy(ctx context.Context, name string) error {
	return l.store.DeleteDocument(ctx, ktrdr.StrategyDocument, name)
}

// Strategies returns the lab's strategies by name, with their texts.
func (l *Library) Strategies(ctx context.Context) ([]ktrdr.Document, error) {
	return l.store.Documents(ctx, ktrdr.StrategyDocument)
}

// MaxStrategy bounds the text of a strategy.
const MaxStrategy = 256 << 10

// StrategiesDir is the folder of a data folder that people put strategies into.
const StrategiesDir = "strategies"

// Strategy returns a strategy of the lab with its text; CodeNotFound.
func (l *Library) Strategy(ctx context.Context, name string) (ktrdr.Document, error) {
	return l.store.Document(ctx, ktrdr.StrategyDocument, name)
}
