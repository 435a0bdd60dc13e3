package compute

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// Models returns a page of trained models, newest first, and the next cursor.
func (d *Service) Models(ctx context.Context, limit int, cursor string) ([]jobs.TrainedModel, string, error) {
	page, err := d.trainings(ctx, limit, cursor)
	return text.Map(page.Operations, describe), page.Next, err
}

func (d *Service) trainings(ctx context.Context, limit int, cursor string) (ktrdr.OperationPage, error) {
	return d.cfg.Operations.List(ctx, ktrdr.OperationQuery{
		Type: []ktrdr.Type{ktrdr.Training}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: limit, Cursor: cursor,
	})
}

const modelsPage = 100

func (d *Service) trained(ctx context.Context) iter.Seq2[ktrdr.Operation, error] {
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

// describe reads what a list shows. An unreadable result leaves its part empty.
func describe(op ktrdr.Operation) jobs.TrainedModel {
	m := jobs.TrainedModel{Operation: op.ID, CompletedAt: op.CompletedAt}
	var r jobs.TrainingResult
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
