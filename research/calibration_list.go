package research

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// CalibrationStore is where calibrations are read.
type CalibrationStore interface {
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
}

// Calibrations are the newest calibrations first, of a market or symbol, or of all.
func (v Views) Calibrations(ctx context.Context, market string) ([]CalibrationRow, error) {
	return calibrations(ctx, v.Engine, market)
}

func calibrations(ctx context.Context, store CalibrationStore, market string) ([]CalibrationRow, error) {
	rows := []CalibrationRow{}
	wanted, err := marketNow(ctx, store, market)
	if err != nil {
		return nil, err
	}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.Calibration}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1000}
	for {
		page, err := store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, op := range page.Operations {
			c, err := resultOf[Calibration](&op)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.ID, err)
			}
			now, err := marketNow(ctx, store, c.Market)
			if err != nil {
				return nil, err
			}
			if c.Market = cmp.Or(now.ID, c.Market); market != "" && c.Market != cmp.Or(wanted.ID, market) && !strings.EqualFold(c.Symbol, market) {
				continue
			}
			bars := c.barsIn(&now)
			rows = append(rows, CalibrationRow{Operation: op.ID, Calibration: c, Stale: c.Stale(bars), Quote: c.Quote(bars)})
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			nameHigher(rows)
			return rows, nil
		}
	}
}

// nameHigher adds to each quote an earlier calibration of the same market that measured a higher rate
// of the same search: who repeats a calibration until it looks good is found out.
func nameHigher(rows []CalibrationRow) {
	for i := range rows {
		c, worst := &rows[i], &rows[i].Calibration
		earlier := 0
		for k := range rows[i+1:] {
			if was := &rows[i+1+k].Calibration; was.Market == c.Market && was.Version == c.Version {
				earlier++
				if was.Rate > worst.Rate {
					worst = was
				}
			}
		}
		if worst.Rate > c.Rate {
			c.Quote += fmt.Sprintf(" Of %s on this market the highest rate is %.1f %% (%d of %d copies).",
				text.Counted(earlier, "earlier calibration"), 100*worst.Rate, worst.Claimed, worst.Worlds)
		}
	}
}

// marketNow is a market, or the one that it was merged into; the zero Market: the lab has none of that id.
func marketNow(ctx context.Context, store CalibrationStore, id string) (ktrdr.Market, error) {
	if id == "" {
		return ktrdr.Market{}, nil
	}
	m, err := store.Market(ctx, id)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return ktrdr.Market{}, nil
	}
	return m, err
}

// barsIn is how many bars a market has of the calibrated series; 0: unknown.
func (c *Calibration) barsIn(m *ktrdr.Market) (bars int) {
	for _, s := range m.Series {
		if s.Symbol == c.Symbol && s.Timeframe == string(c.Timeframe) {
			bars = max(bars, s.Bars)
		}
	}
	return bars
}

// CalibrationQuote is the sentence about the newest calibration of markets, which stands
// beside a claim; of is the trial of the claim, nil where it is not known.
func (v Views) CalibrationQuote(ctx context.Context, of *ktrdr.Trial, markets []ktrdr.LookMarket) (string, error) {
	return CalibrationQuote(ctx, v.Engine, SeriesOf(of), text.Map(markets, func(m ktrdr.LookMarket) string { return m.Market })...)
}

// SeriesOf is the first series of a trial, as `ktrdr calibrate` takes it; empty without a trial.
func SeriesOf(t *ktrdr.Trial) string {
	if t == nil {
		return ""
	}
	symbol, _, _ := strings.Cut(t.Symbols, " ")
	timeframe, _, _ := strings.Cut(t.Timeframes, " ")
	return strings.TrimSpace(symbol + " " + timeframe)
}

// CalibrationQuote is the same of a store. Without a calibration it names the series of the
// claim, or the one of the market that has most bars.
func CalibrationQuote(ctx context.Context, store CalibrationStore, series string, markets ...string) (string, error) {
	for _, m := range markets {
		rows, err := calibrations(ctx, store, m)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			return rows[0].Quote, nil
		}
	}
	if series == "" && len(markets) > 0 {
		m, err := store.Market(ctx, markets[0])
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return "", err
		}
		if len(m.Series) > 0 {
			most := slices.MaxFunc(m.Series, func(a, b ktrdr.MarketSeries) int { return cmp.Compare(a.Bars, b.Bars) })
			series = most.Symbol + " " + most.Timeframe
		}
	}
	return "This lab was never calibrated on this market: `ktrdr calibrate " + cmp.Or(series, "SYMBOL TIMEFRAME") +
		"` measures how often it claims falsely.", nil
}

// quote puts the sentence about calibrations beside a claim.
func (v Views) quote(ctx context.Context, e *ExperimentRow) (err error) {
	if e.Trial != nil && e.Trial.Claim {
		e.Calibration, err = v.CalibrationQuote(ctx, e.Trial, []ktrdr.LookMarket{{Market: e.Trial.Market}})
	}
	return err
}

// CalibrationRow is a calibration that completed.
type CalibrationRow struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Quote     string            `json:"quote"`           // the sentence that stands beside claims on the market
	Stale     string            `json:"stale,omitempty"` // why it no longer describes the market
	Calibration
}
