package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

const (
	// Of the rows of an operation one has main = 1, so that lists show the
	// operation once.
	insertTrial query = `INSERT INTO trials (market_id, key, main, operation_id, run, generation, idx, symbols, timeframes, made_up,
		operation_type, created_at)
		VALUES ($1, $2, CASE WHEN EXISTS (SELECT 1 FROM trials WHERE operation_id = $3 AND main = 1) THEN 0 ELSE 1 END,
			$3, $4, $5, $6, $7, $8, $9, $10, {now}) ON CONFLICT (market_id, key) DO NOTHING`
	// A trial whose operation came to nothing is that of the next operation that
	// tries the same.
	takeTrial query = `UPDATE trials SET operation_id = $3, operation_type = $4,
			main = CASE WHEN EXISTS (SELECT 1 FROM trials AS other WHERE other.operation_id = $3 AND other.main = 1) THEN 0 ELSE 1 END
		WHERE market_id = $1 AND key = $2 AND operation_id <> $3
			AND EXISTS (SELECT 1 FROM operations WHERE id = trials.operation_id AND ` + isStopped + `)`

	// Reports count the markets of a span by it.
	markTried query = `UPDATE markets SET tried_at = {now} WHERE id = $1`

	selectTriedOn query = `SELECT market_id, symbols, timeframes, made_up FROM trials WHERE operation_id = $1 ORDER BY main DESC, market_id`
	selectRetried query = `SELECT trials, look FROM operations WHERE id = $1`

	endTrial query = `UPDATE trials SET ended = 1, ended_at = {now}, strategy = $2, sharpe = $3, sharpe_z = $4, alpha = $5, alpha_z = $6,
		score = $7,
			net_return = $8, max_drawdown = $9, trades = $10, cheap_costs = $11, result_hash = $12, unaided = $13, stopped_by = $14,
			rung = $15
		WHERE operation_id = $1`
)

// entered is what the ledger says of a new operation.
type entered struct {
	run    ktrdr.Run // that it belongs to; zero if it has none
	trials int       // counted against it
	look   string    // key of its look; empty if it has none
}

// enter makes the rows of the ledger that belong to a new operation without a
// parent: its run, its trial and its look.
func enter(ctx context.Context, t *tx, id ktrdr.OperationID, n ktrdr.NewOperation) (e entered, err error) {
	place := placeOf(n)
	if place.Run != "" {
		if e.run, err = enterRun(ctx, t, place.Run, n); err != nil {
			return e, err
		}
	}
	trial := n.Trial
	if n.RetryOf != "" {
		if trial, e.trials, e.look, err = retried(ctx, t, n, e.run); err != nil {
			return e, err
		}
	}
	markets, err := lockMarkets(ctx, t, marketsOf(trial, n.Look))
	if err != nil {
		return e, err
	}
	if trial != nil {
		trials, err := addTrial(ctx, t, id, n.Type, place, e.run.Created, *trial, markets)
		if err != nil {
			return e, err
		}
		if n.RetryOf != "" {
			trials = max(trials, e.trials+1)
		}
		e.trials = trials
	}
	if n.Look != nil {
		look := *n.Look
		if look.Key == "" {
			look.Key = string(id)
		}
		e.look = look.Key
		_, err = reserveLook(ctx, t, id, place, look, markets, specHash(&n))
	}
	return e, err
}

// enterRun locks the row of the run, which a queued operation makes if there is
// none. A run that has ended or was given up takes only retries.
func enterRun(ctx context.Context, t *tx, id string, n ktrdr.NewOperation) (ktrdr.Run, error) {
	if n.Queue != nil {
		makeRun(ctx, t, id, n.NewRun)
	}
	run, err := loadRun(ctx, t, updateRun, id)
	switch {
	case err != nil:
		return run, err
	case run.State == ktrdr.RunCancelled:
		return run, ktrdr.Errorf(ktrdr.CodeConflict, "run %s was cancelled: start a new run with `ktrdr research`", id)
	case n.RetryOf == "" && (run.State != ktrdr.RunRunning || !run.EndedAt.IsZero()):
		return run, ktrdr.Errorf(ktrdr.CodeConflict, "run %s takes no more researches (%s): start a new run with `ktrdr research`", id, run.State)
	}
	return run, nil
}

