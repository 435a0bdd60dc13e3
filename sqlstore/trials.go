package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
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
		t.cheap_costs, t.unaided, t.result_hash,
		(SELECT MAX(of_m.trials) FROM trials AS of_t JOIN markets AS of_m ON of_m.id = of_t.market_id WHERE of_t.operation_id = t.operation_id),
		(SELECT MAX(of_m.looks) FROM trials AS of_t JOIN markets AS of_m ON of_m.id = of_t.market_id WHERE of_t.operation_id = t.operation_id),
		COALESCE(l.operation_id, ''), COALESCE(l.ended_at, 0), COALESCE(l.claim, 0), l.adjusted_p
	FROM `
	joinRest = ` JOIN operations AS o ON o.id = t.operation_id LEFT JOIN looks AS l ON l.key = (SELECT first.key FROM looks AS first
			WHERE first.research_id = t.operation_id AND first.research_id <> '' AND first.kind = 'confirmation'
			ORDER BY first.reserved_at, first.key LIMIT 1)`
)

func scanTrial(row scanner) (t ktrdr.Trial, err error) {
	var looked int64
	err = row.Scan(&t.Market, &t.Key, &t.Operation, &t.Type, &t.Run, &t.Generation, &t.Index, &t.Symbols, &t.Timeframes,
		fromBit(&t.MadeUp), (*moment)(&t.CreatedAt), &t.Status, &t.Rung, &t.Strategy,
		&t.Sharpe, &t.SharpeZ, &t.Alpha, &t.AlphaZ, &t.NetReturn, &t.MaxDrawdown, &t.Trades,
		(*boolean)(&t.CheapCosts), (*boolean)(&t.Unaided), (*digest)(&t.Hash),
		&t.MarketTrials, &t.MarketLooks, &t.Look, &looked, (*boolean)(&t.Claim), &t.Adjusted)
	t.LookEnded = looked != 0
	return t, err
}

func optionalBool(x sql.NullBool) *bool {
	if !x.Valid {
		return nil
	}
	return &x.Bool
}

// optionalBit is how a truth that may not be known is stored.
func optionalBit(x *bool) any {
	if x == nil {
		return nil
	}
	return bit(*x)
}

// Trials implements ktrdr.Markets.
func (s *Store) Trials(ctx context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error) {
	q.Limit = cmp.Or(q.Limit, defaultPage)
	if q.Limit < 1 || q.Limit > largestPage {
		return ktrdr.TrialPage{}, ktrdr.Errorf(ktrdr.CodeInvalid, "limit must be 1 to %d, not %d", largestPage, q.Limit)
	}
	if err := checkTrialQuery(q); err != nil {
		return ktrdr.TrialPage{}, err
	}
	if q.ByScore {
		best, err := s.bestTrials(ctx, q)
		return ktrdr.TrialPage{Trials: best}, err
	}
	text, args, err := trialsQuery(q)
	if err != nil {
		return ktrdr.TrialPage{}, err
	}
	found, err := readAll(ctx, s, scanTrial, text, args...)
	page := ktrdr.TrialPage{}
	var last *ktrdr.Trial
	if page.Trials, last = pageOf(found, q.Limit); last != nil {
		page.Next = placeCursor(micros(last.CreatedAt), last.Market+" "+last.Key)
	}
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
	var args []any
	arg := adder(&args)
	where := append([]string{"t.main = 1"}, trialConditions(q, "t", arg)...)
	if q.Cursor != "" {
		at, name, err := parsePlace(q.Cursor)
		market, key, found := strings.Cut(name, " ")
		if err != nil || !found {
			return "", nil, ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %q is not one this server gave; begin without a cursor", clip(q.Cursor))
		}
		where = append(where, "(t.created_at, t.market_id, t.key) < ("+arg(at)+", "+arg(market)+", "+arg(key)+")")
	}
	const order = " ORDER BY t.created_at DESC, t.market_id DESC, t.key DESC"
	page := "SELECT * FROM trials AS t WHERE " + strings.Join(where, " AND ") + order + " LIMIT " + arg(q.Limit+1)
	return query(selectTrialColumns + "(" + page + ") AS t JOIN markets AS m ON m.id = t.market_id" + joinRest + order), args, nil
}

// marketNow is the id of a market, or of the market that it was merged into.
func marketNow(id string) string {
	return "(SELECT COALESCE(merged_into, id) FROM markets WHERE id = " + id + ")"
}

// trialConditions are those of a query, on the table under a name.
func trialConditions(q ktrdr.TrialQuery, table string, arg func(any) string) (where []string) {
	column := func(name string) string { return table + "." + name }
	// LIKE would not tell small letters from capital ones on SQLite.
	has := func(name, word string) string {
		words := "' ' || " + column(name) + " || ' '"
		return "replace(" + words + ", " + arg(" "+word+" ") + ", '') <> " + words
	}
	if q.Run != "" {
		where = append(where, column("run")+" = "+arg(q.Run))
	}
	if q.Market != "" {
		where = append(where, column("market_id")+" = "+marketNow(arg(q.Market)))
	}
	if q.Symbol != "" {
		where = append(where, has("symbols", q.Symbol))
	}
	if q.Timeframe != "" {
		where = append(where, has("timeframes", q.Timeframe))
	}
	if q.Type != "" {
		where = append(where, "EXISTS (SELECT 1 FROM operations AS typed WHERE typed.id = "+column("operation_id")+
			" AND typed.operation_type = "+arg(q.Type)+")")
	}
	if q.Ended {
		where = append(where, column("ended")+" = 1")
	}
	if !q.Since.IsZero() {
		where = append(where, column("ended_at")+" >= "+arg(micros(q.Since)))
	}
	if len(q.Of) > 0 {
		where = append(where, column("operation_id")+" IN ("+each(distinct(q.Of), arg)+")")
	}
	return where
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
		return 0, "", ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %q is not one this server gave; begin without a cursor", clip(s))
	}
	return us, name, nil
}
