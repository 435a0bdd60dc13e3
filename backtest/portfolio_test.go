package backtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/market"
)

// timed makes hourly bars that open the given number of hours after monday.
func timed(symbol string, hours []int64, rows ...[4]float64) *market.Bars {
	b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
	for i, r := range rows {
		b.Append(market.Bar{Time: monday + hours[i]*3600, Open: r[0], High: r[1], Low: r[2], Close: r[3], Volume: 1})
	}
	return b
}

// twoAccounts is computed by hand: 500 for each symbol, ten units a trade, 1 %
// commission a side. STAY has a bar every hour. REST is closed for two hours.
func twoAccounts(t rapid.TB) []Account {
	cfg := Config{InitialCapital: 1000, Commission: 0.01, SizeMode: Units, PositionSize: 10}.Share(2)
	stay := timed("STAY", []int64{0, 1, 2, 3, 4, 5},
		[4]float64{10, 10, 10, 10}, // Buy
		[4]float64{10, 12, 10, 12}, // long at 10: cash 500 − 100 − 1 = 399, equity 519
		[4]float64{12, 12, 11, 11}, // 509
		[4]float64{11, 13, 11, 13}, // 529. Sell
		[4]float64{13, 13, 12, 12}, // left at 13: 399 + 130 − 1.3 = 527.7
		[4]float64{12, 12, 12, 12}, // 527.7
	)
	rest := timed("REST", []int64{0, 1, 4, 5},
		[4]float64{20, 20, 20, 20}, // 500
		[4]float64{20, 20, 20, 20}, // 500. Buy
		[4]float64{18, 19, 18, 19}, // long at 18: cash 500 − 180 − 1.8 = 318.2, equity 508.2
		[4]float64{19, 19, 17, 17}, // the end, left at 17: 318.2 + 170 − 1.7 = 486.5
	)
	return []Account{
		{"STAY", drawn{stay, []Signal{Buy, Hold, Hold, Sell, Hold, Hold}, cfg}.run(t)},
		{"REST", drawn{rest, []Signal{Hold, Buy, Hold, Hold}, cfg}.run(t)},
	}
}