// marketsOf lists the markets that a trial and a look are on.
func marketsOf(trial *ktrdr.NewTrial, look *ktrdr.NewLook) (ids []string) {
	if trial != nil {
		for _, m := range trial.Markets {
			ids = append(ids, m.Market)
		}
	}
	if look != nil {
		ids = append(ids, look.Markets...)
	}
	return ids
}

// addTrial counts a trial on its markets and returns how many trials are counted
// against it: those of others on the market that has most, and its own run as
// large as it says to be. created is how many of the market's trials are its
// own run's.
func addTrial(
	ctx context.Context, t *tx, id ktrdr.OperationID, kind ktrdr.Type, place ktrdr.Queue, created int, n ktrdr.NewTrial,
	markets map[string]lockedMarket,
) (int, error) {
	if n.Key == "" {
		n.Key = string(id)
	}
	others, all := 0, inMarkets(n.Markets, markets)
	for _, m := range all[min(1, len(all)):] { // lists show the first: it names all that is traded
		all[0].Symbols, all[0].Timeframes = joinWords(all[0].Symbols, m.Symbols), joinWords(all[0].Timeframes, m.Timeframes)
	}
	for _, m := range all {
		others = max(others, markets[m.Market].trials-created)
		t.later(ctx, insertTrial, m.Market, n.Key, id, place.Run, place.Generation, place.Index, m.Symbols, m.Timeframes,
			optionalBit(n.MadeUp), kind)
		t.later(ctx, takeTrial, m.Market, n.Key, id, kind)
		t.later(ctx, markTried, m.Market)
	}
	return others + n.Own, nil
}

// inMarkets replaces markets that were merged. Of a market that is named twice
// the symbols and timeframes are put together.
func inMarkets(all []ktrdr.TrialMarket, markets map[string]lockedMarket) (out []ktrdr.TrialMarket) {
	for _, m := range all {
		m.Market = markets[m.Market].id
		i := slices.IndexFunc(out, func(o ktrdr.TrialMarket) bool { return o.Market == m.Market })
		if i < 0 {
			out = append(out, m)
			continue
		}
		out[i].Symbols = joinWords(out[i].Symbols, m.Symbols)
		out[i].Timeframes = joinWords(out[i].Timeframes, m.Timeframes)
	}
	return out
}

