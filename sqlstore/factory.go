package sqlstore

import (
	"context"

	"github.com/ktrdr/ktrdr"
)

const (
	takeTestNumber query = `UPDATE markets SET tests = tests + 1 WHERE id = $1 RETURNING tests - 1`
	reserveTest    query = `UPDATE runs SET test_reserved_at = {now}, test_before = $2 WHERE id = $1 AND test_reserved_at IS NULL`
	endTestOnce    query = `UPDATE runs SET test_id = $2, test_p = $3, test_threshold = $4, test_copies = $5, test_best = $6,
			test_passed = $7, tested_at = {now}
		WHERE id = $1 AND test_reserved_at IS NOT NULL AND tested_at IS NULL`
)

// ReserveTest implements ktrdr.Runs. The row of the run is locked before the markets.
func (s *Store) ReserveTest(ctx context.Context, run string, markets []string, before int) (ktrdr.RunTest, error) {
	if len(markets) == 0 {
		return ktrdr.RunTest{}, ktrdr.Errorf(ktrdr.CodeInvalid, "the test of a run is on one market at least")
	}
	return inWrite(ctx, s, func(t *tx) (ktrdr.RunTest, error) {
		row, err := loadRun(ctx, t, updateRun, run)
		if err != nil || !row.Test.ReservedAt.IsZero() {
			return row.Test, err
		}
		locked, err := lockMarkets(ctx, t, markets)
		if err != nil {
			return ktrdr.RunTest{}, err
		}
		var ids []string
		for _, m := range markets {
			ids = append(ids, locked[m].id)
		}
		for _, id := range distinct(ids) {
			n, err := scanValue[int](t.row(ctx, takeTestNumber, id))
			if err != nil {
				return ktrdr.RunTest{}, err
			}
			before = max(before, n)
		}
		t.later(ctx, reserveTest, run, before)
		row, err = loadRun(ctx, t, selectRun, run)
		return row.Test, err
	})
}

// endTest stores what the test of a run came to, once.
func endTest(ctx context.Context, t *tx, op ktrdr.OperationID, r ktrdr.RunTested) {
	t.wake()
	t.later(ctx, endTestOnce, r.Run, op, finite(r.P), r.Threshold, r.Copies, r.Best, bit(r.Passed))
}
