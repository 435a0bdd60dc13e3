package sqlstore

import (
	"context"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

const (
	selectFinalists query = `SELECT {operation} FROM operations
		WHERE run = $1 AND run <> '' AND queue <> '' AND generation = $2 AND status = 'COMPLETED' AND rung = 'finalist' AND score IS NOT NULL
		ORDER BY score DESC, idx, id LIMIT $3`

	noteExamined query = `UPDATE trials SET examination_id = $2, examined = $3 WHERE operation_id = $1`

	// A generation may be closed once it is complete and nothing of it is
	// open. One that has a later generation is complete; so is the last when
	// all that was planned was created.
	closeGeneration query = `UPDATE runs SET closed = closed + 1
		WHERE id = $1 AND state = 'RUNNING' AND ended_at IS NULL AND closed = CAST($2 AS BIGINT) AND closed < generations
			AND (closed + 1 < generations OR created >= planned)
			AND NOT EXISTS (SELECT 1 FROM operations WHERE run = $1 AND run <> '' AND generation <= CAST($2 AS BIGINT) AND completed_at IS NULL)`

	tallyGenerations query = `SELECT generation, COUNT(*), SUM(CASE WHEN status IN ('FAILED', 'CANCELLED') THEN 1 ELSE 0 END)
		FROM operations WHERE run = $1 AND run <> '' AND queue <> ''
			AND generation >= (SELECT generations - 2 FROM runs WHERE id = $1)
		GROUP BY generation ORDER BY generation`
)

// Finalists implements ktrdr.Runs.
func (s *Store) Finalists(ctx context.Context, run string, generation, most int) ([]ktrdr.Operation, error) {
	return readAll(ctx, s, scanPlain, selectFinalists, run, generation, most)
}

// CloseGeneration implements ktrdr.Runs.
func (s *Store) CloseGeneration(
	ctx context.Context, run string, generation int, confirm *ktrdr.NewOperation, examined ...ktrdr.Examined,
) (changed bool, err error) {
	if confirm != nil {
		if err := s.checkNew(*confirm); err != nil {
			return false, err
		}
		if confirm.Run != run || confirm.Generation != generation || confirm.Look == nil || confirm.HasPlan {
			return false, ktrdr.Errorf(ktrdr.CodeInvalid, "a confirmation of generation %d of run %s belongs to it and has a look",
				generation, clip(run))
		}
	}
	fault.Hit(fault.LookClosing)
	for range idTries {
		err = s.write(ctx, normal, func(t *tx) error {
			changed = false
			if _, err := loadRun(ctx, t, updateRun, run); err != nil { // see changeRun
				return err
			}
			n, err := t.exec(ctx, closeGeneration, run, generation)
			changed = n == 1
			if err != nil || !changed {
				return err
			}
			if err := noteExaminations(ctx, t, examined); err != nil {
				return err
			}
			if err := s.chainRun(ctx, t, run); err != nil {
				return err
			}
			if confirm != nil {
				if _, err := s.create(ctx, t, newID(*confirm), *confirm, ktrdr.IdempotencyKey{}); err != nil {
					return err
				}
			}
			t.wakeWorkers()
			insertEvent(ctx, t, "", ktrdr.EventGenerationClosed, 0, runEvent{Run: run, Generation: &generation})
			return nil
		})
		if !errors.Is(err, errTaken) {
			break
		}
		if confirm.ID != "" {
			return false, ktrdr.Errorf(ktrdr.CodeConflict, "operation %s exists already", confirm.ID)
		}
	}
	if changed && err == nil {
		fault.Hit(fault.LookClosed)
	}
	return changed && err == nil, err
}

// noteExaminations stores with trials what their examinations came to.
func noteExaminations(ctx context.Context, t *tx, list []ktrdr.Examined) error {
	for _, x := range list {
		if _, err := t.exec(ctx, noteExamined, x.Research, x.Operation, x.State); err != nil {
			return err
		}
	}
	return nil
}

// TallyGenerations implements ktrdr.Runs.
func (s *Store) TallyGenerations(ctx context.Context, run string) ([]ktrdr.GenerationTally, error) {
	return readAll(ctx, s, fields(func(g *ktrdr.GenerationTally) []any {
		return []any{&g.Generation, &g.Researches, &g.Failed}
	}), tallyGenerations, run)
}