// joinWords adds the words of b that a does not have.
func joinWords(a, b string) string {
	words := strings.Fields(a)
	for w := range strings.FieldsSeq(b) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// retried is the ledger's part of an operation that is tried again. It is
// another trial on the same markets, counted on top of its whole run; counted is
// what was counted against the first. It is the same look: the same strategy
// sees the same bars.
func retried(ctx context.Context, t *tx, n ktrdr.NewOperation, run ktrdr.Run) (trial *ktrdr.NewTrial, counted int, look string, err error) {
	err = t.row(ctx, selectRetried, n.RetryOf).Scan(&counted, &look)
	if errors.Is(err, sql.ErrNoRows) {
		return n.Trial, 0, "", nil
	}
	if err != nil || n.Trial != nil {
		return n.Trial, counted, look, err
	}
	var madeUp *bool // the same in every row
	markets, err := collect(ctx, t, fields(func(m *ktrdr.TrialMarket) []any {
		return []any{&m.Market, &m.Symbols, &m.Timeframes, fromBit(&madeUp)}
	}), selectTriedOn, n.RetryOf)
	if err == nil && len(markets) > 0 {
		trial = &ktrdr.NewTrial{Markets: markets, MadeUp: madeUp, Own: max(run.Planned, run.Created) + 1}
	}
	return trial, counted, look, err
}

// checkEntry refuses what the ledger could not hold.
func checkEntry(n ktrdr.NewOperation) error {
	bad := func(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }
	switch {
	case !storable(n.Run, 255) || n.Generation < 0:
		return bad("the name of a run is at most 255 bytes of text, and a generation is not negative")
	case n.Run != "" && n.Queue != nil:
		return bad("a queued operation belongs to the run of its queue")
	case n.Parent != "" && (n.Run != "" || n.Trial != nil || n.Look != nil):
		return bad("a child belongs to the run of its parent and has neither a trial nor a look of its own")
	case n.NewRun != nil && (n.Queue == nil || n.Queue.Run == ""):
		return bad("a run is made by a queued operation that names it")
	}
	if r := n.NewRun; r != nil && (r.Size < 1 || r.Planned < 0 || !storable(r.Goal, ktrdr.InlineState) ||
		len(r.Request) > 0 && !validJSON(r.Request)) {
		return bad("run %s needs a generation size of at least 1, a goal of at most %d bytes and a request that is JSON",
			clip(n.Queue.Run), ktrdr.InlineState)
	}
	if n.Trial != nil {
		if err := checkTrial(*n.Trial); err != nil {
			return err
		}
	}
	if n.Look != nil {
		return checkLook(*n.Look)
	}
	return nil
}

func checkTrial(n ktrdr.NewTrial) error {
	if len(n.Markets) == 0 || n.Own < 0 || !storable(n.Key, 255) {
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"a trial is on at least one market, its key is at most 255 bytes, and it counts at least 0 trials of its own run")
	}
	for _, m := range n.Markets {
		if !storable(m.Market, 64) || !storable(m.Symbols, 1024) || !storable(m.Timeframes, 255) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "a trial names a market, at most 1024 bytes of symbols and 255 of timeframes")
		}
	}
	return nil
}

// keep stores what the ledger says of an operation that has completed.
func (s *Store) keep(ctx context.Context, t *tx, op operationRow) error {
	tell := s.types[op.Type].Ledger
	if tell == nil || op.Status != ktrdr.Completed {
		return nil
	}
	e := tell(op.Operation)
	if f := e.Trial; f != nil {
		t.later(ctx, endTrial, op.ID, shortened(f.Strategy), finite(f.Sharpe), finite(f.SharpeZ), finite(f.Alpha), finite(f.AlphaZ),
			weaker(f.SharpeZ, f.AlphaZ), finite(f.NetReturn), finite(f.MaxDrawdown), f.Trades, bit(f.CheapCosts), hashText(f.Hash), bit(f.Unaided),
			shortened(f.StoppedBy), op.Rung)
	}
	if e.Look != nil {
		if err := endLook(ctx, t, op.ID, *e.Look); err != nil {
			return fmt.Errorf("look of %s: %w", op.ID, err)
		}
	}
	if e.Claim != nil {
		c := *e.Claim
		c.Operation = op.ID
		addClaim(ctx, t, c)
	}
	if e.Tested != nil {
		endTest(ctx, t, op.ID, *e.Tested)
	}
	if e.Advance != nil {
		if err := advanceClaim(ctx, t, op.ID, *e.Advance); err != nil {
			return fmt.Errorf("claim %s: %w", e.Advance.Claim, err)
		}
	}
	return nil
}

// finite is a number as it is stored: what is not a number, or infinite, is not
// known. The databases do not agree about such numbers.
func finite(x *float64) *float64 {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return nil
	}
	return x
}

// weaker is the smaller of two numbers that are both known.
func weaker(a, b *float64) *float64 {
	a, b = finite(a), finite(b)
	switch {
	case a == nil || b == nil:
		return nil
	case *b < *a:
		return b
	}
	return a
}

// hashText is a hash as it is stored; that of nothing is empty.
func hashText(h ktrdr.Hash) string {
	if h == (ktrdr.Hash{}) {
		return ""
	}
	return h.String()
}
