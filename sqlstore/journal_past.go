package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// youngestPast keeps the calls of the last day as they are: one that was in
// flight when its research ended may still be settled.
const youngestPast = 24 * time.Hour

// expireCalls deletes calls of researches that can no longer go on, so that
// nobody asks for their answers again. A trigger adds them to llm_spent. The
// last of all stays, so that no number is given twice.
const expireCalls query = `DELETE FROM llm_calls WHERE id IN (SELECT c.id FROM llm_calls c
	WHERE c.at <= {now} - CAST($1 AS BIGINT) AND c.id < (SELECT MAX(id) FROM llm_calls)
		AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.id = c.root_id
			AND (o.` + isOpen + ` OR o.status <> 'COMPLETED' AND o.ckpt_id IS NOT NULL))
	ORDER BY c.at LIMIT $2)`

// ExpireCalls implements ktrdr.Journal.
func (s *Store) ExpireCalls(ctx context.Context, age time.Duration) (int, error) {
	if age < 0 {
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "calls cannot expire at an age of %v", age)
	}
	var n int64
	err := s.write(ctx, normal, func(t *tx) (err error) {
		n, err = t.exec(ctx, expireCalls, max(age, youngestPast).Microseconds(), removeAtOnce)
		return err
	})
	return int(n), err
}

// CallSums implements ktrdr.Journal.
func (s *Store) CallSums(ctx context.Context, from time.Time, roots []ktrdr.OperationID) (sums []ktrdr.CallSum, err error) {
	if roots == nil {
		return s.callSums(ctx, from, "", nil)
	}
	total := map[ktrdr.CallSum]ktrdr.CallSum{} // by what is not a number
	for some := range slices.Chunk(roots, keysAtOnce) {
		list, args := padded(2, some, func(id ktrdr.OperationID) any { return id })
		part, err := s.callSums(ctx, from, " AND root_id IN ("+list+")", args)
		if err != nil {
			return nil, err
		}
		for _, c := range part {
			key := ktrdr.CallSum{Model: c.Model, Status: c.Status}
			t := total[key]
			total[key] = ktrdr.CallSum{
				Model: c.Model, Status: c.Status, Calls: t.Calls + c.Calls, Charged: t.Charged + c.Charged,
				Input: t.Input + c.Input, Output: t.Output + c.Output,
			}
		}
	}
	for _, c := range total {
		sums = append(sums, c)
	}
	slices.SortFunc(sums, func(a, b ktrdr.CallSum) int {
		return cmp.Or(strings.Compare(a.Model, b.Model), cmp.Compare(a.Status, b.Status))
	})
	return sums, nil
}

// callSums has the database sum up the calls that are kept and those that are
// not, under a condition on the research.
func (s *Store) callSums(ctx context.Context, from time.Time, of string, args []any) (sums []ktrdr.CallSum, err error) {
	sum := func(column string) string { return "CAST(SUM(" + column + ") AS BIGINT)" }
	text := query(fmt.Sprintf(`SELECT model, status, %s, %s, %s, %s FROM (
			SELECT model, status, 1 AS calls, charged, input_tokens, output_tokens FROM llm_calls WHERE at >= $1 AND error <> '`+ktrdr.NotAsked+`'%s
			UNION ALL
			SELECT model, status, calls, charged, input_tokens, output_tokens FROM llm_spent WHERE day > $1 - 86400000000%s
		) AS c GROUP BY model, status ORDER BY model, status`,
		sum("calls"), sum("charged"), sum("input_tokens"), sum("output_tokens"), of, of))
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, text, append([]any{micros(from)}, args...)...)
		sums, err = gather(rows, err, func(row scanner) (c ktrdr.CallSum, err error) {
			err = row.Scan(&c.Model, &c.Status, &c.Calls, &c.Charged, &c.Input, &c.Output)
			return c, err
		})
		return err
	})
	return sums, err
}
