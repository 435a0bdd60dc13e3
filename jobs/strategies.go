package jobs

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
	"github.com/ktrdr/ktrdr/strategy"
)

// Where a strategy comes from. A name is looked up in this order.
const (
	StrategyOfFile    = "file"     // a file of strategies/ in the data folder of this backend
	StrategyOfLab     = "lab"      // the lab's own: every backend has it
	StrategyOfProgram = "built-in" // it comes with the program
)

// Strategy is a strategy that can be named.
type Strategy struct {
	Name        string   `json:"name"`
	From        string   `json:"from"`             // file: of strategies/ of the answering backend; lab: of every backend; built-in
	Path        string   `json:"path,omitempty"`   // of a file, in the data folder
	Source      string   `json:"source,omitempty"` // the file that the lab's strategy was read from
	Description string   `json:"description,omitempty"`
	Symbols     []string `json:"symbols,omitempty"`
	Timeframes  []string `json:"timeframes,omitempty"`
	Model       string   `json:"model,omitempty"`
	Features    int      `json:"features,omitempty"`
	Problems    []string `json:"problems,omitempty"` // why it cannot be used
	Warnings    []string `json:"warnings,omitempty"`
}

// maxStrategies bounds how many files of strategies/ are looked at.
const maxStrategies = 1000

// StrategyText returns the text of a strategy that can be named.
func (d *Desk) StrategyText(ctx context.Context, name string) ([]byte, error) {
	text, _, err := d.byName(ctx, name)
	return text, err
}

// byName finds a strategy: of strategies/, else the lab's, else one that comes
// with the program.
func (d *Desk) byName(ctx context.Context, name string) ([]byte, string, error) {
	if strings.ContainsAny(name, `/\`) {
		return nil, "", wrong("strategy_name %q is a path: use strategy_path", name)
	}
	for _, ext := range []string{".yaml", ".yml"} {
		file := path.Join(strategiesDir, name+ext)
		b, err := d.read(file)
		if !errors.Is(err, fs.ErrNotExist) {
			return b, file, err
		}
	}
	doc, err := d.cfg.Library.store.Document(ctx, ktrdr.StrategyDocument, name)
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
		name, hint, name, strategiesDir, strings.Join(names, ", "))
}

// Strategies lists the strategies that can be named here, by name. Of those
// with one name the first is listed that byName finds.
func (d *Desk) Strategies(ctx context.Context) ([]Strategy, error) {
	files, err := d.strategyFiles()
	if err != nil {
		return nil, err
	}
	list := []Strategy{}
	for _, f := range files {
		if f.err != nil {
			list = append(list, Strategy{Name: f.name, From: StrategyOfFile, Path: f.path, Problems: []string{f.err.Error()}})
			continue
		}
		s := outline(f.name, f.text)
		s.From, s.Path = StrategyOfFile, f.path
		list = append(list, s)
	}
	add := func(s Strategy) {
		if !slices.ContainsFunc(list, func(x Strategy) bool { return x.Name == s.Name }) {
			list = append(list, s)
		}
	}
	documents, err := d.cfg.Library.store.Documents(ctx, ktrdr.StrategyDocument)
	if err != nil {
		return nil, err
	}
	for _, doc := range documents {
		s := outline(doc.Name, []byte(doc.Content))
		s.From, s.Source = StrategyOfLab, doc.Source
		add(s)
	}
	for _, e := range strategy.Examples() {
		s := outline(e.Name, e.Source)
		s.From = StrategyOfProgram
		add(s)
	}
	slices.SortFunc(list, func(a, b Strategy) int { return strings.Compare(a.Name+" "+a.Path, b.Name+" "+b.Path) })
	return list, nil
}

// strategyFile is a file of strategies/.
type strategyFile struct {
	name, path string
	text       []byte
	err        error // why there is no text
}

// strategyFiles reads the files of strategies/.
func (d *Desk) strategyFiles() ([]strategyFile, error) {
	names, err := fs.ReadDir(d.root.FS(), strategiesDir)
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
				strategiesDir, maxStrategies)
		}
		f := strategyFile{name: strings.TrimSuffix(n.Name(), ext), path: path.Join(strategiesDir, n.Name())}
		f.text, f.err = d.read(f.path)
		list = append(list, f)
	}
	return list, nil
}

func outline(name string, text []byte) Strategy {
	o := Strategy{Name: name}
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

// NewStrategy is a strategy to be given to the lab.
type NewStrategy struct {
	Name    string // empty means the one that the text says
	Text    string
	Source  string // the file that it was read from
	Replace bool   // take the place of one with the same name
}

// AddStrategy gives the lab a strategy. One that is wrong is refused.
// CodeConflict when there is another with the name.
func (l *Library) AddStrategy(ctx context.Context, n NewStrategy) (Strategy, error) {
	if len(n.Text) > maxStrategy {
		return Strategy{}, wrong("the strategy has %d bytes; at most %d are allowed", len(n.Text), maxStrategy)
	}
	s, _, err := strategy.Parse([]byte(n.Text), n.Name)
	if err != nil {
		return Strategy{}, wrong("%w", err)
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
	o := outline(n.Name, []byte(n.Text))
	o.From, o.Source = StrategyOfLab, n.Source
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
