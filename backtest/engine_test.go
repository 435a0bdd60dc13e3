package backtest

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// row is open, high, low, close.
type row = [4]float64

var calm = row{100, 101, 99, 100}

func TestRun_StopsAndTargets(t *testing.T) {
	long, short := []Signal{Buy, Hold, Hold}, []Signal{Sell, Hold, Hold}
	for _, c := range []struct {
		name    string
		signals []Signal
		bars    []row
		bar     int32
		price   float64
		reason  Reason
	}{
		{"a long's stop within a bar", long, []row{calm, calm, {99, 100, 89, 95}}, 2, 90, OnStop},
		{"a long's stop touched exactly", long, []row{calm, calm, {99, 100, 90, 95}}, 2, 90, OnStop},
		{"a long's stop missed by a hair", long, []row{calm, calm, {99, 100, 90.001, 95}}, 2, 95, OnEnd},
		{"a long's bar that opens below the stop", long, []row{calm, calm, {85, 86, 80, 84}}, 2, 85, OnStop},
		{"a long's stop in the bar of the entry", long, []row{calm, {100, 101, 88, 99}, calm}, 1, 90, OnStop},
		{"a long's target within a bar", long, []row{calm, calm, {105, 125, 104, 110}}, 2, 120, OnTarget},
		{"a long's target touched exactly", long, []row{calm, calm, {105, 120, 104, 110}}, 2, 120, OnTarget},
		{"a long's bar that opens above the target", long, []row{calm, calm, {130, 131, 125, 126}}, 2, 130, OnTarget},
		{"a long's target in the bar of the entry", long, []row{calm, {100, 122, 99, 110}, calm}, 1, 120, OnTarget},
		{"a long's bar that touches both", long, []row{calm, calm, {100, 130, 80, 120}}, 2, 90, OnStop},
		{"a long's bar that opens above the target and falls through the stop", long, []row{calm, calm, {125, 126, 80, 85}}, 2, 125, OnTarget},
		{"a long's bar that opens below the stop and rises through the target", long, []row{calm, calm, {85, 130, 84, 125}}, 2, 85, OnStop},
		{"a short's bar that opens below the target and rises through the stop", short, []row{calm, calm, {75, 120, 74, 115}}, 2, 75, OnTarget},
		{"a short's bar that opens above the stop and falls through the target", short, []row{calm, calm, {115, 116, 70, 75}}, 2, 115, OnStop},
		{"a short's stop within a bar", short, []row{calm, calm, {101, 111, 100, 105}}, 2, 110, OnStop},
		{"a short's bar that opens above the stop", short, []row{calm, calm, {115, 116, 112, 114}}, 2, 115, OnStop},
		{"a short's stop in the bar of the entry", short, []row{calm, {100, 112, 99, 101}, calm}, 1, 110, OnStop},
		{"a short's target within a bar", short, []row{calm, calm, {95, 96, 79, 90}}, 2, 80, OnTarget},
		{"a short's bar that opens below the target", short, []row{calm, calm, {70, 71, 65, 69}}, 2, 70, OnTarget},
		{"a short's bar that touches both", short, []row{calm, calm, {100, 130, 70, 80}}, 2, 110, OnStop},
		{"nothing touched until the end", long, []row{calm, calm, {100, 104, 98, 103}}, 2, 103, OnEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{SizeMode: Units, PositionSize: 1, StopLoss: 0.1, TakeProfit: 0.2, AllowShort: true}
			r := drawn{series(c.bars...), c.signals, cfg}.run(t)
			if len(r.Trades) != 1 {
				t.Fatalf("%d trades, want 1: %+v", len(r.Trades), r.Trades)
			}
			got := r.Trades[0]
			if got.ExitBar != c.bar || !near(got.ExitPrice, c.price, 1e-12, c.price) || got.Reason != c.reason {
				t.Errorf("left at bar %d at %v by %v, want bar %d at %v by %v", got.ExitBar, got.ExitPrice, got.Reason, c.bar, c.price, c.reason)
			}
			if last := r.Equity[len(r.Equity)-1]; !near(last, defCapital+got.Net, 1e-15, last) {
				t.Errorf("final equity is %v, want %v", last, defCapital+got.Net)
			}
		})
	}
}

