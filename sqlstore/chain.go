package sqlstore

import (
	"context"
	"crypto/sha256"

	"github.com/ktrdr/ktrdr"
)

// The chain of a market's ledger.
//
//	a generation is closed ──▶ a link for each of its trials, by (generation, index)
//	a trial by hand ends   ──▶ a link
//	a look is reserved     ──▶ a link, before its bars are read
//	a look ends            ──▶ a link
//	markets are merged     ──▶ a link of the market that stays
//	a holdout is renewed   ──▶ a link
//	a run ends             ──▶ links for the trials that are left
//
// A link is added in the transaction of what it is about, under the lock of the
// market's row. Its position is stored and never changes.
const (
	selectChainEnd query = `SELECT chain_links, chain_head, earlier_trials, earlier_looks FROM markets WHERE id = $1`
	selectTried    query = `SELECT trials, looks FROM markets WHERE id = $1`
	insertLink     query = `INSERT INTO ledger_links (market_id, position, hash, entry, added_at) VALUES ($1, $2, $3, $4, {now})`
	moveHead       query = `UPDATE markets SET chain_links = $2, chain_head = $3 WHERE id = $1`
	setLink        query = `UPDATE trials SET link = $3 WHERE market_id = $1 AND key = $2`
	selectLinks    query = `SELECT market_id, position, hash, entry FROM ledger_links WHERE market_id = $1 AND position > $2
		ORDER BY position LIMIT $3`

	// Trials that have ended and can be given a place that no other trial of their
	// run comes before.
	selectDue query = `SELECT t.key, COALESCE(t.link, 0), t.operation_id, t.run, t.generation, t.idx, t.symbols, t.timeframes, ` +
		trialFigures + `
		FROM trials AS t LEFT JOIN runs AS r ON r.id = t.run JOIN operations AS o ON o.id = t.operation_id
		WHERE t.market_id = $1 AND t.link IS NULL AND o.completed_at IS NOT NULL
			AND (r.id IS NULL OR t.generation < r.closed OR r.ended_at IS NOT NULL)
		ORDER BY COALESCE(r.created_at, t.created_at), t.run, t.generation, t.idx, t.created_at, t.key`
	// A trial that has ended again since its link was added.
	selectAgain query = `SELECT t.key, t.link, t.operation_id, t.run, t.generation, t.idx, t.symbols, t.timeframes, ` + trialFigures + `
		FROM trials AS t WHERE t.market_id = $1 AND t.operation_id = $2 AND t.link > 0`
	trialFigures = `t.strategy, t.sharpe, t.sharpe_z, t.alpha, t.alpha_z, t.net_return, t.max_drawdown, t.trades,
		t.cheap_costs, t.unaided, t.result_hash, t.stopped_by`

	selectMarketsTried query = `SELECT DISTINCT market_id FROM trials WHERE operation_id = $1 ORDER BY market_id`
	selectMarketsDue   query = `SELECT DISTINCT market_id FROM trials WHERE run = $1 AND link IS NULL ORDER BY market_id`
	selectBrief        query = `SELECT {brief} FROM operations WHERE id = $1`
	setHeads           query = `UPDATE runs SET heads = $2 WHERE id = $1`
)

// chainOf is the end of the chain of a market, whose row is locked.
type chainOf struct {
	head    ktrdr.ChainHead
	earlier ktrdr.EarlierEntry
	added   int
}

func loadChain(ctx context.Context, t *tx, market string) (c chainOf, err error) {
	c.head.Market = market
	err = t.row(ctx, selectChainEnd, market).Scan(&c.head.Links, (*digest)(&c.head.Hash), &c.earlier.Trials, &c.earlier.Looks)
	if err == nil && c.head.Links == 0 && c.earlier != (ktrdr.EarlierEntry{}) {
		earlier := c.earlier
		err = c.add(ctx, t, ktrdr.ChainEntry{Kind: ktrdr.ChainEarlier, Earlier: &earlier})
	}
	return c, err
}

