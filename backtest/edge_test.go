package backtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// The least and the greatest accepted value of each field, and the first one
// past it.
func TestConfig_Bounds(t *testing.T) {
	for name, c := range map[string]struct {
		cfg Config
		ok  bool
	}{
		"most capital":          {Config{InitialCapital: 1e15}, true},
		"too much capital":      {Config{InitialCapital: 1.001e15}, false},
		"most commission":       {Config{Commission: 0.2}, true},
		"too much commission":   {Config{Commission: 0.201}, false},
		"most slippage":         {Config{Slippage: 0.2}, true},
		"too much slippage":     {Config{Slippage: 0.201}, false},
		"most spread":           {Config{Spread: 0.2}, true},
		"too much spread":       {Config{Spread: 0.201}, false},
		"most leverage":         {Config{Leverage: 100}, true},
		"too much leverage":     {Config{Leverage: 100.5}, false},
		"largest lot":           {Config{LotSize: 1e15}, true},
		"too large a lot":       {Config{LotSize: 1.001e15}, false},
		"farthest target":       {Config{TakeProfit: 1000}, true},
		"too far a target":      {Config{TakeProfit: 1001}, false},
		"most units":            {Config{SizeMode: Units, PositionSize: 1e15}, true},
		"too many units":        {Config{SizeMode: Units, PositionSize: 1.001e15}, false},
		"all at risk":           {Config{SizeMode: Risk, PositionSize: 1, StopLoss: 0.1}, true},
		"nothing at risk":       {Config{SizeMode: Risk, StopLoss: 0.1}, false},
		"less than no fraction": {Config{PositionSize: -0.1}, false},
	} {
		if err := c.cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
}

func TestConfig_JSONKeepsWhatItDoesNotName(t *testing.T) {
	c := Config{MinSeparation: 90 * time.Second}
	if err := json.Unmarshal([]byte(`{"leverage": 2}`), &c); err != nil || c.MinSeparation != 90*time.Second || c.Leverage != 2 {
		t.Errorf("reads as %+v with %v, want 90 s kept and a leverage of 2", c, err)
	}
	// The longest time that fits: 2^63-1 nanoseconds are 9,223,372,036 seconds and a bit.
	for text, ok := range map[string]bool{"9223372036": true, "9223372037": false, "-9223372036": true, "-9223372037": false} {
		if err := json.Unmarshal([]byte(`{"min_separation_seconds": `+text+`}`), &Config{}); (err == nil) != ok {
			t.Errorf("%s seconds: error is %v, want it read: %v", text, err, ok)
		}
	}
}

// Entry 100, stop a quarter away, target half away: 75 and 150 for a long, 125
// and 50 for a short. All of it is exact in binary.
func TestRun_StopsAndTargetsTouchedExactly(t *testing.T) {
	for _, c := range []struct {
		name     string
		signal   Signal
		bar      row
		price    float64
		reason   Reason
		mae, mfe float64
	}{
		{"a long's stop", Buy, row{100, 101, 75, 80}, 75, OnStop, 0.25, 0.01},
		{"a long's target", Buy, row{100, 150, 99, 140}, 150, OnTarget, 0.01, 0.5},
		{"a long's bar that opens at the target and falls through the stop", Buy, row{150, 151, 70, 80}, 150, OnTarget, 0.01, 0.5},
		{"a long's bar that opens at the target and falls", Buy, row{150, 151, 80, 80}, 150, OnTarget, 0.01, 0.5},
		{"a short's stop", Sell, row{100, 125, 99, 110}, 125, OnStop, 0.25, 0.01},
		{"a short's target", Sell, row{100, 101, 50, 60}, 50, OnTarget, 0.01, 0.5},
		{"a short's bar that opens at the target and rises through the stop", Sell, row{50, 130, 49, 120}, 50, OnTarget, 0.01, 0.5},
		{"a short's bar that opens at the target and rises", Sell, row{50, 120, 49, 120}, 50, OnTarget, 0.01, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{SizeMode: Units, PositionSize: 1, StopLoss: 0.25, TakeProfit: 0.5, AllowShort: true}
			got := drawn{series(calm, calm, c.bar), []Signal{c.signal, Hold, Hold}, cfg}.run(t).Trades[0]
			if got.ExitPrice != c.price || got.Reason != c.reason {
				t.Errorf("left at %v by %v, want %v by %v", got.ExitPrice, got.Reason, c.price, c.reason)
			}
			if !near(got.MAE, c.mae, 1e-12, 1) || !near(got.MFE, c.mfe, 1e-12, 1) {
				t.Errorf("excursions %v against and %v for, want %v and %v", got.MAE, got.MFE, c.mae, c.mfe)
			}
		})
	}
}

