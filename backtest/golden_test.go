package backtest

import "testing"

// The example is computed by hand. Ten units; each fill pays friction of 2 %
// (slippage 1 %, half of a spread of 2 %) and 1 % commission; the stop is at
// 10 % of the entry price, the target at 20 %.
func handMade() drawn {
	return drawn{
		bars: series(
			[4]float64{100, 101, 99, 100},  // 0  Buy
			[4]float64{100, 104, 98, 102},  // 1  long at 102: stop 91.8, target 122.4
			[4]float64{103, 110, 101, 108}, // 2
			[4]float64{109, 125, 107, 120}, // 3  target: 122.4 − 2 % = 119.952. Sell
			[4]float64{120, 121, 115, 116}, // 4  short at 117.6: stop 129.36, target 94.08
			[4]float64{130, 132, 128, 131}, // 5  opens beyond the stop: 130 + 2 % = 132.6. Buy
			[4]float64{130, 131, 129, 130}, // 6  long at 132.6. Sell
			[4]float64{128, 129, 120, 122}, // 7  long left at 125.44, short at 125.44: stop 137.984, target 100.352
			[4]float64{121, 123, 110, 112}, // 8
			[4]float64{111, 140, 100, 130}, // 9  touches both: stop, 137.984 + 2 % = 140.74368. Buy
			[4]float64{100, 105, 99, 104},  // 10 long at 102. Buy, which changes nothing
			[4]float64{104, 108, 103, 106}, // 11 the end: 106 − 2 % = 103.88. Sell, which lapses
		),
		signals: []Signal{Buy, Hold, Hold, Sell, Hold, Buy, Sell, Hold, Hold, Buy, Buy, Sell},
		cfg: Config{
			InitialCapital: 10_000, Commission: 0.01, Slippage: 0.01, Spread: 0.02,
			SizeMode: Units, PositionSize: 10, StopLoss: 0.1, TakeProfit: 0.2, AllowShort: true, Flip: true,
		},
	}
}

func at(bar int) int64 { return monday + int64(bar)*3600 }

func TestBacktest_HandMadeExample(t *testing.T) {
	r := handMade().run(t)
	trades := []Trade{
		{
			EntryTime: at(1), ExitTime: at(3), EntryBar: 1, ExitBar: 3, Side: Long, Reason: OnTarget,
			Quantity: 10, EntryPrice: 102, ExitPrice: 119.952, Gross: 224, Costs: 20 + 10.2 + 24.48 + 11.9952, Net: 157.3248,
			MAE: 4. / 102, MFE: 0.2,
		},
		{
			EntryTime: at(4), ExitTime: at(5), EntryBar: 4, ExitBar: 5, Side: Short, Reason: OnStop,
			Quantity: 10, EntryPrice: 117.6, ExitPrice: 132.6, Gross: -100, Costs: 24 + 11.76 + 26 + 13.26, Net: -175.02,
			MAE: 12.4 / 117.6, MFE: 2.6 / 117.6,
		},
		{
			EntryTime: at(6), ExitTime: at(7), EntryBar: 6, ExitBar: 7, Side: Long, Reason: OnSignal,
			Quantity: 10, EntryPrice: 132.6, ExitPrice: 125.44, Gross: -20, Costs: 26 + 13.26 + 25.6 + 12.544, Net: -97.404,
			MAE: 4.6 / 132.6, MFE: 0,
		},
		{
			EntryTime: at(7), ExitTime: at(9), EntryBar: 7, ExitBar: 9, Side: Short, Reason: OnStop,
			Quantity: 10, EntryPrice: 125.44, ExitPrice: 140.74368, Gross: -99.84, Costs: 25.6 + 12.544 + 27.5968 + 14.074368, Net: -179.655168,
			MAE: 0.1, MFE: 15.44 / 125.44,
		},
		{
			EntryTime: at(10), ExitTime: at(11), EntryBar: 10, ExitBar: 11, Side: Long, Reason: OnEnd,
			Quantity: 10, EntryPrice: 102, ExitPrice: 103.88, Gross: 60, Costs: 20 + 10.2 + 21.2 + 10.388, Net: -1.788,
			MAE: 3. / 102, MFE: 6. / 102,
		},
	}
	equity := []float64{
		10_000, 9989.8, 10_049.8, 10_157.3248, 10_161.5648, 9982.3048,
		9943.0448, 9906.7568, 10_006.7568, 9705.245632, 9715.045632, 9703.457632,
	}
	position := []float32{0, 10, 10, 0, -10, 0, 10, -10, -10, 0, 10, 0}

	if len(r.Trades) != len(trades) {
		t.Fatalf("%d trades, want %d: %+v", len(r.Trades), len(trades), r.Trades)
	}
	for k := range trades {
		got, want := r.Trades[k], trades[k]
		for j, x := range got.sums() {
			if y := want.sums()[j]; !near(*x, *y, 1e-13, 1000) {
				t.Errorf("trade %d: %s is %v, want %v", k, tradeSums[j], *x, *y)
			}
			*x = *want.sums()[j]
		}
		if got != want {
			t.Errorf("trade %d is %+v, want %+v", k, got, want)
		}
	}
	for i, want := range equity {
		if !near(r.Equity[i], want, 1e-14, want) {
			t.Errorf("equity at bar %d is %v, want %v", i, r.Equity[i], want)
		}
		if r.Position[i] != position[i] {
			t.Errorf("position at bar %d is %v, want %v", i, r.Position[i], position[i])
		}
	}
	if r.Ended != OnEnd {
		t.Errorf("ended by %v, want %v", r.Ended, OnEnd)
	}
}

