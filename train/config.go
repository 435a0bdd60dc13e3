package train

import (
	"errors"
	"fmt"
	"sort"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// BacktestConfig is how the strategy's signals are traded. Where its figures
// begin is left at the first bar: see Plan.
func BacktestConfig(s *strategy.Strategy, o backtest.Overrides) backtest.Config {
	b := s.Backtest
	return backtest.Config{
		InitialCapital: override(b.InitialCapital, o.InitialCapital),
		Commission:     override(b.Commission, o.Commission), Slippage: override(b.Slippage, o.Slippage),
		Spread: override(b.Spread, o.Spread), SizeMode: backtest.SizeMode(b.SizeMode),
		PositionSize: b.PositionSize, LotSize: b.LotSize, Leverage: b.Leverage, StopLoss: b.StopLoss,
		TakeProfit: b.TakeProfit, ExitAfter: b.ExitAfter, AllowShort: s.Decisions.AllowShort, Flip: b.Flip,
		MinSeparation: s.Decisions.Separation, CarryLong: o.CarryLong, CarryShort: o.CarryShort,
	}
}

func override(value float64, by *float64) float64 {
	if by != nil {
		return *by
	}
	return value
}

// Plan is a backtest ready to run: backtest.Backtest(p.Bars, p.Signals.Signal,
// p.Config), or bar by bar with backtest.Run.
type Plan struct {
	Bars    *market.Bars
	Signals *Signals
	Config  backtest.Config
}

// ErrNoDecision says that a span has no bar at which the model can decide.
var ErrNoDecision = errors.New("no bar is left to decide at")

// NewPlan asks a model about the bars of a symbol and prepares the backtest over a span;
// a bound that is not set is the strategy's. Bars before the span serve as history only,
// bars that close after it are not looked at, and trading begins at the first bar of
// which the model can say something. ErrNoDecision where there is no such bar.
func NewPlan(m *TrainedModel, data Series, span strategy.Span, o backtest.Overrides) (*Plan, error) {
	if span.Start.IsZero() {
		span.Start = m.Strategy.Backtest.Span.Start
	}
	if span.End.IsZero() {
		span.End = m.Strategy.Backtest.Span.End
	}
	data = data.before(instant(span.End))
	base, err := data.frame(m.Strategy.Data.Base)
	if err != nil {
		return nil, err
	}
	for _, b := range data.Bars {
		if b.Len() == 0 {
			return nil, fmt.Errorf("%s: %w: there are no %s bars up to the end of the span", data.Symbol, ErrNoDecision, b.Timeframe)
		}
	}
	signals, err := Predict(m, data)
	if err != nil {
		return nil, err
	}
	start := instant(span.Start)
	begin := sort.Search(base.Len(), func(i int) bool { return base.Time[i] >= start })
	first := max(signals.First, begin)
	if first >= base.Len() {
		return nil, fmt.Errorf("%s: %w: of %d bars up to the end of the span, %d lie before it and %d before the first answer of the model",
			data.Symbol, ErrNoDecision, base.Len(), begin, signals.First)
	}
	p := &Plan{Bars: base, Signals: signals, Config: BacktestConfig(m.Strategy, o)}
	p.Config.StartBar = first
	if err := p.Config.Validate(); err != nil {
		return nil, fmt.Errorf("backtest of strategy %s: %w", m.Strategy.Name, err)
	}
	return p, nil
}

// NewPlans prepares one backtest for each symbol, over the same span. Each is an account
// with the same share of the capital. overrides are those of a symbol; nil means none.
func NewPlans(m *TrainedModel, data []Series, span strategy.Span, overrides func(symbol string) backtest.Overrides) ([]*Plan, error) {
	plans := make([]*Plan, len(data))
	for i, d := range data {
		var o backtest.Overrides
		if overrides != nil {
			o = overrides(d.Symbol)
		}
		p, err := NewPlan(m, d, span, o)
		if err != nil {
			return nil, err
		}
		p.Config = p.Config.Share(len(data))
		plans[i] = p
	}
	return plans, nil
}
