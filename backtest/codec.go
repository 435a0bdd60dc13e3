package backtest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes the result as a columns file: config and metrics as JSON, then
// ended, time, equity, position and the columns of the trades. The same result
// is always the same bytes.
func (r *Result) Encode() ([]byte, error) {
	config, err := json.Marshal(r.Config)
	if err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}
	metrics, err := json.Marshal(r.Metrics)
	if err != nil {
		return nil, fmt.Errorf("encode metrics: %w", err)
	}
	w := newWriter(kindResult, sizeOf(len(r.Equity), len(r.Trades))+len(metrics))
	put(w, "config", config)
	put(w, "metrics", metrics)
	put(w, "ended", []int8{int8(r.Ended)})
	put(w, "time", r.Time)
	put(w, "equity", r.Equity)
	put(w, "position", r.Position)
	putTrades(w, r.Trades)
	return w.finish(), nil
}

// sizeOf is about the size of a file with that number of bars and trades.
func sizeOf(bars, trades int) int { return 20*bars + 98*trades + 4096 }

// Decode reads what Encode wrote. Anything else is ErrCorrupt; what it accepts encodes to the same bytes again.
func Decode(b []byte) (*Result, error) {
	rd := newReader(b, kindResult)
	r := &Result{}
	takeJSON(rd, "config", &r.Config)
	takeJSON(rd, "metrics", &r.Metrics)
	ended := take[int8](rd, "ended")
	r.Time = take[int64](rd, "time")
	r.Equity = take[float64](rd, "equity")
	r.Position = take[float32](rd, "position")
	r.Trades = takeTrades(rd, len(r.Equity))
	if err := rd.done(); err != nil {
		return nil, err
	}
	if len(ended) != 1 || Reason(ended[0]) != OnEnd && Reason(ended[0]) != OnRuin {
		return nil, corrupt("ended is %v", ended)
	}
	r.Ended = Reason(ended[0])
	if len(r.Time) != len(r.Equity) || len(r.Position) != len(r.Equity) {
		return nil, corrupt("time, equity and position have %d, %d and %d bars", len(r.Time), len(r.Equity), len(r.Position))
	}
	if !finite(r.Equity...) {
		return nil, corrupt("the equity curve holds what is not a number")
	}
	return r, nil
}

// takeJSON reads a column of JSON in the one form in which Encode writes it.
func takeJSON(r *reader, name string, into any) {
	b := take[uint8](r, name)
	if r.err != nil {
		return
	}
	if err := json.Unmarshal(b, into); err != nil {
		r.err = corrupt("column %s: %v", name, err)
		return
	}
	if again, err := json.Marshal(into); err != nil || !bytes.Equal(b, again) {
		r.err = corrupt("column %s is not in its one form", name)
	}
}

func finite(xs ...float64) bool { return notFinite(xs) < 0 }

// The columns of trades, in their order.
var (
	tradeTimes = []string{"entry_time", "exit_time"}
	tradeBars  = []string{"entry_bar", "exit_bar"}
	tradeKinds = []string{"side", "reason"}
	tradeSums  = []string{"quantity", "entry_price", "exit_price", "gross", "costs", "net", "mae", "mfe"}
)

func (t *Trade) times() [2]*int64 { return [...]*int64{&t.EntryTime, &t.ExitTime} }
func (t *Trade) spans() [2]*int32 { return [...]*int32{&t.EntryBar, &t.ExitBar} }
func (t *Trade) kinds() [2]*int8  { return [...]*int8{(*int8)(&t.Side), (*int8)(&t.Reason)} }

func (t *Trade) sums() [8]*float64 {
	return [...]*float64{&t.Quantity, &t.EntryPrice, &t.ExitPrice, &t.Gross, &t.Costs, &t.Net, &t.MAE, &t.MFE}
}

func column[T any](trades []Trade, field func(*Trade) *T) []T {
	out := make([]T, len(trades))
	for k := range trades {
		out[k] = *field(&trades[k])
	}
	return out
}

func putTrades(w *writer, trades []Trade) {
	for j, name := range tradeTimes {
		put(w, name, column(trades, func(t *Trade) *int64 { return t.times()[j] }))
	}
	for j, name := range tradeBars {
		put(w, name, column(trades, func(t *Trade) *int32 { return t.spans()[j] }))
	}
	for j, name := range tradeKinds {
		put(w, name, column(trades, func(t *Trade) *int8 { return t.kinds()[j] }))
	}
	for j, name := range tradeSums {
		put(w, name, column(trades, func(t *Trade) *float64 { return t.sums()[j] }))
	}
}

// fields copies one column into the trades, which it makes if it is the first.
func fields[T value](r *reader, trades *[]Trade, name string, field func(*Trade) *T) {
	values := take[T](r, name)
	if r.err != nil {
		return
	}
	if name == tradeTimes[0] {
		*trades = make([]Trade, len(values))
	}
	if len(values) != len(*trades) {
		r.err = corrupt("column %s has %d values where the first column of the trades has %d", name, len(values), len(*trades))
		return
	}
	for k, v := range values {
		*field(&(*trades)[k]) = v
	}
}

// takeTrades reads trades that happened within the first bars.
func takeTrades(r *reader, bars int) []Trade {
	var trades []Trade
	for j, name := range tradeTimes {
		fields(r, &trades, name, func(t *Trade) *int64 { return t.times()[j] })
	}
	for j, name := range tradeBars {
		fields(r, &trades, name, func(t *Trade) *int32 { return t.spans()[j] })
	}
	for j, name := range tradeKinds {
		fields(r, &trades, name, func(t *Trade) *int8 { return t.kinds()[j] })
	}
	for j, name := range tradeSums {
		fields(r, &trades, name, func(t *Trade) *float64 { return t.sums()[j] })
	}
	if r.err != nil {
		return nil
	}
	for k := range trades {
		t := &trades[k]
		inside := t.EntryBar >= 0 && t.EntryBar <= t.ExitBar && int(t.ExitBar) < bars
		known := (t.Side == Long || t.Side == Short) && t.Reason.known()
		if !inside || !known || !finite(t.Quantity, t.EntryPrice, t.ExitPrice, t.Gross, t.Costs, t.Net, t.MAE, t.MFE) {
			r.err = corrupt("trade %d is impossible: %+v", k, *t)
			return nil
		}
	}
	return trades
}
