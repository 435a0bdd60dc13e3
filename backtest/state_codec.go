package backtest

import (
	"encoding/json"
	"fmt"
	"math"
)

// MarshalBinary writes the state as a columns file: config as JSON, the
// columns integers and numbers with the single values in the order of ints and
// floats below, equity, and the columns of the trades.
func (st *RunState) MarshalBinary() ([]byte, error) { return stateFile(st, st.ints()) }

func stateFile(st *RunState, ints []int64) ([]byte, error) {
	config, err := json.Marshal(st.Config)
	if err != nil {
		return nil, fmt.Errorf("encode config: %w", err)
	}
	w := newWriter(kindState, sizeOf(len(st.Equity), len(st.Trades)))
	put(w, "config", config)
	put(w, "integers", ints)
	floats := st.floats()
	numbers := make([]float64, len(floats))
	for k, x := range floats {
		numbers[k] = *x
	}
	put(w, "numbers", numbers)
	put(w, "equity", st.Equity)
	putTrades(w, st.Trades)
	return w.finish(), nil
}

func (st *RunState) ints() []int64 {
	return []int64{
		int64(st.Bar), int64(st.Pending), int64(st.LastFill), int64(st.Unfilled), bit(st.Ruined), st.LastTime,
		int64(st.Holding.Bar), bit(st.Holding.Ruin), int64(st.Holding.Held),
	}
}

func (st *RunState) floats() []*float64 {
	h := &st.Holding
	return []*float64{&st.Cash, &h.Units, &h.Quote, &h.Price, &h.Costs, &h.Stop, &h.Target, &h.Low, &h.High}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// UnmarshalBinary reads what MarshalBinary wrote, bit for bit. Anything else
// is ErrCorrupt and leaves the state as it was.
func (st *RunState) UnmarshalBinary(b []byte) error {
	r := newReader(b, kindState)
	var in RunState
	takeJSON(r, "config", &in.Config)
	ints := take[int64](r, "integers")
	numbers := take[float64](r, "numbers")
	in.Equity = take[float64](r, "equity")
	in.Trades = takeTrades(r, len(in.Equity))
	if err := r.done(); err != nil {
		return err
	}
	floats := in.floats()
	if len(ints) == len(in.ints())-1 { // of a version without exits by time
		ints = append(ints, ints[6])
	}
	if len(ints) != len(in.ints()) || len(numbers) != len(floats) {
		return corrupt("it has %d integers and %d numbers where %d and %d are wanted", len(ints), len(numbers), len(in.ints()), len(floats))
	}
	for k, x := range numbers {
		*floats[k] = x
	}
	if err := in.setInts(ints); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	*st = in
	return nil
}

// setInts is the inverse of ints.
func (st *RunState) setInts(v []int64) error {
	n := int64(len(st.Equity))
	ok := v[0] == n && v[1] >= -1 && v[1] <= int64(timeUp) && v[2] >= -1 && v[2] < max(n, 1) && v[3] >= 0 && v[3] <= n &&
		v[4]|1 == 1 && v[6] >= 0 && v[6] < max(n, 1) && v[7]|1 == 1 && v[8] >= 0 && v[8] < max(n, 1)
	if !ok {
		return corrupt("its integers %v are impossible after %d bars", v, n)
	}
	st.Bar, st.Pending, st.LastFill, st.Unfilled = int(v[0]), Signal(v[1]), int(v[2]), int(v[3])
	st.Ruined, st.LastTime, st.Holding.Bar, st.Holding.Ruin = v[4] == 1, v[5], int(v[6]), v[7] == 1
	st.Holding.Held = int(v[8])
	return nil
}

// check holds a state that was read to what Run could have left. The stop and the target may be infinite.
func (st *RunState) check() error {
	if st.Config == (Config{}) {
		if st.Bar != 0 || len(st.Trades) != 0 || st.Ruined {
			return corrupt("it has no configuration but %d bars", st.Bar)
		}
		return nil
	}
	if full, err := st.Config.complete(); err != nil || full != st.Config {
		return corrupt("its configuration is not one that a run uses: %v", err)
	}
	h := &st.Holding
	if !finite(st.Equity...) || !finite(st.Cash, h.Units, h.Quote, h.Price, h.Costs, h.Low, h.High) || math.IsNaN(h.Stop) ||
		math.IsNaN(h.Target) {
		return corrupt("it holds what is not a number")
	}
	if st.Pending == timeUp && h.Units == 0 {
		return corrupt("it is to leave a position that it does not have")
	}
	if st.Ruined && (st.Bar == 0 || h.Units != 0 || st.Pending != Hold) {
		return corrupt("it is ruined and yet has something to do")
	}
	return nil
}
