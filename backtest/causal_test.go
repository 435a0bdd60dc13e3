package backtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

var cuts = []int{30, 77, 120}

// sameBar is the classic fault: it decides at a bar's close and fills at a
// price of that very bar.
func sameBar(b *market.Bars, price []float64) *Result {
	r := &Result{Equity: make([]float64, b.Len())}
	cash, signals := 1000.0, momentum(b)
	var open *Trade
	for i, s := range signals {
		if open != nil && s == Sell {
			open.ExitBar, open.ExitPrice, open.Reason = int32(i), price[i], OnSignal
			cash += price[i] - open.EntryPrice
			r.Trades = append(r.Trades, *open)
			open = nil
		} else if open == nil && s == Buy {
			open = &Trade{EntryBar: int32(i), Side: Long, Quantity: 1, EntryPrice: price[i]}
		}
		r.Equity[i] = cash
		if open != nil {
			r.Equity[i] += b.Close[i] - open.EntryPrice
		}
	}
	return r
}

func TestCheckFills(t *testing.T) {
	bars := walk(12, 200, 0.01)
	for _, c := range []struct {
		name   string
		run    func(*market.Bars) (*Result, error)
		caught string
	}{
		{"this engine", func(b *market.Bars) (*Result, error) {
			return Backtest(b, momentum(b), Config{StopLoss: 0.01, TakeProfit: 0.02, AllowShort: true, Flip: true})
		}, ""},
		{"a fill at the open of the bar that decides", func(b *market.Bars) (*Result, error) { return sameBar(b, b.Open), nil }, "entry"},
		{"a fill at its close", func(b *market.Bars) (*Result, error) { return sameBar(b, b.Close), nil }, "entry"},
		{"a fill at its low", func(b *market.Bars) (*Result, error) { return sameBar(b, b.Low), nil }, "entry"},
		{"signals taken a bar early", func(b *market.Bars) (*Result, error) {
			return Backtest(b, append(momentum(b)[1:], Hold), Config{})
		}, "entry"},
		{"exits a bar early", func(b *market.Bars) (*Result, error) {
			s := momentum(b)
			for i := range len(s) - 1 {
				if s[i] == Hold && s[i+1] == Sell {
					s[i] = Sell
				}
			}
			return Backtest(b, s, Config{})
		}, "trade"},
		{"a capital that knows the end", func(b *market.Bars) (*Result, error) {
			return Backtest(b, momentum(b), Config{InitialCapital: 1000 * b.Close[b.Len()-1]})
		}, "equity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckFills(c.run, bars, cuts)
			if c.caught == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*LookAheadError](err); !ok || !strings.Contains(e.Was+e.Is, c.caught) {
				t.Errorf("error is %v, want a look-ahead of %s", err, c.caught)
			}
		})
	}
}

func TestChecks_ReportWhatTheyCannotCheck(t *testing.T) {
	bars := walk(1, 50, 0.01)
	broken := errors.New("broken")
	run := func(b *market.Bars) (*Result, error) { return Backtest(b, momentum(b), Config{}) }
	onlyAll := func(b *market.Bars) error {
		if b.Len() < 50 {
			return broken
		}
		return nil
	}
	for name, err := range map[string]error{
		"a cut at the first bar": CheckFills(run, bars, []int{0}),
		"a cut at the last":      CheckFills(run, bars, []int{49}),
		"a run that fails":       CheckFills(func(*market.Bars) (*Result, error) { return nil, broken }, bars, cuts),
		"a run that fails later": CheckFills(func(b *market.Bars) (*Result, error) { r, _ := run(b); return r, onlyAll(b) }, bars, []int{20}),
	} {
		if _, ok := errors.AsType[*LookAheadError](err); err == nil || ok {
			t.Errorf("%s: error is %v, want one that is no look-ahead", name, err)
		}
	}
}
