package sqlstore

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Trials with what is known of them now: the operation, the market and the look
// that confirmed them.
const (
	selectTrialColumns = `SELECT t.market_id, t.key, t.operation_id, o.operation_type, t.run, t.generation, t.idx, t.symbols, t.timeframes,
		t.made_up, t.created_at, o.status, o.rung, t.strategy, t.sharpe, t.sharpe_z, t.alpha, t.alpha_z, t.net_return, t.max_drawdown, t.trades,
		t.cheap_costs, t.unaided, t.result_hash, t.stopped_by,
		(SELECT MAX(of_m.trials) FROM trials AS of_t JOIN markets AS of_m ON of_m.id = of_t.market_id WHERE of_t.operation_id = t.operation_id),
		(SELECT MAX(of_m.looks - of_m.looks_past) FROM trials AS of_t JOIN markets AS of_m ON of_m.id = of_t.market_id
			WHERE of_t.operation_id = t.operation_id),
		COALESCE(l.operation_id, ''), CASE WHEN l.ended_at IS NULL THEN 0 ELSE 1 END, COALESCE(l.claim, 0), l.adjusted_p,
		t.examination_id, t.examined
	FROM `
	joinRest = ` JOIN operations AS o ON o.id = t.operation_id LEFT JOIN looks AS l ON l.key = (SELECT first.key FROM looks AS first
			WHERE first.research_id = t.operation_id AND first.research_id <> '' AND first.kind = 'confirmation'
			ORDER BY first.reserved_at, first.key LIMIT 1)`
)

var scanTrial = fields(func(t *ktrdr.Trial) []any {
	return []any{
		&t.Market, &t.Key, &t.Operation, &t.Type, &t.Run, &t.Generation, &t.Index, &t.Symbols, &t.Timeframes,
		fromBit(&t.MadeUp), (*moment)(&t.CreatedAt), &t.Status, &t.Rung, &t.Strategy,
		&t.Sharpe, &t.SharpeZ, &t.Alpha, &t.AlphaZ, &t.NetReturn, &t.MaxDrawdown, &t.Trades,
		(*boolean)(&t.CheapCosts), (*boolean)(&t.Unaided), (*digest)(&t.Hash), &t.StoppedBy,
		&t.MarketTrials, &t.MarketLooks, &t.Look, (*boolean)(&t.LookEnded), (*boolean)(&t.Claim), &t.Adjusted,
		&t.Examination, &t.Examined,
	}
})

// optionalBit is how a truth that may not be known is stored.
func optionalBit(x *bool) any {
	if x == nil {
		return nil
	}
	return bit(*x)
}

// Trials implements ktrdr.Markets.
func (s *Store) Trials(ctx context.Context, q ktrdr.TrialQuery) (page ktrdr.TrialPage, err error) {
	if err := checkLimit(&q.Limit); err != nil {
		return page, err
	}
	if err := checkTrialQuery(q); err != nil {
		return page, err
	}
	if q.ByScore {
		page.Trials, err = s.bestTrials(ctx, q)
		return page, err
	}
	text, args, err := trialsQuery(q)
	if err != nil {
		return page, err
	}
	found, err := readAll(ctx, s, scanTrial, text, args...)
	page.Trials, page.Next = pageOf(found, q.Limit, func(t ktrdr.Trial) string {
		return placeCursor(micros(t.CreatedAt), t.Market+" "+t.Key)
	})
	return page, err
}

func checkTrialQuery(q ktrdr.TrialQuery) error {
	if len(q.Of) > largestPage {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "at most %d operations may be named, not %d", largestPage, len(q.Of))
	}
	if !storable(q.Run, 255) || !storable(q.Symbol, 255) || !storable(q.Market, 64) || !storable(string(q.Type), 64) ||
		!storable(q.Timeframe, 32) {
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"trials are selected by a run or symbol of at most 255 bytes of text, a market or type of at most 64 and a timeframe of at most 32")
	}
	return nil
}

// trialsQuery writes the statement of a page and one trial more. What is known of
// them is looked up for the page alone.
func trialsQuery(q ktrdr.TrialQuery) (query, []any, error) {
	var c conditions
	c.add("t.main = 1")
	c.ofTrials(q, "t.")
	if q.Cursor != "" {
		at, name, err := parsePlace(q.Cursor)
		market, key, found := strings.Cut(name, " ")
		if err != nil || !found {
			return "", nil, badCursor(q.Cursor)
		}
		c.add("(t.created_at, t.market_id, t.key) < (?, ?, ?)", at, market, key)
	}
	const order = " ORDER BY t.created_at DESC, t.market_id DESC, t.key DESC"
	page, args := c.page("* FROM trials AS t", order, q.Limit+1)
	return selectTrialColumns + "(" + page + ") AS t JOIN markets AS m ON m.id = t.market_id" + joinRest + order, args, nil
}

// marketNow is the id of a market, or of the market that it was merged into.
const marketNow = "(SELECT COALESCE(merged_into, id) FROM markets WHERE id = ?)"

// ofTrials adds the conditions of a query, on columns with a prefix.
func (c *conditions) ofTrials(q ktrdr.TrialQuery, table string) {
	// LIKE would not tell small letters from capital ones on SQLite.
	has := func(column, word string) {
		words := "' ' || " + table + column + " || ' '"
		c.when(word != "", "replace("+words+", ?, '') <> "+words, " "+word+" ")
	}
	c.when(q.Run != "", table+"run = ?", q.Run)
	c.when(q.Market != "", table+"market_id = "+marketNow, q.Market)
	has("symbols", q.Symbol)
	has("timeframes", q.Timeframe)
	c.when(q.Type != "", table+"operation_type = ?", q.Type)
	c.when(q.Ended, table+"ended = 1")
	c.when(!q.Since.IsZero(), table+"ended_at >= ?", micros(q.Since))
	in(c, table+"operation_id", q.Of)
}

// A place cursor is an instant and a name, opaque to clients.
func placeCursor(us int64, name string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", us, name))
}

func parsePlace(s string) (int64, string, error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	at, name, found := strings.Cut(string(text), " ")
	us, err2 := strconv.ParseInt(at, 10, 64)
	if err != nil || err2 != nil || !found || !storable(name, 512) {
		return 0, "", badCursor(s)
	}
	return us, name, nil
}

func badCursor(s string) error {
	return ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %q is not one this server gave; begin without a cursor", clip(s))
}
