package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Model is a trained model, as lists show it.
type Model struct {
	Operation    ktrdr.OperationID
	Strategy     string
	File         ktrdr.Artifact
	Architecture string
	Symbols      []string
	Timeframes   []string
	Seed         uint64
	TestAccuracy *float64
	TestLoss     *float64
	Baseline     *float64 // accuracy of always the most frequent answer
	Warnings     int
	ResultHash   ktrdr.Hash
	CompletedAt  time.Time
}

// Models returns a page of the models that were trained, newest first, and where
// the next begins.
func (d *Desk) Models(ctx context.Context, limit int, cursor string) ([]Model, string, error) {
	page, err := d.trainings(ctx, limit, cursor)
	if err != nil {
		return nil, "", err
	}
	models := []Model{}
	for _, op := range page.Operations {
		models = append(models, describe(op))
	}
	return models, page.Next, nil
}

// trainings is a page of the trainings that made a model, newest first.
func (d *Desk) trainings(ctx context.Context, limit int, cursor string) (ktrdr.OperationPage, error) {
	return d.cfg.Operations.List(ctx, ktrdr.OperationQuery{
		Type: []ktrdr.Type{ktrdr.Training}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: limit, Cursor: cursor,
	})
}

// modelsPage is how many trainings are looked at in one go.
const modelsPage = 100

// trained yields every training that made a model, newest first.
func (d *Desk) trained(ctx context.Context) iter.Seq2[ktrdr.Operation, error] {
	return func(yield func(ktrdr.Operation, error) bool) {
		for cursor := ""; ; {
			page, err := d.trainings(ctx, modelsPage, cursor)
			if err != nil {
				yield(ktrdr.Operation{}, err)
				return
			}
			for _, op := range page.Operations {
				if !yield(op, nil) {
					return
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}

// describe reads of a training's result what a list shows. A result that cannot
// be read leaves its part empty: the operation is there all the same.
func describe(op ktrdr.Operation) Model {
	m := Model{Operation: op.ID, CompletedAt: op.CompletedAt}
	var r TrainingResult
	if json.Unmarshal(op.Result, &r) != nil {
		return m
	}
	m.Strategy, m.File, m.Architecture, m.Seed = r.Strategy, r.Model, r.Metrics.Model.Architecture, r.Seed
	m.Warnings, m.ResultHash = len(r.Warnings), r.ResultHash
	for _, s := range r.Data.Sources {
		if !slices.Contains(m.Symbols, s.Symbol) {
			m.Symbols = append(m.Symbols, s.Symbol)
		}
		if tf := string(s.Timeframe); !slices.Contains(m.Timeframes, tf) {
			m.Timeframes = append(m.Timeframes, tf)
		}
	}
	if r.Test != nil {
		m.TestAccuracy, m.TestLoss, m.Baseline = &r.Test.Accuracy, &r.Test.Loss, &r.Test.BaselineAccuracy
	}
	return m
}

// Strategy is a strategy that can be named, as lists show it.
type Strategy struct {
	Name        string
	Path        string // in the data folder; empty for one that comes with the program
	Description string
	Symbols     []string
	Timeframes  []string
	Model       string // mlp, lstm or gru
	Features    int
	Problems    []string // why it cannot be used
	Warnings    []string
}

// maxStrategies bounds how many files of strategies/ are looked at.
const maxStrategies = 1000

// Strategies lists the strategies of the data folder and those that come with
// the program, by name. A file hides one of the program's that has its name.
func (d *Desk) Strategies() ([]Strategy, error) {
	list := []Strategy{}
	names, err := fs.ReadDir(d.root.FS(), strategiesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, n := range names {
		ext := path.Ext(n.Name())
		if n.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if len(list) == maxStrategies {
			return nil, wrong("%s/ of the data folder holds more than %d strategies: move some elsewhere, and name them by strategy_path", strategiesDir, maxStrategies)
		}
		name, file := strings.TrimSuffix(n.Name(), ext), path.Join(strategiesDir, n.Name())
		text, err := d.read(file)
		if err != nil {
			list = append(list, Strategy{Name: name, Path: file, Problems: []string{err.Error()}})
			continue
		}
		list = append(list, outline(name, file, text))
	}
	for _, e := range strategy.Examples() {
		if !slices.ContainsFunc(list, func(s Strategy) bool { return s.Name == e.Name }) {
			list = append(list, outline(e.Name, "", e.Source))
		}
	}
	slices.SortFunc(list, func(a, b Strategy) int { return strings.Compare(a.Name+" "+a.Path, b.Name+" "+b.Path) })
	return list, nil
}

func outline(name, file string, text []byte) Strategy {
	o := Strategy{Name: name, Path: file}
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

// Data lists the current series of the library. A market.DamageError tells of
// those that cannot be read.
func (d *Desk) Data() ([]market.Entry, error) { return d.library.List() }