func TestBacktest_HandMadeFigures(t *testing.T) {
	m := handMade().run(t).Metrics
	opt := func(x *float64) float64 {
		if x == nil {
			t.Helper()
			t.Error("a figure is null")
			return 0
		}
		return *x
	}
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"total_return", m.TotalReturn, -296.542368},
		{"total_return_pct", m.TotalReturnPct, -2.96542368},
		{"max_drawdown", m.MaxDrawdown, 10_161.5648 - 9703.457632},
		{"max_drawdown_pct", m.MaxDrawdownPct, 100 * (10_161.5648 - 9703.457632) / 10_161.5648},
		{"max_drawdown_duration", float64(m.MaxDrawdownDuration), 7}, // bars 5 to 11
		{"recovery_factor", opt(m.RecoveryFactor), -296.542368 / (10_161.5648 - 9703.457632)},
		{"total_trades", float64(m.TotalTrades), 5},
		{"winning_trades", float64(m.WinningTrades), 1},
		{"losing_trades", float64(m.LosingTrades), 4},
		{"win_rate", opt(m.WinRate), 0.2},
		{"profit_factor", opt(m.ProfitFactor), 157.3248 / 453.867168},
		{"avg_win", opt(m.AvgWin), 157.3248},
		{"avg_loss", opt(m.AvgLoss), -453.867168 / 4},
		{"largest_win", opt(m.LargestWin), 157.3248},
		{"largest_loss", opt(m.LargestLoss), -179.655168},
		{"avg_holding_period", opt(m.AvgHoldingPeriod), 7. / 5}, // 2, 1, 1, 2 and 1 hours
		{"avg_win_holding_period", opt(m.AvgWinHoldingPeriod), 2},
		{"avg_loss_holding_period", opt(m.AvgLossHoldingPeriod), 5. / 4},
		{"exposure", opt(m.Exposure), 1}, // in the market from bar 1 on
		{"cost_total", m.CostTotal, 360.702368},
		{"bars_per_year", opt(m.BarsPerYear), 8766},
		// All the money, bought at 100 and sold at 106, each with 2 % and 1 %.
		{"buy_and_hold_return", opt(m.BuyAndHoldReturn), 10_000 * (106*0.98*0.99/(100*1.02*1.01) - 1)},
		{"buy_and_hold_return_pct", opt(m.BuyAndHoldReturnPct), 100 * (106*0.98*0.99/(100*1.02*1.01) - 1)},
	} {
		if !near(f.got, f.want, 1e-12, max(1, f.want, -f.want)) {
			t.Errorf("%s is %v, want %v", f.name, f.got, f.want)
		}
	}
}
