package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// loseWorker fails operations whose worker is silent. $1 is the failure of a
// cancelled one; $2 and $3 are the failure and the message of poison, $4 and
// $5 those of an orphan; $6 is how many losses make poison.
const loseWorker = `UPDATE operations SET
		status = ` + ifCancelled + `'CANCELLED' ELSE 'FAILED' END,
		error = ` + ifCancelled + `$1 WHEN losses + 1 >= $6 THEN $2 ELSE $4 END,
		error_message = ` + ifCancelled + cancelledMessage + ` WHEN losses + 1 >= $6 THEN $3 ELSE $5 END,
		losses = losses + 1, completed_at = {now}, ended_by = 'loseworker'
	WHERE `

var (
	messagePoison = fmt.Sprintf("Operation lost %d workers in a row without getting further; find out what ends them, then resume or retry it",
		ktrdr.PoisonLosses)

	loseWorkerArgs = []any{
		cancelledFailure,
		failureText(ktrdr.NewFailure(ktrdr.CodePoison, errors.New("its workers keep falling silent"))), messagePoison,
		failureText(ktrdr.NewFailure(ktrdr.CodeOrphaned, errors.New("its worker was silent for the whole timeout"))), ktrdr.MessageOrphaned,
		ktrdr.PoisonLosses,
	}
)

// orphan makes Step's LoseWorker transition for every operation that has not
// been heard of for the timeout, on the store's clock. What a silent backend
// ran in process is not the worker's loss: it waits until the backend itself
// is dead, and then goes by the policy for that.
func (s *Store) orphan(ctx context.Context, p ktrdr.RecoveryPolicy, r *ktrdr.Recovered) error {
	silent := func(from int) (string, []any) {
		return fmt.Sprintf(`has_plan = 0 AND %s AND COALESCE(heartbeat_at, claimed_at) <= {now} - $%d
			AND (held_by = '' OR EXISTS (SELECT 1 FROM backends WHERE incarnation = operations.held_by
				AND seen_at > {now} - $%d))`, isLive, from, from+1),
			[]any{p.Timeout.Microseconds(), p.Late.Microseconds()}
	}
	return s.treat(ctx, silent, r, func(t *tx, all []found) (ktrdr.Recovered, error) {
		var part ktrdr.Recovered
		lost, err := update(ctx, t, loseWorker, loseWorkerArgs, silent, all)
		if err != nil {
			return part, err
		}
		var asks []ask
		for _, op := range lost {
			o := ktrdr.Orphan{
				Operation: op.ID, Epoch: op.Epoch, Worker: op.Worker,
				Silent: op.CompletedAt.Sub(op.HeartbeatAt),
				Poison: op.Status == ktrdr.Failed && op.Losses >= ktrdr.PoisonLosses,
			}
			if p.AutoResume && op.Status == ktrdr.Failed && !o.Poison {
				if o.Resumed, err = resumeForParent(ctx, t, op); err != nil {
					return part, err
				}
			}
			if !o.Resumed {
				asks = append(asks, parentOf(op)...)
			}
			part.Orphaned = append(part.Orphaned, o)
		}
		return part, s.settle(ctx, t, asks...)
	})
}

// resumeForParent resumes an orphan whose parent still wants it. It needs no
// checkpoint: it would begin again anyway.
func resumeForParent(ctx context.Context, t *tx, op operationRow) (bool, error) {
	if op.Parent == "" {
		return false, nil
	}
	parent, err := load(ctx, t, op.Parent)
	if err != nil {
		return false, fmt.Errorf("parent of %s: %w", op.ID, err)
	}
	if parent.Status.Terminal() || parent.closed() {
		return false, nil
	}
	if cancelled, err := runCancelled(ctx, t, shareRun, op.Run); err != nil || cancelled {
		return false, err
	}
	_, err = resume(ctx, t, op.ID)
	return err == nil, err
}
