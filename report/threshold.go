package report

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

const (
	mostThresholds = 20 // markets of a search that are listed
	looksDrawn     = 24 // looks of a market that are listed
)

// MarketThreshold is what the next look at the holdout of a market needs for a
// claim, and what the looks before it needed and reached. Each look raises it.
type MarketThreshold struct {
	Market  string         `json:"market"`
	Name    string         `json:"name"`                // symbols and timeframes of its series
	Looks   int            `json:"looks"`               // at its holdout so far, of all runs
	Counted int            `json:"next_look_counts_as"` // the p-value of the next look is multiplied by this
	NeededP float64        `json:"next_needs_p"`        // the largest p-value with which the next look claims
	Needed  *float64       `json:"next_needs_sharpe"`   // about: with the standard error of the newest look; null before the first
	Newest  []ComparedLook `json:"newest_looks"`        // at most 24, oldest first, without daily returns
}

// thresholds are those of the markets on which the trials were made. The market
// with the most looks is first.
func (r Reporter) thresholds(ctx context.Context, points []ktrdr.TrialPoint) ([]MarketThreshold, error) {
	tried := map[string]bool{}
	for i := range points {
		tried[points[i].Market] = true
	}
	list := []MarketThreshold{}
	if len(tried) == 0 {
		return list, nil
	}
	markets, err := r.engine.Markets(ctx)
	if err != nil {
		return nil, err
	}
	rules := evidence.Rules{}.WithDefaults()
	for i := range markets {
		if m := &markets[i]; tried[m.ID] {
			counted := evidence.LookFactor(m.Looks)
			list = append(list, MarketThreshold{
				Market: m.ID, Name: seriesNames(m.Series), Looks: m.Looks, Counted: counted,
				NeededP: rules.MaxAdjustedP / float64(counted), Newest: []ComparedLook{},
			})
		}
	}
	slices.SortStableFunc(list, func(a, b MarketThreshold) int { return cmp.Compare(b.Looks, a.Looks) })
	list = list[:min(len(list), mostThresholds)]
	for i := range list {
		if list[i].Looks == 0 {
			continue
		}
		if err := r.newestLooks(ctx, &list[i], rules.MaxAdjustedP); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// newestLooks adds what the newest looks at a market needed and reached.
func (r Reporter) newestLooks(ctx context.Context, m *MarketThreshold, maxAdjusted float64) error {
	page, err := r.engine.Looks(ctx, ktrdr.LookQuery{Market: m.Market, Limit: looksDrawn})
	if err != nil {
		return err
	}
	for i := range slices.Backward(page.Looks) {
		look, told := lookOf(&page.Looks[i], m.Market, maxAdjusted)
		m.Newest = append(m.Newest, look)
		if needed := told.Look.Holdout.Sharpe.Needed(m.NeededP); needed != nil {
			m.Needed = needed
		}
	}
	return nil
}

// seriesNames are the symbols and timeframes of a market: "EURUSD 1h, 1d".
func seriesNames(series []ktrdr.MarketSeries) string {
	var symbols []string
	timeframes := map[string][]string{}
	for _, s := range series {
		if !slices.Contains(symbols, s.Symbol) {
			symbols = append(symbols, s.Symbol)
		}
		if !slices.Contains(timeframes[s.Symbol], s.Timeframe) {
			timeframes[s.Symbol] = append(timeframes[s.Symbol], s.Timeframe)
		}
	}
	for i, s := range symbols {
		symbols[i] = s + " " + strings.Join(timeframes[s], ", ")
	}
	return strings.Join(symbols, "; ")
}
