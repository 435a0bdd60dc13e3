package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// TrialPoints implements ktrdr.Markets. Looks are joined as one small table: a
// holdout is opened for finalists only. A trial ends when its operation completes,
// and then says all itself; only those that have not ended look up theirs.
func (s *Store) TrialPoints(ctx context.Context, q ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error) {
	if err := checkTrialQuery(q); err != nil {
		return nil, err
	}
	var c conditions
	c.add("t.main = 1")
	since := q.Since
	q.Since = time.Time{}
	c.ofTrials(q, "t.")
	c.when(!since.IsZero(), "(t.ended = 0 OR t.ended_at >= ?)", micros(since)) // what runs belongs to every span
	text, args := c.page(`t.operation_id, t.market_id, COALESCE(o.status, 'COMPLETED'), COALESCE(o.rung, t.rung), t.sharpe, t.sharpe_z,
			COALESCE(l.ended, 0), COALESCE(l.claim, 0), t.stopped_by
		FROM trials AS t LEFT JOIN operations AS o ON o.id = CASE WHEN t.ended = 0 THEN t.operation_id END
		LEFT JOIN (SELECT research_id, MAX(claim) AS claim, MAX(CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END) AS ended
			FROM looks WHERE kind = 'confirmation' AND research_id <> '' GROUP BY research_id) AS l ON l.research_id = t.operation_id`,
		" ORDER BY t.created_at DESC, t.market_id DESC, t.key DESC", ktrdr.MostTrialPoints)
	points, err := readAll(ctx, s, scanTrialPoint, text, args...)
	slices.Reverse(points)
	return points, err
}

func scanTrialPoint(row scanner) (p ktrdr.TrialPoint, err error) {
	err = row.Scan(&p.Operation, &p.Market, &p.Status, &p.Rung, &p.Sharpe, &p.SharpeZ, (*boolean)(&p.Looked), (*boolean)(&p.Claim),
		&p.StoppedBy)
	return p, err
}
