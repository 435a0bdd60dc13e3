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
	best := []ktrdr.Trial{}
	err := s.read(ctx, func(r queryer) error {
		best = best[:0]
		for _, sharpe := range []string{earned, lost, unknown} {
			left := q
			if left.Limit = q.Limit - len(best); left.Limit <= 0 {
				return nil
			}
			text, args := bestQuery(left, sharpe, s.isPostgres())
			found, err := collect(ctx, r, scanTrial, text, args...)
			if err != nil {
				return err
			}
			best = append(best, found...)
		}
		return nil
	})
	return best, err
}

// Which trials are read, by their Sharpe ratio on the test part.
const (
	earned  = ".sharpe > 0"
	lost    = ".sharpe <= 0"
	unknown = ".sharpe IS NULL"
)

func bestQuery(q ktrdr.TrialQuery, sharpe string, postgres bool) (query, []any) {
	var args []any
	arg := adder(&args)
	if sharpe == earned {
		return query(bestOfMarkets(q, postgres, arg)), args
	}
	const order = " ORDER BY t.sharpe DESC NULLS LAST, t.created_at, t.market_id, t.key"
	where := append([]string{"t.main = 1", "t.ended = 1", "t" + sharpe}, trialConditions(q, "t", arg)...)
	page := "SELECT * FROM trials AS t WHERE " + strings.Join(where, " AND ") + order + " LIMIT " + arg(q.Limit)
	return query(selectTrialColumns + "(" + page + ") AS t" + joinRest + order), args
}

// bestOfMarkets finds the best of each market among those that earned from an
// index, market by market. The market comes first in the text: CROSS JOIN keeps
// SQLite to that order.
func bestOfMarkets(q ktrdr.TrialQuery, postgres bool, arg func(any) string) string {
	market := `merged_into IS NULL AND trials > 0`
	if q.Market != "" {
		market = "id = " + marketNow(arg(q.Market))
		q.Market = ""
	}
	where := append([]string{"best.market_id = m.id", "best.main = 1", "best.ended = 1", "best" + earned}, trialConditions(q, "best", arg)...)
	best := `SELECT best.key FROM trials AS best WHERE ` + strings.Join(where, " AND ") + `
		ORDER BY best.score DESC NULLS LAST, best.sharpe DESC NULLS LAST, best.created_at, best.key LIMIT ` + arg(q.Limit)
	from := `(SELECT * FROM markets WHERE ` + market + `) AS m `
	if postgres {
		from += `CROSS JOIN LATERAL (` + best + `) AS b JOIN trials AS t ON t.market_id = m.id AND t.key = b.key`
	} else {
		from += `CROSS JOIN trials AS t ON t.market_id = m.id AND t.key IN (` + best + `)`
	}
	return selectTrialColumns + from + joinRest +
		` ORDER BY t.score DESC NULLS LAST, t.sharpe DESC NULLS LAST, t.created_at, t.market_id, t.key`
}
