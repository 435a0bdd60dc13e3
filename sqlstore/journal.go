package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	// mostUnsettled is how many calls of a key may be left in flight. The second
	// is the one repetition after a crash. A call that crashes its process twice
	// would crash it each time, and cost money each time.
	mostUnsettled = 2

	// mostMoney bounds one amount, a million dollars: no sum of them overflows.
	mostMoney ktrdr.MicroUSD = 1e12
)

// A call belongs to the day on which it was reserved, so that settling it later
// changes no other day.
const (
	sumCharged = `CAST(COALESCE(SUM(charged), 0) AS BIGINT)`
	midnight   = `{now} - {now} % 86400000000`

	selectSpending query = `SELECT ` + sumCharged + ` + (SELECT ` + sumCharged + ` FROM llm_spent WHERE day = ` + midnight + `),
			COUNT(*) + (SELECT CAST(COALESCE(SUM(calls), 0) AS BIGINT) FROM llm_spent WHERE day = ` + midnight + `),
			(SELECT ` + sumCharged + ` FROM llm_calls WHERE root_id = $1) + (SELECT ` + sumCharged + ` FROM llm_spent WHERE root_id = $1)
		FROM llm_calls WHERE at >= ` + midnight

	callColumns = `id, root_id, operation_id, epoch, key, model, status, charged, input_tokens, output_tokens,
		error, at, COALESCE(settled_at, 0), answer`

	insertCall query = `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, at)
		VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM llm_calls), $1, $2, $3, $4, $5, 'reserved', $6, {now})
		RETURNING ` + callColumns
	settleCall query = `UPDATE llm_calls SET status = $2, charged = $3, input_tokens = $4, output_tokens = $5,
			answer = $6, error = $7, settled_at = {now}
		WHERE id = $1 AND status = 'reserved'`

	selectRootOfClaim query = `SELECT root_id FROM operations WHERE ` + held + ` {lock}`
	selectCall        query = `SELECT ` + callColumns + ` FROM llm_calls WHERE id = $1`
	selectAnswered    query = `SELECT ` + callColumns + ` FROM llm_calls
		WHERE root_id = $1 AND key = $2 AND status = 'answered' ORDER BY id LIMIT 1`
	countUnsettled query = `SELECT COUNT(*) FROM llm_calls WHERE root_id = $1 AND key = $2 AND status = 'reserved'`
	selectCallsOf  query = `SELECT ` + callColumns + ` FROM llm_calls WHERE root_id = $1 ORDER BY id LIMIT $2`
	selectCalls    query = `SELECT ` + callColumns + ` FROM llm_calls ORDER BY id DESC LIMIT $1`
)

// ReserveCall implements ktrdr.Journal. The claim is looked at under a lock on
// its row, and the budget under one that all reservations take: what is found
// true is still true when the transaction commits.
func (s *Store) ReserveCall(ctx context.Context, c ktrdr.NewCall) (ktrdr.Call, error) {
	if err := checkCall(c); err != nil {
		return ktrdr.Call{}, err
	}
	var call ktrdr.Call
	err := s.fenced(ctx, func(t *tx) (err error) {
		call = ktrdr.Call{}
		root, err := scanValue[ktrdr.OperationID](t.row(ctx, selectRootOfClaim, c.Operation, c.Epoch))
		if errors.Is(err, sql.ErrNoRows) {
			return refusal(ctx, t, c.Operation, ktrdr.Act{Input: ktrdr.Save, Epoch: c.Epoch})
		}
		if err != nil {
			return err
		}
		s.lockMeta(ctx, t, metaCalls)
		call, err = reserve(ctx, t, c, root)
		return err
	})
	return call, err
}

// reserve answers from the journal, or reserves what the call can cost.
func reserve(ctx context.Context, t *tx, c ktrdr.NewCall, root ktrdr.OperationID) (ktrdr.Call, error) {
	call, err := scanCall(t.row(ctx, selectAnswered, root, c.Key.String()))
	if !errors.Is(err, sql.ErrNoRows) {
		return call, err
	}
	unsettled, err := scanValue[int](t.row(ctx, countUnsettled, root, c.Key.String()))
	if err != nil {
		return ktrdr.Call{}, err
	}
	if unsettled >= mostUnsettled {
		return ktrdr.Call{}, ktrdr.Errorf(ktrdr.CodePoison,
			"%d calls of %s with the same question were lost on their way and may have been billed; the question is not repeated: "+
				"find out what ends the process during the call", unsettled, root)
	}
	spent, err := scanSpending(t.row(ctx, selectSpending, root))
	if err == nil {
		err = affordable(c, root, spent)
	}
	if err != nil {
		return ktrdr.Call{}, err
	}
	return scanCall(t.row(ctx, insertCall, root, c.Operation, c.Epoch, c.Key.String(), c.Model, c.Most))
}

// affordable says why there is no money for a call. What costs nothing needs
// none, also where a budget was lowered below what is spent.
func affordable(c ktrdr.NewCall, root ktrdr.OperationID, spent ktrdr.Spending) error {
	switch {
	case c.Most == 0:
		return nil
	case c.Most > c.Daily-spent.Today:
		return ktrdr.Errorf(ktrdr.CodeBudget,
			"a call to %s may cost %s, and of the %s for a day %s are spent or reserved; raise the daily budget, or wait until midnight UTC",
			c.Model, dollars(c.Most), dollars(c.Daily), dollars(spent.Today))
	case c.Most > c.Research-spent.Research:
		return ktrdr.Errorf(ktrdr.CodeBudget,
			"a call to %s may cost %s, and of the %s for one research %s are spent or reserved by %s; raise the budget of a research",
			c.Model, dollars(c.Most), dollars(c.Research), dollars(spent.Research), root)
	}
	return nil
}