// add adds a link. store makes it the head.
func (c *chainOf) add(ctx context.Context, t *tx, e ktrdr.ChainEntry) error {
	e.Market, e.Position = c.head.Market, c.head.Links+1
	text, err := ktrdr.EncodeEntry(e)
	if err != nil {
		return err
	}
	c.head.Links, c.head.Hash = e.Position, ktrdr.LinkHash(c.head.Hash, text)
	c.added++
	t.later(ctx, insertLink, e.Market, e.Position, c.head.Hash.String(), string(text))
	return nil
}

func (c *chainOf) store(ctx context.Context, t *tx) {
	if c.added > 0 {
		t.later(ctx, moveHead, c.head.Market, c.head.Links, c.head.Hash.String())
	}
}

// addLink adds one link to the chain of a market, whose row is locked.
func addLink(ctx context.Context, t *tx, market string, e ktrdr.ChainEntry) error {
	c, err := loadChain(ctx, t, market)
	if err != nil {
		return err
	}
	if err := c.add(ctx, t, e); err != nil {
		return err
	}
	c.store(ctx, t)
	return nil
}

var scanDue = fields(func(d *ktrdr.TrialEntry) []any {
	return []any{
		&d.Key, &d.Amends, &d.Operation, &d.Run, &d.Generation, &d.Index, &d.Symbols, &d.Timeframes, &d.Strategy,
		&d.Sharpe, &d.SharpeZ, &d.Alpha, &d.AlphaZ, &d.NetReturn, &d.MaxDrawdown, &d.Trades,
		(*boolean)(&d.CheapCosts), (*boolean)(&d.Unaided), (*digest)(&d.TrialFigures.Hash), &d.StoppedBy,
	}
})

// chainTrials adds a link for each trial of the markets that is due, and for those
// of an operation that has ended again.
func (s *Store) chainTrials(ctx context.Context, t *tx, markets []string, again ktrdr.OperationID) ([]ktrdr.ChainHead, error) {
	locked, err := lockMarkets(ctx, t, markets)
	if err != nil {
		return nil, err
	}
	var heads []ktrdr.ChainHead
	for _, id := range markets {
		c, err := loadChain(ctx, t, locked[id].id)
		if err != nil {
			return nil, err
		}
		due, err := collect(ctx, t, scanDue, selectDue, c.head.Market)
		if err != nil {
			return nil, err
		}
		if again != "" {
			more, err := collect(ctx, t, scanDue, selectAgain, c.head.Market, again)
			if err != nil {
				return nil, err
			}
			due = append(due, more...)
		}
		for i := range due {
			if err := s.chainTrial(ctx, t, &c, &due[i]); err != nil {
				return nil, err
			}
		}
		c.store(ctx, t)
		if c.head.Links > 0 {
			heads = append(heads, c.head)
		}
	}
	return heads, nil
}

func (s *Store) chainTrial(ctx context.Context, t *tx, c *chainOf, d *ktrdr.TrialEntry) error {
	op, err := scanOperation(t.row(ctx, selectBrief, d.Operation))
	if err != nil {
		return err
	}
	e := *d
	e.Type, e.Status, e.Rung, e.Counted = op.Type, op.Status, op.Rung, op.Trials
	if facts := s.types[op.Type].Facts; facts != nil && !op.ClaimedAt.IsZero() { // one that never began was made from nothing
		if op, err = load(ctx, t, d.Operation); err != nil {
			return err
		}
		e.TrialFacts = facts(op.Operation)
	}
	if err := c.add(ctx, t, ktrdr.ChainEntry{Kind: ktrdr.ChainTrial, Trial: &e}); err != nil {
		return err
	}
	t.later(ctx, setLink, c.head.Market, d.Key, c.head.Links)
	return nil
}

// chainRun adds the links of a run's trials that are due: its row is locked. The run
// keeps the heads.
func (s *Store) chainRun(ctx context.Context, t *tx, run string) error {
	markets, err := firstColumn(ctx, t, selectMarketsDue, run)
	if err != nil || len(markets) == 0 {
		return err
	}
	heads, err := s.chainTrials(ctx, t, markets, "")
	if err != nil {
		return err
	}
	return keepHeads(ctx, t, run, heads)
}

