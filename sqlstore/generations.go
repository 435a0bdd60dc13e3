package sqlstore

import (
	"context"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

const (
	selectFinalist query = `SELECT {operation} FROM operations
		WHERE run = $1 AND run <> '' AND queue <> '' AND generation = $2 AND status = 'COMPLETED' AND rung = 'finalist' AND score IS NOT NULL
		ORDER BY score DESC, idx, id LIMIT 1`

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

// Finalist implements ktrdr.Runs.
func (s *Store) Finalist(ctx context.Context, run string, generation int) (*ktrdr.Operation, error) {
	best, found, err := optionalRow(readRow(ctx, s, scanPlain, selectFinalist, run, generation))
	if !found {
		return nil, err
	}
	return &best, nil
}

// CloseGeneration implements ktrdr.Runs.
func (s *Store) CloseGeneration(ctx context.Context, run string, generation int, confirm *ktrdr.NewOperation) (changed bool, err error) {
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

// TallyGenerations implements ktrdr.Runs.
func (s *Store) TallyGenerations(ctx context.Context, run string) ([]ktrdr.GenerationTally, error) {
	return readAll(ctx, s, fields(func(g *ktrdr.GenerationTally) []any {
		return []any{&g.Generation, &g.Researches, &g.Failed}
	}), tallyGenerations, run)
}
