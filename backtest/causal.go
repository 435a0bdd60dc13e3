package backtest

import (
	"fmt"

	"github.com/ktrdr/ktrdr/market"
)

// LookAheadError says that something known at a bar changed when only later bars did.
type LookAheadError struct {
	Bar    int    // where the change shows
	Cut    int    // the first bar that was changed
	Future string // how it was changed
	Was    string // with the true future
	Is     string // with the other
}

func (e *LookAheadError) Error() string {
	return fmt.Sprintf("look-ahead: %s at bar %d became %s when the bars from %d on were %s", e.Was, e.Bar, e.Is, e.Cut, e.Future)
}

// CheckFills holds a whole run, decider and engine together, to the order of
// things within a bar. For each cut it leaves the open of that bar as it was and
// changes what follows. Equity before the cut, trades that were closed before it,
// and every entry up to that open must stay: a fill at a price of the bar that
// decided it, or an order that knew how its bar would close, does not. The fills
// of some of the run's own trades are cuts too, since elsewhere such a thing may
// not show. It returns a *LookAheadError for the first change found.
func CheckFills(run func(*market.Bars) (*Result, error), bars *market.Bars, cuts []int) error {
	want, err := run(bars)
	if err != nil {
		return err
	}
	for _, cut := range append(fillCuts(want.Trades, bars.Len()), cuts...) {
		if cut < 1 || cut >= bars.Len()-1 {
			return fmt.Errorf("cut at bar %d: it must leave bars on both sides, of which there are %d", cut, bars.Len())
		}
		for _, f := range futures {
			got, err := run(f.change(bars, cut))
			if err != nil {
				return fmt.Errorf("with what follows the open of bar %d %s: %w", cut, f.name, err)
			}
			if e := compareRuns(want, got, cut); e != nil {
				e.Future = f.name
				return e
			}
		}
	}
	return nil
}

// probed is how many trades lend CheckFills the bars of their fills. A cheat at
// every third entry escapes that number of cuts with a chance of one in six hundred.
const probed = 16

// fillCuts picks the entry and exit bars of some trades, evenly among them.
func fillCuts(trades []Trade, bars int) []int {
	var cuts []int
	n := min(probed, len(trades))
	for k := range n {
		t := &trades[k*len(trades)/n]
		for _, at := range t.spans() {
			if *at >= 1 && int(*at) < bars-1 {
				cuts = append(cuts, int(*at))
			}
		}
	}
	return cuts
}

// compareRuns returns the first difference that a change after the open of bar cut cannot have made.
func compareRuns(want, got *Result, cut int) *LookAheadError {
	for i := range min(cut, len(want.Equity)) {
		if i >= len(got.Equity) || got.Equity[i] != want.Equity[i] {
			is := "nothing"
			if i < len(got.Equity) {
				is = fmt.Sprintf("%.6g", got.Equity[i])
			}
			return &LookAheadError{Bar: i, Cut: cut, Was: fmt.Sprintf("equity %.6g", want.Equity[i]), Is: is}
		}
	}
	a, b := settled(want.Trades, cut), settled(got.Trades, cut)
	for k := range max(len(a), len(b)) {
		var was, is Trade
		if k < len(a) {
			was = a[k]
		}
		if k < len(b) {
			is = b[k]
		}
		if was != is {
			return &LookAheadError{Bar: int(max(was.EntryBar, is.EntryBar)), Cut: cut, Was: story(was), Is: story(is)}
		}
	}
	return nil
}

// settled is what the open of bar cut knows of the trades: those closed until
// then, and the entries of those that were not.
func settled(trades []Trade, cut int) []Trade {
	var known []Trade
	for _, t := range trades {
		switch {
		case int(t.ExitBar) < cut, int(t.ExitBar) == cut && t.Reason == OnSignal:
			known = append(known, t)
		case int(t.EntryBar) <= cut:
			known = append(known, Trade{
				EntryTime: t.EntryTime, EntryBar: t.EntryBar, Side: t.Side, Quantity: t.Quantity, EntryPrice: t.EntryPrice,
			})
		}
	}
	return known
}

func story(t Trade) string {
	switch {
	case t.Quantity == 0:
		return "no trade"
	case t.ExitBar == 0:
		return fmt.Sprintf("a %s entry of %.6g at %.6g", t.Side, t.Quantity, t.EntryPrice)
	}
	return fmt.Sprintf("a %s trade of %.6g from %.6g to %.6g", t.Side, t.Quantity, t.EntryPrice, t.ExitPrice)
}

// future is another way on.
type future struct {
	name  string
	scale float64 // of the prices; 0 removes the bars
}

var futures = []future{{"removed", 0}, {"a third higher", 4.0 / 3}, {"a third lower", 2.0 / 3}}

// change gives the series another future from the open of bar cut on, which stays.
func (f future) change(b *market.Bars, cut int) *market.Bars {
	if f.scale == 0 {
		return b.Slice(0, cut+1)
	}
	c := *b
	scaled := func(column []float64) []float64 {
		out := make([]float64, len(column))
		copy(out, column[:cut])
		for i := cut; i < len(out); i++ {
			out[i] = column[i] * f.scale
		}
		return out
	}
	c.Open, c.High, c.Low, c.Close = scaled(b.Open), scaled(b.High), scaled(b.Low), scaled(b.Close)
	if len(b.Volume) == b.Len() {
		c.Volume = scaled(b.Volume)
	}
	open := b.Open[cut]
	c.Open[cut], c.High[cut], c.Low[cut] = open, max(c.High[cut], open), min(c.Low[cut], open)
	return &c
}