func keepHeads(ctx context.Context, t *tx, run string, heads []ktrdr.ChainHead) error {
	if run == "" || len(heads) == 0 {
		return nil
	}
	text, err := marshal(heads)
	t.later(ctx, setHeads, run, text)
	return err
}

// chainEnded adds the links of an operation that has ended by itself: a trial by
// hand, or one of a generation that was closed before. The others get theirs when
// their generation is closed.
func (s *Store) chainEnded(ctx context.Context, t *tx, op *operationRow) error {
	if op.Parent != "" {
		return nil
	}
	if op.Run != "" {
		run, found, err := optionalRow(scanRun(t.row(ctx, updateRun, op.Run)))
		if err != nil || found && run.EndedAt.IsZero() && run.Closed <= op.generation {
			return err
		}
	}
	markets, err := firstColumn(ctx, t, selectMarketsTried, op.ID)
	if err != nil || len(markets) == 0 {
		return err
	}
	heads, err := s.chainTrials(ctx, t, markets, op.ID)
	if err != nil {
		return err
	}
	return keepHeads(ctx, t, op.Run, heads)
}

// chainLook adds the link of a look that is being reserved on a market.
func chainLook(ctx context.Context, t *tx, market string, l ktrdr.LookEntry) error {
	return addLink(ctx, t, market, ktrdr.ChainEntry{Kind: ktrdr.ChainLook, Look: &l})
}

// chainResult adds what a look showed to the chain of each of its markets.
func chainResult(ctx context.Context, t *tx, l ktrdr.Look, r ktrdr.ResultEntry) error {
	if l.Run != "" { // a run is locked before markets
		if _, _, err := optionalRow(scanRun(t.row(ctx, updateRun, l.Run))); err != nil {
			return err
		}
	}
	var ids []string
	for _, m := range l.Markets {
		ids = append(ids, m.Market)
	}
	ids = distinct(ids)
	if _, err := lockMarkets(ctx, t, ids); err != nil {
		return err
	}
	var heads []ktrdr.ChainHead
	for _, id := range ids {
		c, err := loadChain(ctx, t, id)
		if err != nil {
			return err
		}
		if err := c.add(ctx, t, ktrdr.ChainEntry{Kind: ktrdr.ChainResult, Result: &r}); err != nil {
			return err
		}
		c.store(ctx, t)
		heads = append(heads, c.head)
	}
	return keepHeads(ctx, t, l.Run, heads)
}

// chainMerge ends the chain of a market that turned out to be another. Both are
// locked.
func chainMerge(ctx context.Context, t *tx, from, into string) error {
	c, err := loadChain(ctx, t, from)
	if err != nil {
		return err
	}
	c.store(ctx, t)
	e := ktrdr.MergeEntry{Head: c.head}
	nothing := ktrdr.MergeEntry{Head: ktrdr.ChainHead{Market: from}}
	if err := t.row(ctx, selectTried, from).Scan(&e.Trials, &e.Looks); err != nil || e == nothing {
		return err
	}
	return addLink(ctx, t, into, ktrdr.ChainEntry{Kind: ktrdr.ChainMerge, Merge: &e})
}

// specHash is the hash of a spec as it is stored.
func specHash(n *ktrdr.NewOperation) ktrdr.Hash { return sha256.Sum256(orObject(n.Spec)) }

// Links implements ktrdr.Markets.
func (s *Store) Links(ctx context.Context, market string, after, limit int) ([]ktrdr.ChainLink, error) {
	if limit == 0 {
		limit = largestPage
	}
	if err := checkLimit(&limit); err != nil {
		return nil, err
	}
	if !storable(market, 64) {
		return nil, noMarket(market)
	}
	return inRead(ctx, s.read, func(r queryer) ([]ktrdr.ChainLink, error) {
		if _, err := mergedInto(ctx, r, market); err != nil {
			return nil, err
		}
		return collect(ctx, r, fields(func(l *ktrdr.ChainLink) []any {
			return []any{&l.Market, &l.Position, (*digest)(&l.Hash), &l.Entry}
		}), selectLinks, market, after, limit)
	})
}