// With twice the equity in the market, a price half away uses the equity up.
// A stop at the same price is a stop.
func TestRun_AStopWhereTheEquityEndsIsAStop(t *testing.T) {
	cfg := Config{PositionSize: 2, Leverage: 2, StopLoss: 0.5, AllowShort: true}
	for signal, bar := range map[Signal]row{Buy: {90, 95, 40, 60}, Sell: {110, 160, 105, 140}} {
		r := drawn{series(calm, calm, bar, calm), []Signal{signal, Hold, Hold, Hold}, cfg}.run(t)
		if r.Ended != OnRuin || r.Trades[0].Reason != OnStop {
			t.Errorf("signal %d: ended by %v, the trade by %v; want %v and %v", signal, r.Ended, r.Trades[0].Reason, OnRuin, OnStop)
		}
	}
}

// A thousand units sold at 100 and bought back at 199.99999996 leave 0.00004
// of 100,000, which is less than a billionth of it.
func TestRun_AResidueOfRoundingIsRuin(t *testing.T) {
	for open, ended := range map[float64]Reason{199.99999996: OnRuin, 199.9999: OnEnd} {
		d := drawn{
			series(calm, calm, row{open, open, open, open}, calm),
			[]Signal{Sell, Buy, Hold, Hold},
			Config{PositionSize: 1, AllowShort: true},
		}
		if r := d.run(t); r.Ended != ended {
			t.Errorf("bought back at %v: ended by %v, want %v", open, r.Ended, ended)
		}
	}
}

func TestRun_TheOutermostPrices(t *testing.T) {
	for price, ok := range map[float64]bool{1e-100: true, 0.9e-100: false, 1e100: true, 1.1e100: false} {
		flat := row{price, price, price, price}
		if _, err := Backtest(series(flat, flat, flat), []Signal{Buy, Hold, Hold}, Config{}); (err == nil) != ok {
			t.Errorf("filled at %v: error is %v, want it filled: %v", price, err, ok)
		}
	}
}

// The first bar of the second call has no price, while a position is held.
func TestRun_NamesTheBarWhoseEquityIsNoNumber(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		bars := series(calm, calm, row{100, 101, 99, bad}, calm)
		var st RunState
		signals := []Signal{Buy, Hold, Hold, Hold}
		if err := Run(bars, signals, Config{}, &st, 2); err != nil {
			t.Fatal(err)
		}
		if err := Run(bars, signals, Config{}, &st, 4); err == nil ||
			err.Error() != "the equity at bar 2 is not a number; check the prices there and before" {
			t.Errorf("close %v: error is %v, want one about bar 2", bad, err)
		}
	}
}

func TestRun_OtherBarsAreNamedByTheirLast(t *testing.T) {
	bars := series(calm, calm, calm, calm)
	var st RunState
	if err := Run(bars, make([]Signal, 4), Config{}, &st, 3); err != nil {
		t.Fatal(err)
	}
	moved := series(calm, calm, calm, calm)
	moved.Time[2]++
	want := "the run was begun on other bars: its bar 2 opened at 1704074400; start it again from its first bar"
	if err := Run(moved, make([]Signal, 4), Config{}, &st, 4); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if err := Run(bars.Slice(0, 3), make([]Signal, 3), Config{}, &st, 3); err != nil {
		t.Errorf("the bars that were run already: %v, want no error", err)
	}
}

