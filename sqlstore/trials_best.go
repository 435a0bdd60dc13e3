package sqlstore

import (
	"context"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// bestTrials returns the best trials first. What earned comes before what lost,
// with a score or without: the score of a trial that lost says nothing against
// one that earned and was refused by a gate. What lost is read only while there
// are fewer trials than were asked for.
func (s *Store) bestTrials(ctx context.Context, q ktrdr.TrialQuery) ([]ktrdr.Trial, error) {
	return inRead(ctx, s.read, func(r queryer) ([]ktrdr.Trial, error) {
		best := []ktrdr.Trial{}
		for _, sharpe := range []string{earned, lost, unknown} {
			left := q
			if left.Limit = q.Limit - len(best); left.Limit <= 0 {
				break
			}
			text, args := bestQuery(left, sharpe, s.isPostgres())
			found, err := collect(ctx, r, scanTrial, text, args...)
			if err != nil {
				return nil, err
			}
			best = append(best, found...)
		}
		return best, nil
	})
}

// Which trials are read, by their Sharpe ratio on the test part.
const (
	earned  = ".sharpe > 0"
	lost    = ".sharpe <= 0"
	unknown = ".sharpe IS NULL"
)

func bestQuery(q ktrdr.TrialQuery, sharpe string, postgres bool) (query, []any) {
	var c conditions
	if sharpe == earned {
		text := c.bestOfMarkets(q, postgres)
		return text, c.args
	}
	const order = " ORDER BY t.sharpe DESC NULLS LAST, t.created_at, t.market_id, t.key"
	c.add("t.main = 1 AND t.ended = 1 AND t" + sharpe)
	c.ofTrials(q, "t.")
	page, args := c.page("* FROM trials AS t", order, q.Limit)
	return selectTrialColumns + "(" + page + ") AS t" + joinRest + order, args
}

// bestOfMarkets finds the best of each market among those that earned from an
// index, market by market. The market comes first in the text: CROSS JOIN keeps
// SQLite to that order.
func (c *conditions) bestOfMarkets(q ktrdr.TrialQuery, postgres bool) query {
	market := `merged_into IS NULL AND trials > 0`
	if q.Market != "" {
		market = "id = " + strings.Replace(marketNow, "?", c.arg(q.Market), 1)
		q.Market = ""
	}
	c.add("best.market_id = m.id AND best.main = 1 AND best.ended = 1 AND best" + earned)
	c.ofTrials(q, "best.")
	best, _ := c.page(`best.key FROM trials AS best`,
		` ORDER BY best.score DESC NULLS LAST, best.sharpe DESC NULLS LAST, best.created_at, best.key`, q.Limit)
	from := `(SELECT * FROM markets WHERE ` + query(market) + `) AS m `
	if postgres {
		from += `CROSS JOIN LATERAL (` + best + `) AS b JOIN trials AS t ON t.market_id = m.id AND t.key = b.key`
	} else {
		from += `CROSS JOIN trials AS t ON t.market_id = m.id AND t.key IN (` + best + `)`
	}
	return selectTrialColumns + from + joinRest +
		` ORDER BY t.score DESC NULLS LAST, t.sharpe DESC NULLS LAST, t.created_at, t.market_id, t.key`
}
