package sqlstore

import (
	"context"

	"github.com/ktrdr/ktrdr"
)

// Trials and looks are summed up from the counters of the markets, which every
// view shows. What was tried or looked at on several of the markets counts once.
const (
	sumMarkets = ` SELECT COUNT(*),
		COALESCE(SUM(trials), 0) - (SELECT COUNT(*) FROM trials AS t WHERE t.main = 0 AND t.market_id IN (SELECT id FROM chosen) AND EXISTS (
			SELECT 1 FROM trials AS f WHERE f.operation_id = t.operation_id AND (f.main = 1 OR f.market_id < t.market_id)
				AND f.market_id IN (SELECT id FROM chosen))),
		COALESCE(SUM(looks), 0) - (SELECT COUNT(*) FROM look_markets AS l WHERE l.market_id IN (SELECT id FROM chosen) AND EXISTS (
			SELECT 1 FROM look_markets AS f WHERE f.look_key = l.look_key AND f.market_id < l.market_id
				AND f.market_id IN (SELECT id FROM chosen))), `

	chosen = `WITH chosen AS (SELECT id, trials, looks FROM markets WHERE merged_into IS NULL AND `

	tallyAll query = chosen + `trials > 0)` + sumMarkets + `(SELECT COUNT(*) FROM looks WHERE claim = 1),
			(SELECT COUNT(*) FROM trials WHERE main = 1 AND unaided = 1)
		FROM chosen`

	// All researches of a run are tried on the same markets, so that the first
	// of them names the markets.
	tallyRun query = chosen + `id IN (SELECT market_id FROM trials WHERE operation_id =
			(SELECT operation_id FROM trials WHERE run = $1 AND main = 1 ORDER BY created_at, market_id, key LIMIT 1)))` +
		sumMarkets + `(SELECT claims FROM runs WHERE id = $1),
			(SELECT COUNT(*) FROM trials WHERE run = $1 AND main = 1 AND unaided = 1)
		FROM chosen`

	// A run that was open in the span is of the span, though its researches may
	// have been created before.
	tallySince query = chosen + `trials > 0 AND (tried_at >= $1 OR id IN (
			SELECT market_id FROM trials WHERE operation_id IN (
				SELECT (SELECT t.operation_id FROM trials AS t WHERE t.run = r.id AND t.main = 1 ORDER BY t.created_at, t.market_id, t.key LIMIT 1)
				FROM (SELECT id FROM runs WHERE ended_at IS NULL
					UNION ALL SELECT id FROM runs WHERE ended_at IS NOT NULL AND ended_at >= $1) AS r))))` +
		sumMarkets + `(SELECT COUNT(*) FROM looks WHERE claim = 1 AND ended_at >= $1),
			(SELECT COUNT(*) FROM trials WHERE main = 1 AND unaided = 1 AND ended_at >= $1)
		FROM chosen`
)

// Tally implements ktrdr.Markets.
func (s *Store) Tally(ctx context.Context, q ktrdr.TallyQuery) (t ktrdr.Tally, err error) {
	text, args := tallyAll, []any{}
	switch {
	case q.Run != "" && !q.Since.IsZero():
		return t, ktrdr.Errorf(ktrdr.CodeInvalid, "a tally is of a run or of a span, not of both")
	case q.Run != "":
		text, args = tallyRun, []any{q.Run}
	case !q.Since.IsZero():
		text, args = tallySince, []any{micros(q.Since)}
	}
	err = s.read(ctx, func(r queryer) error {
		if q.Run != "" {
			if _, err := loadRun(ctx, r, selectRun, q.Run); err != nil {
				return err
			}
		}
		return r.row(ctx, text, args...).Scan(&t.Markets, &t.Trials, &t.Looks, &t.Claims, &t.Unaided)
	})
	return t, err
}