func TestMeasure_ByHand(t *testing.T) {
	for name, c := range map[string]struct {
		equity   []float64
		perYear  float64
		got      func(Metrics) *float64
		want     float64
		duration int
	}{
		// One period of half a year with 10 %: 1.1² - 1.
		"annualized return": {[]float64{100, 110}, 2, func(m Metrics) *float64 { return m.AnnualizedReturn }, 0.21, 0},
		// Returns of 10 % and -10 %: the root of 0.02, times the root of 4 periods a year.
		"volatility of two returns": {[]float64{100, 110, 99}, 4, func(m Metrics) *float64 { return m.Volatility }, 2 * math.Sqrt(0.02), 1},
		// 20 % in a year of two periods, over a fall of half: 0.2/0.5.
		"calmar":          {[]float64{100, 50, 120}, 2, func(m Metrics) *float64 { return m.Calmar }, 0.4, 1},
		"recovery factor": {[]float64{100, 50, 120}, 2, func(m Metrics) *float64 { return m.RecoveryFactor }, 0.4, 1},
		"used up":         {[]float64{100, 0}, 2, func(m Metrics) *float64 { return m.AnnualizedReturn }, -1, 1},
		// The first stretch under water is the longer one.
		"duration": {[]float64{100, 90, 90, 90, 110, 100, 120}, 6, func(m Metrics) *float64 { return m.AnnualizedReturn }, 0.2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Measure(c.equity, nil, c.perYear)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.got(m); got == nil || !near(*got, c.want, 1e-12, 1) {
				t.Errorf("is %s, want %v", show(got), c.want)
			}
			if m.MaxDrawdownDuration != c.duration {
				t.Errorf("%d bars under water, want %d", m.MaxDrawdownDuration, c.duration)
			}
		})
	}
}

// Deviations are rounding below a billionth of the mean.
func TestMoments_VaryByMoreThanRounding(t *testing.T) {
	for deviation, want := range map[float64]bool{1e-9: true, 2e-11: true, 0.5e-11: false} {
		m := moments{Moments: num.Moments{N: 2, Mean: 0.01, M2: deviation * deviation}}
		if m.vary() != want {
			t.Errorf("returns of 0.01 with a deviation of %v vary: %v, want %v", deviation, !want, want)
		}
	}
}

func TestBarsPerYear_FourWeeksAreEnough(t *testing.T) {
	b := &market.Bars{Timeframe: market.D1, Time: []int64{0, 14 * 86400, 28 * 86400}}
	if got, want := BarsPerYear(b), 2*365.25/28; !near(got, want, 1e-12, want) {
		t.Errorf("%v bars a year, want %v: two in 28 days", got, want)
	}
	b.Time[2]--
	if got := BarsPerYear(b); !near(got, 365.25, 1e-12, 1) {
		t.Errorf("%v bars a year, want those of the timeframe, 365.25", got)
	}
}

func traded(net ...float64) []Trade {
	var list []Trade
	for _, n := range net {
		list = append(list, Trade{Quantity: 1, EntryPrice: 100, ExitPrice: 100 + n, Net: n, ExitTime: 3600})
	}
	return list
}