func combine(t rapid.TB, accounts []Account) *Portfolio {
	p, err := Combine(market.H1, accounts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCombine_HandMadePortfolio(t *testing.T) {
	sum := combine(t, twoAccounts(t)).Sum
	if want := []int64{at(0), at(1), at(2), at(3), at(4), at(5)}; !slices.Equal(sum.Time, want) {
		t.Fatalf("times %v, want the union %v", sum.Time, want)
	}
	for i, want := range []float64{1000, 1019, 1009, 1029, 1035.9, 1014.2} { // at hours 2 and 3 REST keeps its 500
		if !near(sum.Equity[i], want, 1e-14, want) {
			t.Errorf("equity at hour %d is %v, want %v", i, sum.Equity[i], want)
		}
	}
	type short struct {
		symbol      string
		entry, exit int32
	}
	var got []short
	for _, trade := range sum.Trades {
		got = append(got, short{trade.Symbol, trade.EntryBar, trade.ExitBar})
		if sum.Time[trade.EntryBar] != trade.EntryTime || sum.Time[trade.ExitBar] != trade.ExitTime {
			t.Errorf("the trade of %s is at bars %d and %d of the union, and at other times", trade.Symbol, trade.EntryBar, trade.ExitBar)
		}
	}
	if want := []short{{"STAY", 1, 4}, {"REST", 4, 5}}; !slices.Equal(got, want) {
		t.Errorf("trades %v, want %v", got, want)
	}
	if sum.Ended != OnEnd || sum.Config.InitialCapital != 1000 || sum.Config.StartBar != 0 {
		t.Errorf("ended %v, capital %v, from bar %d; want the end, 1000 and 0", sum.Ended, sum.Config.InitialCapital, sum.Config.StartBar)
	}
}

func TestCombine_HandMadeFigures(t *testing.T) {
	m := combine(t, twoAccounts(t)).Sum.Metrics
	returns := []float64{19. / 1000, -10. / 1019, 20. / 1009, 6.9 / 1029, -21.7 / 1035.9}
	mean, squares := 0.0, 0.0
	for _, r := range returns {
		mean += r / 5
	}
	for _, r := range returns {
		squares += (r - mean) * (r - mean)
	}
	holdStay, holdRest := 12*0.99/(10*1.01)-1, 17*0.99/(20*1.01)-1
	for name, f := range map[string]struct {
		got  *float64
		want float64
	}{
		"final_equity":            {&m.FinalEquity, 1014.2},
		"total_return":            {&m.TotalReturn, 14.2},
		"total_return_pct":        {&m.TotalReturnPct, 1.42},
		"max_drawdown":            {&m.MaxDrawdown, 21.7},
		"max_drawdown_pct":        {&m.MaxDrawdownPct, 100 * 21.7 / 1035.9},
		"sharpe_ratio":            {m.Sharpe, mean / math.Sqrt(squares/4) * math.Sqrt(8766)},
		"win_rate":                {m.WinRate, 0.5},
		"largest_win":             {m.LargestWin, 27.7},
		"largest_loss":            {m.LargestLoss, -13.5},
		"exposure":                {m.Exposure, (3./5 + 2./3) / 2},
		"turnover":                {m.Turnover, (100 + 130 + 180 + 170.) / ((1000 + 1019 + 1009 + 1029 + 1035.9 + 1014.2) / 6)},
		"cost_total":              {&m.CostTotal, 2.3 + 3.5},
		"bars_per_year":           {m.BarsPerYear, 8766},
		"buy_and_hold_return":     {m.BuyAndHoldReturn, 500*holdStay + 500*holdRest},
		"buy_and_hold_return_pct": {m.BuyAndHoldReturnPct, 100 * (holdStay + holdRest) / 2},
	} {
		if f.got == nil || !near(*f.got, f.want, 1e-11, max(1, math.Abs(f.want))) {
			t.Errorf("%s is %v, want %v", name, show(f.got), f.want)
		}
	}
	if m.TotalTrades != 2 || m.WinningTrades != 1 || m.Bars != 6 || m.MaxDrawdownDuration != 1 {
		t.Errorf("%d trades, %d won, %d bars, %d under water; want 2, 1, 6 and 1", m.TotalTrades, m.WinningTrades, m.Bars, m.MaxDrawdownDuration)
	}
}

// gappy leaves out some of a series' bars.
func gappy(b *market.Bars, keep func(i int) bool) *market.Bars {
	out := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	for i := range b.Len() {
		if keep(i) {
			out.Append(b.At(i))
		}
	}
	return out
}

// accounts draws some with different bars and costs.
func accounts(t *rapid.T, n int) []Account {
	list := make([]Account, n)
	for k := range list {
		length := rapid.IntRange(3, 60).Draw(t, "bars")
		seed := rapid.Uint64().Draw(t, "seed")
		skip := rapid.IntRange(0, 4).Draw(t, "skip")
		bars := gappy(walk(seed, length, 0.05), func(i int) bool { return i < 2 || skip == 0 || (i+k)%(skip+1) != 0 })
		cfg := configs(bars.Len()).Draw(t, "config")
		cfg.InitialCapital = 1000
		cfg.StartBar = min(cfg.StartBar, bars.Len()-1)
		list[k] = Account{string(rune('A' + k)), drawn{bars, chatter(seed, bars.Len(), 0.3), cfg}.run(t)}
	}
	return list
}

// usedUp is an account that is ruined at its third bar: a short of all the
// capital, whose price triples.
func usedUp(t rapid.TB) Account {
	bars := series(calm, calm, row{300, 310, 290, 300}, calm)
	cfg := Config{InitialCapital: 1000, PositionSize: 1, AllowShort: true}
	r := drawn{bars, []Signal{Sell, Hold, Hold, Hold}, cfg}.run(t)
	if r.Ended != OnRuin {
		t.Fatalf("the account ended by %v, want %v", r.Ended, OnRuin)
	}
	return Account{"USED", r}
}

func TestCombine_IsTheSumAtEveryTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := append(accounts(rt, rapid.IntRange(1, 3).Draw(rt, "accounts")), usedUp(rt))
		p := combine(rt, list)
		seen := map[int64]bool{}
		trades := 0
		for _, a := range list {
			for _, at := range a.Time {
				seen[at] = true
			}
			trades += len(a.Trades)
		}
		if len(seen) != len(p.Sum.Time) || !slices.IsSorted(p.Sum.Time) || len(p.Sum.Equity) != len(p.Sum.Time) {
			rt.Fatalf("%d times, want the %d of the union in order", len(p.Sum.Time), len(seen))
		}
		for i, at := range p.Sum.Time {
			want := 0.0
			for _, a := range list {
				equity := a.Config.InitialCapital
				for k, own := range a.Time {
					if own <= at {
						equity = a.Equity[k]
					}
				}
				want += equity
			}
			if !seen[at] || p.Sum.Equity[i] != want {
				rt.Fatalf("equity at %d is %v, want %v", at, p.Sum.Equity[i], want)
			}
		}
		if len(p.Sum.Trades) != trades || !slices.IsSortedFunc(p.Sum.Trades, func(a, b Trade) int { return int(a.ExitTime - b.ExitTime) }) {
			rt.Fatalf("%d trades, want the %d of the accounts in order", len(p.Sum.Trades), trades)
		}
	})
}