// What a bar does after its open is nothing to a position that was left there.
func TestRun_APositionLeftAtTheOpenDoesNotSeeTheRestOfTheBar(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal Signal
		bar    row
	}{
		{"a long, the stop not touched", Buy, row{125, 126, 95, 96}},
		{"a long, the stop touched", Buy, row{125, 126, 80, 85}},
		{"a short, the stop not touched", Sell, row{75, 105, 74, 104}},
		{"a short, the stop touched", Sell, row{75, 120, 74, 115}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{SizeMode: Units, PositionSize: 1, StopLoss: 0.1, TakeProfit: 0.2, AllowShort: true}
			got := drawn{series(calm, calm, c.bar), []Signal{c.signal, Hold, Hold}, cfg}.run(t).Trades[0]
			if !near(got.MAE, 0.01, 1e-12, 1) || !near(got.MFE, 0.25, 1e-12, 1) {
				t.Errorf("excursions %v against and %v for, want 0.01 and 0.25", got.MAE, got.MFE)
			}
		})
	}
}

func TestRun_SignalsAndPosition(t *testing.T) {
	type fills [][2]int32 // entry and exit bar of each trade
	const S, H, B = Sell, Hold, Buy
	for _, c := range []struct {
		name    string
		signals []Signal
		cfg     Config
		want    fills
		sides   []Side
	}{
		{"a signal fills at the next open", []Signal{B, H, S, H, H}, Config{}, fills{{1, 3}}, []Side{Long}},
		{"a signal repeated changes nothing", []Signal{B, B, B, S, S}, Config{}, fills{{1, 4}}, []Side{Long}},
		{"Sell does nothing when flat", []Signal{S, S, B, H, H}, Config{}, fills{{3, 4}}, []Side{Long}},
		{"Sell opens a short when allowed", []Signal{S, H, B, H, H}, Config{AllowShort: true}, fills{{1, 3}}, []Side{Short}},
		{"an opposite signal only closes", []Signal{B, S, H, H, H}, Config{AllowShort: true}, fills{{1, 2}}, []Side{Long}},
		{"the next one opens", []Signal{B, S, S, H, H}, Config{AllowShort: true}, fills{{1, 2}, {3, 4}}, []Side{Long, Short}},
		{
			"flip closes and opens at one open",
			[]Signal{B, S, H, B, H},
			Config{AllowShort: true, Flip: true},
			fills{{1, 2}, {2, 4}, {4, 4}},
			[]Side{Long, Short, Long},
		},
		{"flip does not go short unless allowed", []Signal{B, S, H, H, H}, Config{Flip: true}, fills{{1, 2}}, []Side{Long}},
		{"the last bar's signal lapses", []Signal{H, H, H, H, B}, Config{}, nil, nil},
		{"signals before the start bar do not count", []Signal{B, B, B, H, H}, Config{StartBar: 2}, fills{{3, 4}}, []Side{Long}},
		{"a signal too soon after a fill is held", []Signal{B, S, S, S, H}, Config{MinSeparation: 2 * time.Hour}, fills{{1, 4}}, []Side{Long}},
		{"a signal just after the separation is not", []Signal{B, S, S, S, H}, Config{MinSeparation: time.Hour}, fills{{1, 3}}, []Side{Long}},
		{"the last bar may be entered and left", []Signal{H, H, H, B, H}, Config{}, fills{{4, 4}}, []Side{Long}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := drawn{series(calm, calm, calm, calm, calm), c.signals, c.cfg}.run(t)
			if len(r.Trades) != len(c.want) {
				t.Fatalf("%d trades, want %d: %+v", len(r.Trades), len(c.want), r.Trades)
			}
			for k, tr := range r.Trades {
				if got := [2]int32{tr.EntryBar, tr.ExitBar}; got != c.want[k] || tr.Side != c.sides[k] {
					t.Errorf("trade %d is %v over bars %v, want %v over %v", k, tr.Side, got, c.sides[k], c.want[k])
				}
			}
		})
	}
}

func TestRun_AStopDoesNotWaitForTheSeparation(t *testing.T) {
	d := drawn{series(calm, row{100, 100, 80, 90}, calm), []Signal{Buy, Hold, Hold}, Config{StopLoss: 0.1, MinSeparation: 24 * time.Hour}}
	if r := d.run(t); r.Trades[0].Reason != OnStop {
		t.Errorf("left by %v, want %v", r.Trades[0].Reason, OnStop)
	}
}

func TestRun_Sizes(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want float64
	}{
		{"a quarter of the equity unless told otherwise", Config{}, 250},
		{"a fraction includes its commission", Config{PositionSize: 1, Commission: 0.01}, 100_000 / 101.0},
		{"a fraction of the price with friction", Config{PositionSize: 1, Slippage: 0.01, Spread: 0.02}, 100_000 / 102.0},
		{"units as given", Config{SizeMode: Units, PositionSize: 7}, 7},
		{"units beyond the equity are cut", Config{SizeMode: Units, PositionSize: 5000}, 1000},
		{"leverage raises the limit", Config{SizeMode: Units, PositionSize: 5000, Leverage: 3}, 3000},
		{"risk is lost at the stop", Config{SizeMode: Risk, PositionSize: 0.01, StopLoss: 0.05}, 200}, // 5 a unit, 1,000 at risk
		{"risk too is cut by the equity", Config{SizeMode: Risk, PositionSize: 0.5, StopLoss: 0.05}, 1000},
		{"lots are rounded down", Config{LotSize: 100}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := drawn{series(calm, calm, calm), []Signal{Buy, Hold, Hold}, c.cfg}.run(t)
			if len(r.Trades) != 1 || !near(r.Trades[0].Quantity, c.want, 1e-14, c.want) {
				t.Errorf("bought %+v, want %v units", r.Trades, c.want)
			}
		})
	}
}