func dollars(m ktrdr.MicroUSD) string { return "$" + strconv.FormatFloat(m.USD(), 'f', -1, 64) }

// checkCall refuses what makes no sense to reserve.
func checkCall(c ktrdr.NewCall) error {
	switch {
	case !c.Operation.Valid():
		return notFound(c.Operation)
	case c.Key == ktrdr.Hash{}:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a call is reserved under the hash of the request, and this call has no hash")
	case c.Model == "" || !storable(c.Model, 255):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a call names its model in 1 to 255 bytes of text")
	case c.Most < 0 || c.Most > mostMoney:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a call to %s costs %s to %s, not %s", c.Model, dollars(0), dollars(mostMoney), dollars(c.Most))
	case c.Daily < 0 || c.Research < 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a budget is not negative: %s for a day, %s for a research", dollars(c.Daily), dollars(c.Research))
	}
	return nil
}

// SettleCall implements ktrdr.Journal. CodeNotFound when there is no such call.
func (s *Store) SettleCall(ctx context.Context, e ktrdr.CallEnd) error {
	e.Error = shortened(e.Error)
	if err := checkEnd(e); err != nil {
		return err
	}
	return s.write(ctx, normal, func(t *tx) error {
		n, err := t.exec(ctx, settleCall, e.ID, e.Status, e.Cost, e.Input, e.Output, optional(e.Answer), e.Error)
		if err != nil || n == 1 {
			return err
		}
		return settledBefore(ctx, t, e)
	})
}

// settledBefore answers an end whose first answer was lost.
func settledBefore(ctx context.Context, t *tx, e ktrdr.CallEnd) error {
	call, err := scanCall(t.row(ctx, selectCall, e.ID))
	if err != nil {
		return ifNoRow(err, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no call %d", e.ID))
	}
	if call.Status == e.Status && call.Charged == e.Cost && call.Input == e.Input && call.Output == e.Output &&
		call.Error == e.Error && sameJSON(call.Answer, e.Answer) {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeConflict, "call %d is settled already: %s for %s; the first end stands", e.ID, call.Status,
		dollars(call.Charged))
}

// checkEnd refuses what could not be stored, or not be read for what it is.
func checkEnd(e ktrdr.CallEnd) error {
	switch {
	case e.Status != ktrdr.CallAnswered && e.Status != ktrdr.CallFailed:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a call ends %s or %s, not %q", ktrdr.CallAnswered, ktrdr.CallFailed, clip(string(e.Status)))
	case e.Cost < 0 || e.Cost > mostMoney:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "call %d costs %s to %s, not %s", e.ID, dollars(0), dollars(mostMoney), dollars(e.Cost))
	case e.Input < 0 || e.Output < 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "call %d has %d and %d tokens; neither can be negative", e.ID, e.Input, e.Output)
	case len(e.Answer) > ktrdr.MaxAnswer:
		return ktrdr.Errorf(ktrdr.CodeTooLarge, "the answer to call %d has %d bytes; at most %d are kept", e.ID, len(e.Answer), ktrdr.MaxAnswer)
	case e.Status == ktrdr.CallAnswered && (!validJSON(e.Answer) || e.Error != ""):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "answered call %d has an answer, in JSON, and no error", e.ID)
	case e.Status == ktrdr.CallFailed && (len(e.Answer) > 0 || e.Error == ""):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "failed call %d has an error and no answer", e.ID)
	}
	return nil
}

// Spending implements ktrdr.Journal.
func (s *Store) Spending(ctx context.Context, root ktrdr.OperationID) (spent ktrdr.Spending, err error) {
	if root != "" && !root.Valid() {
		return spent, notFound(root)
	}
	return readRow(ctx, s, scanSpending, selectSpending, root)
}

var scanSpending = fields(func(s *ktrdr.Spending) []any { return []any{&s.Today, &s.Calls, &s.Research} })

// Calls implements ktrdr.Journal.
func (s *Store) Calls(ctx context.Context, root ktrdr.OperationID, limit int) (calls []ktrdr.Call, err error) {
	if err := checkLimit(&limit); err != nil {
		return nil, err
	}
	text, args := selectCalls, []any{limit}
	if root != "" {
		if !root.Valid() {
			return nil, notFound(root)
		}
		text, args = selectCallsOf, []any{root, limit}
	}
	return readAll(ctx, s, scanCall, text, args...)
}

var scanCall = fields(func(c *ktrdr.Call) []any {
	return []any{
		&c.ID, &c.Root, &c.Operation, &c.Epoch, (*digest)(&c.Key), &c.Model, &c.Status, &c.Charged, &c.Input, &c.Output,
		&c.Error, (*moment)(&c.At), (*moment)(&c.SettledAt), (*document)(&c.Answer),
	}
})

// youngestPast keeps the calls of the last day as they are: one that was in
// flight when its research ended may still be settled.
const youngestPast = 24 * time.Hour

// expireCalls deletes calls of researches that can no longer be resumed: their
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
