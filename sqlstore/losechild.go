package sqlstore

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// loseChild makes Step's LoseChild transition. $1 is the failure of a cancelled
// operation, $2 and $3 are the failure and the message of poison, $4 is how the
// process died, $5 how many losses make poison.
const loseChild query = `UPDATE operations SET
		status = ` + ifCancelled + `'CANCELLED' WHEN losses + 1 >= $5 THEN 'FAILED' ELSE 'PENDING' END,
		error = ` + ifCancelled + `$1 WHEN losses + 1 >= $5 THEN $2 ELSE NULL END,
		error_message = ` + ifCancelled + cancelledMessage + ` WHEN losses + 1 >= $5 THEN $3 ELSE '' END,
		completed_at = CASE WHEN cancel_requested = 1 OR losses + 1 >= $5 THEN {now} ELSE NULL END,
		ended_by = CASE WHEN cancel_requested = 1 OR losses + 1 >= $5 THEN 'losechild' ELSE '' END,
		reason = $4, released_by = 'child', held_by = '', not_before = NULL, losses = losses + 1
	WHERE id = $6 AND epoch = $7 AND has_plan = 0 AND ` + isLive + `
	RETURNING {operation}`

// loseChild gives back what a child process ran that died, or fails it as
// poison.
func (s *Store) loseChild(ctx context.Context, r ktrdr.Released) error {
	how := cmp.Or(shortened(r.Reason), "it did not say how")
	failure := failureText(ktrdr.NewFailure(ktrdr.CodePoison, fmt.Errorf("its child processes keep dying: %s", how)))
	message := fmt.Sprintf("Operation lost %d child processes in a row without getting further, the last by %s; find out what ends them, "+
		"then resume or retry it", ktrdr.PoisonLosses, how)
	return s.giveBack(ctx, ktrdr.LoseChild, r, loseChild, cancelledFailure, failure, message, how, ktrdr.PoisonLosses)
}
