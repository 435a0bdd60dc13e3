package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// origin is the training that made a model, and the research that the training
// belongs to. The zero origin is that of a model file from elsewhere.
type origin struct {
	training ktrdr.OperationID
	research ktrdr.OperationID
	bars     []jobs.Bars       // that the research searched
	markets  map[string]string // of its symbols
}

func (d *Service) origin(ctx context.Context, training ktrdr.Operation) (origin, error) {
	o := origin{training: training.ID, research: training.Parent, markets: map[string]string{}}
	if o.research == "" {
		return o, nil
	}
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](training.Spec)
	if err != nil {
		return o, fmt.Errorf("training %s: %w", training.ID, err)
	}
	o.bars = spec.Bars
	parent, err := d.cfg.Operations.Operation(ctx, o.research)
	if err != nil {
		return o, fmt.Errorf("research of training %s: %w", training.ID, err)
	}
	type symbolMarket struct {
		Symbol string `json:"symbol"`
		Market string `json:"market"`
	}
	var searched struct {
		Markets []symbolMarket `json:"markets"`
		Context []symbolMarket `json:"context_markets"`
	}
	if err := json.Unmarshal(parent.Spec, &searched); err != nil {
		return o, fmt.Errorf("spec of %s: %w", parent.ID, err)
	}
	for _, m := range slices.Concat(searched.Markets, searched.Context) {
		o.markets[m.Symbol] = m.Market
	}
	return o, nil
}

// stops says that the bars end where those of the research did.
func (o origin) stops(hs holdouts) string {
	first := hs[0].from
	for _, h := range hs {
		if h.from.Before(first) {
			first = h.from
		}
	}
	return fmt.Sprintf("only the bars that %s searched are traded: the bars after %s are the holdout; "+
		"--open-holdout (open_holdout) trades them and counts as a look",
		o.research, text.Minute(first.Unix()))
}

// trialKey is the key under which all backtests of one model count once.
func (o origin) trialKey(model ktrdr.Artifact) string {
	switch {
	case o.research != "":
		return string(o.research)
	case o.training != "":
		return string(o.training)
	}
	return "model/" + model.SHA256.String()
}

// madeBy is the newest training that made a model file; zero if none did.
func (d *Service) madeBy(ctx context.Context, file ktrdr.Hash) (ktrdr.Operation, error) {
	name := []byte(file.String())
	for op, err := range d.trained(ctx) {
		if err != nil {
			return op, err
		}
		if !bytes.Contains(op.Result, name) { // most are told apart without being decoded
			continue
		}
		if a, err := modelOf(op); err == nil && a.SHA256 == file {
			return op, nil
		}
	}
	return ktrdr.Operation{}, nil
}

// tradable finds the bars of a backtest and the holdouts of their markets. They
// are the library's or, for the model of a research, those that it searched.
func (d *Service) tradable(ctx context.Context, symbols []string, s *strategy.Strategy, from origin,
	opened bool,
) (*found, holdouts, error) {
	var searched *found
	var err error
	if from.research != "" && !opened {
		if searched, err = d.searched(ctx, from, symbols, s); err != nil {
			return nil, nil, err
		}
	}
	if searched != nil {
		if hs, err := d.searchedMarkets(ctx, searched, from); err != nil || hs != nil {
			return searched, hs, err
		}
	}
	current, err := d.find(ctx, symbols, s.Data.Timeframes, s.ContextSeries())
	if err != nil {
		return nil, nil, err
	}
	hs, err := d.holdouts(ctx, current)
	if err != nil || searched == nil {
		return current, hs, err
	}
	return searched, hs, nil
}

// searchedMarkets are the holdouts of the bars of a research; nil if the research
// names no markets, because an earlier version created it.
func (d *Service) searchedMarkets(ctx context.Context, f *found, from origin) (holdouts, error) {
	hs := make(holdouts, len(f.bars))
	for i, b := range f.bars {
		id := from.markets[b.Symbol]
		if id == "" {
			return nil, nil
		}
		m, err := d.cfg.Ledger.Market(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("market of %s: %w", b.Symbol, err)
		}
		if m.HoldoutFrom.IsZero() {
			return nil, nil
		}
		hs[i] = holdout{b.Symbol, b.Timeframe, m, m.HoldoutFrom, f.isContext(i)}
	}
	return hs, nil
}

// searched is the bars as the research saw them; nil if it did not read all of them.
func (d *Service) searched(ctx context.Context, from origin, symbols []string, s *strategy.Strategy) (*found, error) {
	var read []strategy.Series
	for _, symbol := range symbols {
		for _, tf := range s.Data.Timeframes {
			read = append(read, strategy.Series{Symbol: symbol, Timeframe: tf})
		}
	}
	context := s.ContextSeries()
	f := &found{others: len(context)}
	for _, want := range append(read, context...) {
		i := slices.IndexFunc(from.bars, func(b jobs.Bars) bool { return b.Symbol == want.Symbol && b.Timeframe == want.Timeframe })
		if i < 0 {
			return nil, nil //nolint:nilnil // none is an answer: another symbol
		}
		b, err := d.bars(ctx, from.bars[i])
		if err != nil {
			return nil, fmt.Errorf("bars of %s: %w", from.research, err)
		}
		f.bars, f.pinned = append(f.bars, b), append(f.pinned, from.bars[i])
	}
	return f, nil
}

func (d *Service) bars(ctx context.Context, want jobs.Bars) (*market.Bars, error) {
	r, err := d.cfg.Blobs.Open(ctx, want.SHA256)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	return decodeBars(r, want)
}