// What is computed of several accounts is, of one, what the account has itself.
func TestCombine_OneAccountIsItself(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		r := d.run(rt)
		if got := combine(rt, []Account{{"WALK", r}}); got.Sum != r {
			rt.Fatal("the sum of one account is another result")
		}
		got, err := sum(market.H1, []Account{{"WALK", r}})
		if err != nil {
			rt.Fatal(err)
		}
		want := *r
		want.Position = nil
		want.Trades = slices.Clone(r.Trades)
		for k := range want.Trades {
			want.Trades[k].Symbol = "WALK"
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			rt.Fatalf("(-account +sum)\n%s", diff)
		}
	})
}

func TestCombine_ContinuesWhileOneAccountIsLeft(t *testing.T) {
	crash := timed("CRASH", []int64{0, 1, 2, 3},
		[4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100}, [4]float64{100, 100, 1, 1}, [4]float64{1, 1, 1, 1})
	calm := timed("CALM", []int64{0, 1, 2, 3},
		[4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100}, [4]float64{100, 100, 100, 100})
	cfg := Config{InitialCapital: 500, PositionSize: 2, Leverage: 2}
	buy, hold := []Signal{Buy, Hold, Hold, Hold}, []Signal{Hold, Hold, Hold, Hold}
	one := combine(t, []Account{{"CALM", drawn{calm, hold, cfg}.run(t)}, {"CRASH", drawn{crash, buy, cfg}.run(t)}})
	if one.Accounts[1].Ended != OnRuin || one.Sum.Ended != OnEnd || len(one.Sum.Time) != 4 || !near(one.Sum.Equity[3], 500, 1e-9, 500) {
		t.Errorf("ended %v with %v after %d bars; want 500 of the other account at the end", one.Sum.Ended, one.Sum.Equity, len(one.Sum.Time))
	}
	crash2 := *crash
	crash2.Symbol = "ALSO"
	both := combine(t, []Account{{"CRASH", drawn{crash, buy, cfg}.run(t)}, {"ALSO", drawn{&crash2, buy, cfg}.run(t)}})
	if both.Sum.Ended != OnRuin || len(both.Sum.Time) != 3 {
		t.Errorf("ended %v after %d bars, want ruin after 3", both.Sum.Ended, len(both.Sum.Time))
	}
}

func TestCombine_CountsBarsInAYearWhereAllHaveData(t *testing.T) {
	// EARLY has bars of every second day for two months, and LATE of every hour of the
	// second month.
	early, late := &market.Bars{Symbol: "EARLY", Timeframe: market.H1}, &market.Bars{Symbol: "LATE", Timeframe: market.H1}
	for h := range int64(60 * 24) {
		bar := market.Bar{Time: monday + h*3600, Open: 1, High: 1, Low: 1, Close: 1, Volume: 1}
		if h%48 == 0 {
			early.Append(bar)
		}
		if h >= 30*24 {
			late.Append(bar)
		}
	}
	p := combine(t, []Account{
		{"EARLY", drawn{early, make([]Signal, early.Len()), Config{}}.run(t)}, {"LATE", drawn{late, make([]Signal, late.Len()), Config{}}.run(t)},
	})
	if got := p.Sum.Metrics.BarsPerYear; got == nil || !near(*got, 8766, 1e-9, 8766) {
		t.Errorf("%v bars a year, want 8766 as in the second month", show(got))
	}
}