func TestMeasure_Trades(t *testing.T) {
	m, err := Measure([]float64{100, 100}, traded(3, -1, 0, 2), 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.TotalTrades != 4 || m.WinningTrades != 2 || m.LosingTrades != 1 {
		t.Errorf("%d trades, %d won, %d lost; want 4, 2 and 1: a trade that made nothing is neither", m.TotalTrades, m.WinningTrades,
			m.LosingTrades)
	}
	if m.ProfitFactor == nil || *m.ProfitFactor != 5 {
		t.Errorf("profit factor %s, want 5", show(m.ProfitFactor))
	}
	// Returns of 1 % and 3 %: mean 2 %, deviation the root of 2 %², so that t is 2/(√2/√2) = 2.
	if m, err = Measure([]float64{100, 104}, traded(1, 3), 0); err != nil || m.TradeTStat == nil || !near(*m.TradeTStat, 2, 1e-12, 1) {
		t.Errorf("t statistic %s, want 2", show(m.TradeTStat))
	}
	if m.ProfitFactor != nil {
		t.Errorf("profit factor %s without a loss, want null", show(m.ProfitFactor))
	}
	// A mean of 1 % with a deviation of 1e-9 is more than rounding; one of 1e-12 is not.
	for _, c := range []struct {
		apart float64
		told  bool
	}{{1e-7, true}, {1e-10, false}, {0, false}} {
		m, err := Measure([]float64{100, 102}, traded(1, 1+c.apart), 0)
		if err != nil || (m.TradeTStat != nil) != c.told {
			t.Errorf("trades %v apart have a t statistic of %s, want one: %v", c.apart, show(m.TradeTStat), c.told)
		}
	}
}

func TestShare_OfOneIsAll(t *testing.T) {
	if got := (Config{}).Share(1); got != (Config{}) {
		t.Errorf("the share of one account is %+v, want it unchanged", got)
	}
}

// Of accounts that cost the same a side, the first one's costs are the sum's.
func TestSumConfig_TheFirstOfTheDearest(t *testing.T) {
	of := func(c Config) Account { return Account{"A", &Result{Config: c}} }
	got := sumConfig([]Account{of(Config{InitialCapital: 10, Commission: 0.25}), of(Config{InitialCapital: 20, Slippage: 0.25})})
	if want := (Config{InitialCapital: 30, Commission: 0.25}); got != want {
		t.Errorf("the sum has %+v, want %+v", got, want)
	}
}

func TestPortfolio_HashIsTheDigestOfItsFile(t *testing.T) {
	p := combine(t, twoAccounts(t))
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	h, err := p.Hash()
	if want := sha256.Sum256(b[:len(b)-sha256.Size]); err != nil || h != want {
		t.Errorf("hash %x with %v, want %x", h, err, want)
	}
}

func TestDecodePortfolio_ARuinedOneSurvives(t *testing.T) {
	one, two := usedUp(t), usedUp(t)
	two.Symbol = "TWO"
	b, err := combine(t, []Account{one, two}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := DecodePortfolio(b); err != nil || p.Sum.Ended != OnRuin {
		t.Errorf("a ruined portfolio is read with %v, want it ruined", err)
	}
}

func TestHold_InTheOnlyBarThatIsLeft(t *testing.T) {
	got := drawn{series(calm, row{40, 60, 40, 60}), []Signal{Hold, Hold}, Config{}}.run(t).Metrics.BuyAndHoldReturnPct
	if got == nil || *got != 50 {
		t.Errorf("buy and hold made %s %%, want 50, from 40 to 60 in one bar", show(got))
	}
}

func TestDeciders_AcceptTheBounds(t *testing.T) {
	if s, _, err := FromProbabilities([]float32{1, 0, 0}, Decision{Threshold: 1}); err != nil || s[0] != Buy {
		t.Errorf("a threshold of 1 gives %v with %v, want a Buy of certainty", s, err)
	}
	for name, m := range map[string]CostModel{
		"no cost": {0, 1}, "no multiplier": {1, 0}, "an edge of 1": {0.5, 2}, "an edge too small for a number": {1e-200, 1e-200},
	} {
		if _, _, err := FromRegression(nil, m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// refile changes bytes of a file and gives it the digest of its new contents.
func refile(b []byte, change func(body []byte)) []byte {
	body := slices.Clone(b[:len(b)-sha256.Size])
	change(body)
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

func TestDecode_RefusesAForgedColumn(t *testing.T) {
	b, err := drawn{series(calm, calm, calm), []Signal{Buy, Hold, Hold}, Config{}}.run(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(refile(b, func([]byte) {})); err != nil {
		t.Fatalf("the file as it was: %v", err)
	}
	for name, change := range map[string]func([]byte){
		"what must be zero is not": func(b []byte) { b[fileHead+nameSize+4] = 1 },
		// 2^61 numbers of 8 bytes are 2^64 bytes, which a count of bytes takes for 0.
		"more values than can be there": func(b []byte) {
			binary.LittleEndian.PutUint64(b[bytes.Index(b, []byte("equity\x00"))+nameSize+8:], 1<<61)
		},
		"one value too many": func(b []byte) { binary.LittleEndian.PutUint64(b[fileHead+nameSize+8:], uint64(len(b))) },
	} {
		if _, err := Decode(refile(b, change)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want %v", name, err, ErrCorrupt)
		}
	}
}

func TestNames_ReadAsTheyAreWritten(t *testing.T) {
	for _, side := range []Side{Long, Short} {
		var got Side
		if b, _ := side.MarshalText(); got.UnmarshalText(b) != nil || got != side {
			t.Errorf("%s reads as %v", b, got)
		}
	}
	for reason, name := range []string{"signal", "stop", "target", "end", "ruin", "time"} {
		var got Reason
		if err := got.UnmarshalText([]byte(name)); err != nil || got != Reason(reason) || got.String() != name {
			t.Errorf("%s reads as %v with %v", name, got, err)
		}
	}
	if got := Reason(6).String(); got != "Reason(6)" {
		t.Errorf("an unknown reason is called %s", got)
	}
	var s Side
	var r Reason
	if s.UnmarshalText([]byte("up")) == nil || r.UnmarshalText([]byte("up")) == nil {
		t.Error("an unknown name is read")
	}
}

func TestCompareRuns_SaysWhatDiffers(t *testing.T) {
	entry := Trade{EntryBar: 1, Side: Long, Quantity: 2, EntryPrice: 10, ExitBar: 3, ExitPrice: 12}
	result := func(equity []float64, trades ...Trade) *Result { return &Result{Equity: equity, Trades: trades} }
	for name, c := range map[string]struct {
		want, got *Result
		cut       int
		says      *LookAheadError
	}{
		"the same": {result([]float64{1, 2, 3}), result([]float64{1, 2, 4}), 2, nil},
		"another equity": {
			result([]float64{1, 2, 3}), result([]float64{1, 5, 3}), 3,
			&LookAheadError{Bar: 1, Cut: 3, Was: "equity 2", Is: "5"},
		},
		"no equity": {
			result([]float64{1, 2, 3}), result([]float64{1}), 3,
			&LookAheadError{Bar: 1, Cut: 3, Was: "equity 2", Is: "nothing"},
		},
		"a trade more": {
			result(nil), result(nil, entry), 1,
			&LookAheadError{Bar: 1, Cut: 1, Was: "no trade", Is: "a long entry of 2 at 10"},
		},
		"a trade less": {
			result(nil, entry), result(nil), 4,
			&LookAheadError{Bar: 1, Cut: 4, Was: "a long trade of 2 from 10 to 12", Is: "no trade"},
		},
		"an entry to come": {result(nil, entry), result(nil), 0, nil},
		"closed at the cut": {
			result(nil, entry), result(nil), 3,
			&LookAheadError{Bar: 1, Cut: 3, Was: "a long trade of 2 from 10 to 12", Is: "no trade"},
		},
	} {
		e := compareRuns(c.want, c.got, c.cut)
		if (e == nil) != (c.says == nil) || e != nil && *e != *c.says {
			t.Errorf("%s: found %v, want %v", name, e, c.says)
		}
	}
}

func TestFillCuts_LeaveBarsOnBothSides(t *testing.T) {
	trades := []Trade{{EntryBar: 0, ExitBar: 1}, {EntryBar: 8, ExitBar: 9}}
	if got, want := fillCuts(trades, 10), []int{1, 8}; !slices.Equal(got, want) {
		t.Errorf("cuts at %v, want %v", got, want)
	}
	b := walk(1, 10, 0.01)
	run := func(b *market.Bars) (*Result, error) { return Backtest(b, make([]Signal, b.Len()), Config{}) }
	if err := CheckFills(run, b, []int{1, 8}); err != nil {
		t.Errorf("cuts at the first and the last place that has bars on both sides: %v", err)
	}
}

func TestFuture_ChangesWhatFollowsTheOpen(t *testing.T) {
	b := series(row{30, 33, 27, 30}, row{60, 66, 54, 60}, row{90, 99, 81, 90})
	b.Volume = []float64{3, 6, 9}
	for _, c := range []struct {
		name                     string
		open, high, low, closing []float64
		volume                   []float64
	}{
		{"a third higher", []float64{30, 60, 120}, []float64{33, 88, 132}, []float64{27, 60, 108}, []float64{30, 80, 120}, []float64{3, 8, 12}},
		{"a third lower", []float64{30, 60, 60}, []float64{33, 60, 66}, []float64{27, 36, 54}, []float64{30, 40, 60}, []float64{3, 4, 6}},
	} {
		k := slices.IndexFunc(futures, func(f future) bool { return f.name == c.name })
		got := futures[k].change(b, 1)
		for name, pair := range map[string][2][]float64{
			"open": {got.Open, c.open}, "high": {got.High, c.high}, "low": {got.Low, c.low}, "close": {got.Close, c.closing},
			"volume": {got.Volume, c.volume},
		} {
			for i := range pair[1] {
				if !near(pair[0][i], pair[1][i], 1e-14, 100) {
					t.Errorf("%s: %s of bar %d is %v, want %v", c.name, name, i, pair[0][i], pair[1][i])
				}
			}
		}
	}
	if got := futures[0].change(b, 1); got.Len() != 2 {
		t.Errorf("removed: %d bars are left, want 2", got.Len())
	}
}
