package library

import (
	"context"
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
