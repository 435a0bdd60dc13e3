package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// youngestPast keeps the calls of the last day as they are: one that was in
// flight when its research ended may still be settled.
const youngestPast = 24 * time.Hour

// expireCalls deletes calls of researches that can no longer go on, so that their
// answers are not needed again. A trigger adds them to llm_spent. The
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
	n, err := s.exec(ctx, expireCalls, max(age, youngestPast).Microseconds(), removeAtOnce)
	return int(n), err
}

// CallSums implements ktrdr.Journal. It sums up the calls that are kept and those
// that are not. A run's calls are found by the research that each belongs to.
func (s *Store) CallSums(ctx context.Context, from time.Time, run string) (sums []ktrdr.CallSum, err error) {
	of, args := func(string) string { return "" }, []any{micros(from)}
	if run != "" {
		of = func(table string) string {
			return " AND EXISTS (SELECT 1 FROM operations AS o WHERE o.id = " + table + ".root_id AND o.run = $2)"
		}
		args = append(args, run)
	}
	sum := func(column string) string { return "CAST(SUM(" + column + ") AS BIGINT)" }
	text := query(fmt.Sprintf(`SELECT model, status, %s, %s, %s, %s FROM (
			SELECT model, status, 1 AS calls, charged, input_tokens, output_tokens FROM llm_calls WHERE at >= $1 AND error <> '`+ktrdr.NotAsked+`'%s
			UNION ALL
			SELECT model, status, calls, charged, input_tokens, output_tokens FROM llm_spent WHERE day > $1 - 86400000000%s
		) AS c GROUP BY model, status ORDER BY model, status`,
		sum("calls"), sum("charged"), sum("input_tokens"), sum("output_tokens"), of("llm_calls"), of("llm_spent")))
	return readAll(ctx, s, fields(func(c *ktrdr.CallSum) []any {
		return []any{&c.Model, &c.Status, &c.Calls, &c.Charged, &c.Input, &c.Output}
	}), text, args...)
}
