package lookahead

import (
	"context"
	"fmt"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// preparation holds the samples to the order of time.
func (c *timeChecker) preparation(ctx context.Context) (Checked, error) {
	prepare := func(data []train.Series, opt train.Options) (*train.Dataset, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		ds, _, err := train.Prepare(c.strategy, data, opt)
		if err == nil {
			c.cheatPreparation(ds, data)
		}
		return ds, err
	}
	ds := c.dataset
	detail := fmt.Sprintf("%d training, %d validation and %d test samples", len(ds.Train), len(ds.Validation), len(ds.Test))
	return checkResult("preparation", detail, train.CheckLookahead(prepare, c.data, train.Options{}))
}

func (c *timeChecker) predictor(ctx context.Context) train.Predictor {
	return func(data train.Series) (*train.Signals, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if c.plant == centredWindow {
			data = centred(data)
		}
		return train.Predict(c.model, data)
	}
}

// lookaheadCuts is how many instants the future is changed from.
const lookaheadCuts = 8

// cuts spreads instants over the bars from first on.
func cuts(first, bars int) []int {
	var list []int
	for i := range lookaheadCuts {
		if at := first + 1 + (bars-2-first)*(i+1)/(lookaheadCuts+1); at >= 1 && at < bars-1 {
			list = append(list, at)
		}
	}
	return list
}

// signals holds what the model says of the bars of each symbol.
func (c *timeChecker) signals(ctx context.Context) (Checked, error) {
	const name = "signals"
	answers, instants := 0, 0
	for _, d := range c.data {
		said, err := train.Predict(c.model, d)
		if err != nil {
			return Checked{Check: name}, err
		}
		at := cuts(said.First, len(said.Time))
		answers, instants = answers+len(said.Time)-said.First, instants+len(at)
		if err := train.CheckSignals(c.predictor(ctx), d, c.strategy.Data.Base, at); err != nil {
			return checkResult(name, "", err)
		}
	}
	return checkResult(name, fmt.Sprintf("%d answers; prices changed after each of %d times", answers, instants), nil)
}

// fewTrades is how many trades are too few to see how orders are filled.
const fewTrades = 20

// fills holds a backtest on the first symbol to the order of time within bars.
// Longer bars are made of the base bars, so that both change together. A model
// that hardly trades is made to: whenever its first answer rises or falls.
func (c *timeChecker) fills(ctx context.Context) (Checked, error) {
	const name = "fills"
	r := &fillRun{
		strategy: c.strategy, symbol: c.data[0].Symbol, context: c.data[0].Context, predict: c.predictor(ctx),
		early: c.plant == sameBarFill,
	}
	bars := frameOf(c.data[0], c.strategy.Data.Base)
	own, err := r.run(bars)
	if err != nil {
		return Checked{Check: name}, err
	}
	detail := text.Counted(len(own.Trades), "trade")
	if len(own.Trades) < fewTrades {
		r.restless = true
		if own, err = r.run(bars); err != nil {
			return Checked{Check: name}, err
		}
		detail = text.Counted(len(own.Trades), "trade") + "; the model trades too rarely, so every change of its answer is traded"
	}
	if len(own.Trades) == 0 {
		const advice = "use more --bars, another --seed or a trained --model"
		return Checked{Check: name}, fmt.Errorf("no trade was made in %d bars, so nothing can be said: %s", bars.Len(), advice)
	}
	return checkResult(name, detail, backtest.CheckFills(r.run, bars, cuts(own.Config.StartBar, bars.Len())))
}

// fillRun is a backtest that can be run on other base bars.
type fillRun struct {
	strategy *strategy.Strategy
	symbol   string
	context  []*market.Bars
	predict  train.Predictor
	restless bool // trade whenever an answer changes
	early    bool // fill an order in the bar whose close decided it
}

func (r *fillRun) run(base *market.Bars) (*backtest.Result, error) {
	s := r.strategy
	data := train.Series{Symbol: r.symbol, Bars: []*market.Bars{base}, Context: r.context}
	for _, tf := range s.Data.Timeframes {
		if tf == s.Data.Base {
			continue
		}
		longer, err := market.Resample(base, tf)
		if err != nil {
			return nil, err
		}
		data.Bars = append(data.Bars, longer)
	}
	said, err := r.predict(data)
	if err != nil {
		return nil, err
	}
	signal := said.Signal
	if r.restless {
		signal = changes(said)
	}
	if r.early {
		signal = append(signal[1:len(signal):len(signal)], backtest.Hold) // decided at a close, filled at the open before
	}
	cfg := train.BacktestConfig(s, backtest.Overrides{})
	cfg.StartBar = min(said.First, base.Len()-1)
	return backtest.Backtest(base, signal, cfg)
}

// changes buys where the first answer rises and sells where it falls.
func changes(said *train.Signals) []backtest.Signal {
	list := make([]backtest.Signal, len(said.Time))
	for i := said.First + 1; i < len(list); i++ {
		switch now, before := said.Answer(i)[0], said.Answer(i - 1)[0]; {
		case now > before:
			list[i] = backtest.Buy
		case now < before:
			list[i] = backtest.Sell
		}
	}
	return list
}

// frameOf is the bars of a timeframe, which the data has.
func frameOf(d train.Series, tf market.Timeframe) *market.Bars {
	for _, b := range d.Bars {
		if b.Timeframe == tf {
			return b
		}
	}
	return d.Bars[0]
}