func TestCombine_BeginsWithTheFirstDecisionAndTellsTheDearestCosts(t *testing.T) {
	early, late := walk(1, 40, 0.01), walk(2, 40, 0.01)
	cheap, dear := Config{Commission: 0.001, StartBar: 7}, Config{Slippage: 0.002, Spread: 0.001, StartBar: 20}
	list := []Account{
		{"CHEAP", drawn{gappy(early, func(i int) bool { return i != 3 }), chatter(1, 39, 0.2), cheap}.run(t)},
		{"DEAR", drawn{late, chatter(2, 40, 0.2), dear}.run(t)},
	}
	for range 2 {
		c := combine(t, list).Sum.Config
		if c.StartBar != 8 { // bar 7 of the first is bar 8 of the union
			t.Errorf("the figures begin at bar %d, want 8", c.StartBar)
		}
		if c.Commission != 0 || c.Slippage != 0.002 || c.Spread != 0.001 {
			t.Errorf("costs %v, %v, %v; want those of DEAR", c.Commission, c.Slippage, c.Spread)
		}
		slices.Reverse(list)
	}
}

func TestCombine_RefusesWhatIsNoPortfolio(t *testing.T) {
	list := twoAccounts(t)
	other := *list[1].Result
	other.Config.InitialCapital = 400
	for says, bad := range map[string][]Account{
		"needs at least one":         nil,
		"two accounts of STAY":       {list[0], {"STAY", list[1].Result}},
		"REST begins with 400":       {list[0], {"REST", &other}},
		"REST has 0 bars and 0 equi": {list[0], {"REST", &Result{Config: list[0].Config}}},
	} {
		if _, err := Combine(market.H1, bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("err = %v, want a sentence with %q", err, says)
		}
	}
}

func encodePortfolio(t rapid.TB, p *Portfolio) []byte {
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPortfolio_SurvivesStorage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := combine(rt, accounts(rt, rapid.IntRange(2, 3).Draw(rt, "accounts")))
		b := encodePortfolio(rt, p)
		got, err := DecodePortfolio(b)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			rt.Fatalf("(-stored +read)\n%s", diff)
		}
		if again := encodePortfolio(rt, got); !bytes.Equal(again, b) {
			rt.Fatal("read and written again it has other bytes")
		}
	})
}

func TestPortfolio_OfOneAccountIsTheFileOfItsResult(t *testing.T) {
	r := handMade().run(t)
	b := encodePortfolio(t, combine(t, []Account{{"TEST", r}}))
	if !bytes.Equal(b, encode(t, r)) {
		t.Error("one account is written otherwise than its result")
	}
	got, err := DecodePortfolio(b)
	if err != nil || len(got.Accounts) != 1 || cmp.Diff(r, got.Sum) != "" {
		t.Errorf("read again: %+v, %v", got, err)
	}
}

func TestDecodePortfolio_RefusesDamage(t *testing.T) {
	b := encodePortfolio(t, combine(t, twoAccounts(t)))
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := DecodePortfolio(bad); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("with byte %d of %d changed: %v, want ErrCorrupt", i, len(b), err)
		}
	}
	for n := range len(b) {
		if _, err := DecodePortfolio(b[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut off after %d of %d bytes: %v, want ErrCorrupt", n, len(b), err)
		}
	}
}

func FuzzDecodePortfolio(f *testing.F) {
	b := encodePortfolio(f, combine(f, twoAccounts(f)))
	f.Add(b[:len(b)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		b := sealed(body)
		p, err := DecodePortfolio(b)
		if err != nil {
			return
		}
		if again := encodePortfolio(t, p); !bytes.Equal(again, b) {
			t.Fatalf("decoded and encoded again: %x, was %x", again, b)
		}
	})
}
