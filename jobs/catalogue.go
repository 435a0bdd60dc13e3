package jobs

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Model is a trained model.
type Model struct {
	Operation    ktrdr.OperationID `json:"operation_id"`
	Strategy     string            `json:"strategy_name"`
	File         ktrdr.Artifact    `json:"model"`
	Architecture string            `json:"architecture"`
	Symbols      []string          `json:"symbols"`
	Timeframes   []string          `json:"timeframes"`
	Seed         uint64            `json:"seed"`
	TestAccuracy *float64          `json:"test_accuracy"`
	TestLoss     *float64          `json:"test_loss"`
	Baseline     *float64          `json:"baseline_accuracy"` // always the most frequent answer
	Warnings     int               `json:"warnings"`
	MadeUp       *bool             `json:"made_up"` // bars that it was trained on were made up; null: not known
	ResultHash   ktrdr.Hash        `json:"result_hash"`
	CompletedAt  time.Time         `json:"completed_at"`
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
	m.Warnings, m.MadeUp, m.ResultHash = len(r.Warnings), r.MadeUp, r.ResultHash
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