func TestRun_AnOrderOfNoUnitIsCounted(t *testing.T) {
	r := drawn{series(calm, calm, calm), []Signal{Buy, Buy, Hold}, Config{LotSize: 1000}}.run(t)
	if len(r.Trades) != 0 || r.Metrics.UnfilledOrders != 2 {
		t.Errorf("%d trades and %d unfilled orders, want 0 and 2", len(r.Trades), r.Metrics.UnfilledOrders)
	}
}

func TestRun_Ruin(t *testing.T) {
	short := Config{PositionSize: 1, AllowShort: true}
	stopped := Config{PositionSize: 1, AllowShort: true, StopLoss: 0.1}
	geared := Config{PositionSize: 4, Leverage: 4}
	for _, c := range []struct {
		name    string
		signals []Signal
		cfg     Config
		bars    []row
		reason  Reason
		price   float64
		left    float64
	}{
		{
			"a short whose price doubles within a bar",
			[]Signal{Sell, Hold, Hold, Buy},
			short,
			[]row{calm, calm, {150, 250, 140, 150}, calm},
			OnRuin, 200, 0,
		},
		{
			"a short whose bar opens beyond that",
			[]Signal{Sell, Hold, Hold, Buy},
			short,
			[]row{calm, calm, {300, 310, 290, 300}, calm},
			OnRuin,
			300, -100_000,
		},
		{
			"a short that a signal leaves at such an open",
			[]Signal{Sell, Buy, Hold, Buy},
			short,
			[]row{calm, calm, {300, 310, 290, 300}, calm},
			OnSignal, 300, -100_000,
		},
		{
			"a short whose stop is jumped",
			[]Signal{Sell, Hold, Hold, Buy},
			stopped,
			[]row{calm, calm, {300, 310, 290, 300}, calm},
			OnStop,
			300, -100_000,
		},
		{
			"a geared long that falls by a quarter",
			[]Signal{Buy, Hold, Hold, Buy},
			geared,
			[]row{calm, calm, {90, 95, 70, 90}, calm},
			OnRuin, 75, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := drawn{series(c.bars...), c.signals, c.cfg}.run(t)
			if r.Ended != OnRuin || len(r.Trades) != 1 || len(r.Equity) != 3 || len(r.Position) != 3 || len(r.Time) != 3 {
				t.Fatalf("ended by %v after %d trades and %d bars, want ruin after 1 and 3", r.Ended, len(r.Trades), len(r.Equity))
			}
			tr := r.Trades[0]
			if tr.Reason != c.reason || !near(tr.ExitPrice, c.price, 1e-12, c.price) || !near(r.Equity[2], c.left, 1e-12, defCapital) {
				t.Errorf("left by %v at %v with %v, want %v at %v with %v", tr.Reason, tr.ExitPrice, r.Equity[2], c.reason, c.price, c.left)
			}
			if a := r.Metrics.AnnualizedReturn; c.left < 0 && (a == nil || *a != -1) {
				t.Errorf("annualized return is %s, want -1", show(a))
			}
		})
	}
}

func TestRun_ARuinedRunStaysEnded(t *testing.T) {
	bars := series(calm, calm, row{300, 310, 290, 300}, calm)
	signals, cfg := []Signal{Sell, Hold, Hold, Hold}, Config{PositionSize: 1, AllowShort: true}
	var st RunState
	for range 2 {
		if err := Run(bars, signals, cfg, &st, 4); err != nil {
			t.Fatal(err)
		}
		if !st.Ruined || st.Bar != 3 {
			t.Fatalf("ruined %v at bar %d, want true at 3", st.Ruined, st.Bar)
		}
	}
}

func TestRun_Refuses(t *testing.T) {
	good := func() *market.Bars { return series(calm, calm, calm) }
	hold := make([]Signal, 3)
	for _, c := range []struct {
		name string
		run  func() error
		want string
	}{
		{"no bars", func() error { _, err := Backtest(series(), nil, Config{}); return err }, "there are none"},
		{"signals for other bars", func() error { _, err := Backtest(good(), hold[:2], Config{}); return err }, "2 signals do not fit 3 bars"},
		{"an unknown signal", func() error { _, err := Backtest(good(), []Signal{0, 2, 0}, Config{}); return err }, "signal 2 at bar 1"},
		{"a bar past the end", func() error { return Run(good(), hold, Config{}, &RunState{}, 4) }, "there are 3 bars"},
		{"too few signals", func() error { return Run(good(), hold[:1], Config{}, &RunState{}, 2) }, "only 1 signals"},
		{"a start after the end", func() error { return Run(good(), hold, Config{StartBar: 3}, &RunState{}, 3) }, "only 3 bars"},
		{"columns of different lengths", func() error {
			b := good()
			b.Low = b.Low[:2]
			return Run(b, hold, Config{}, &RunState{}, 3)
		}, "different lengths"},
		{"a fill at no price", func() error {
			_, err := Backtest(series(calm, row{math.NaN(), 1, 1, 1}, calm), []Signal{Buy, 0, 0}, Config{})
			return err
		}, "bar 1 opens at NaN"},
		{"a position worth no number", func() error {
			_, err := Backtest(series(calm, calm, row{100, 101, 99, math.Inf(1)}, calm), []Signal{Buy, 0, 0, 0}, Config{})
			return err
		}, "equity at bar 2"},
		{"another configuration than before", func() error {
			var st RunState
			if err := Run(good(), hold, Config{}, &st, 1); err != nil {
				return err
			}
			return Run(good(), hold, Config{Flip: true}, &st, 2)
		}, "another configuration"},
		{"other bars than before", func() error {
			var st RunState
			if err := Run(good(), hold, Config{}, &st, 2); err != nil {
				return err
			}
			b := good()
			b.Time = []int64{1, 2, 3}
			return Run(b, hold, Config{}, &st, 3)
		}, "other bars"},
		{"to finish before the end", func() error {
			var st RunState
			if err := Run(good(), hold, Config{}, &st, 2); err != nil {
				return err
			}
			_, err := Finish(good(), &st)
			return err
		}, "before bar 2 of 3"},
		{"to finish what never began", func() error { _, err := Finish(series(), &RunState{}); return err }, "before bar 0 of 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// A position without a signal in its direction is left when its time is up; each such signal renews it.
func TestRun_ClosesAPositionWhoseTimeIsUp(t *testing.T) {
	bars := walk(7, 12, 0.001)
	signals := []Signal{Buy, Hold, Buy, Hold, Hold, Hold, Sell, Hold, Hold, Hold, Hold, Hold}
	cfg := Config{SizeMode: Units, PositionSize: 1, ExitAfter: 2, AllowShort: true, Flip: true}
	r, err := Backtest(bars, signals, cfg)
	if err != nil {
		t.Fatal(err)
	}
	type exit struct {
		entry, exit int32
		why         Reason
		bars        int
	}
	var got []exit
	for k := range r.Trades {
		x := &r.Trades[k]
		got = append(got, exit{x.EntryBar, x.ExitBar, x.Reason, x.Bars()})
	}
	// Bought at bar 1 and renewed at the close of bar 2: the closes of bars 3 and 4 pass without a signal. Sold short at bar 7.
	if want := []exit{{1, 5, OnTime, 4}, {7, 9, OnTime, 2}}; !slices.Equal(got, want) {
		t.Errorf("trades %+v, want %+v", got, want)
	}
	cfg.MinSeparation = 6 * time.Hour
	if r, err = Backtest(bars, signals, cfg); err != nil || r.Trades[0].ExitBar != 5 {
		t.Errorf("with a separation of six hours: %v, %+v", err, r.Trades)
	}
}

// A state that was stored before positions had a time is read, and ends with the same curve.
func TestState_OfAVersionWithoutExitsByTimeIsRead(t *testing.T) {
	d := drawn{bars: walk(3, 60, 0.01), signals: chatter(3, 60, 0.8), cfg: Config{AllowShort: true}}
	var st RunState
	if err := Run(d.bars, d.signals, d.cfg, &st, 30); err != nil {
		t.Fatal(err)
	}
	st.Holding.Held = st.Holding.Bar
	file, err := stateFile(&st, st.ints()[:8])
	if err != nil {
		t.Fatal(err)
	}
	var old RunState
	if err := old.UnmarshalBinary(file); err != nil {
		t.Fatal(err)
	}
	if err := Run(d.bars, d.signals, d.cfg, &old, 60); err != nil {
		t.Fatal(err)
	}
	r, err := Finish(d.bars, &old)
	if err != nil || !slices.Equal(r.Equity, d.run(t).Equity) {
		t.Errorf("it went another way (%v)", err)
	}
}
