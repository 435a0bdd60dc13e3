package backtest

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/market"
)

func encode(t rapid.TB, r *Result) []byte {
	b, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRun_InterruptedAnywhereEndsWithTheSameBits(t *testing.T) {
	var held, pending int // interruptions that matter most
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		want := encode(rt, d.run(rt))

		st := &RunState{}
		for st.Bar < d.bars.Len() && !st.Ruined {
			until := rapid.IntRange(st.Bar, d.bars.Len()).Draw(rt, "until")
			if err := Run(d.bars, d.signals[:until], d.cfg, st, until); err != nil {
				rt.Fatal(err)
			}
			if st.Holding.Units != 0 {
				held++
			}
			if st.Pending != Hold {
				pending++
			}
			b, err := st.MarshalBinary()
			if err != nil {
				rt.Fatal(err)
			}
			st = &RunState{}
			if err := st.UnmarshalBinary(b); err != nil {
				rt.Fatal(err)
			}
			if again, _ := st.MarshalBinary(); !bytes.Equal(again, b) {
				rt.Fatalf("the state at bar %d does not survive storage", st.Bar)
			}
		}
		r, err := Finish(d.bars, st)
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(encode(rt, r), want) {
			rt.Fatalf("interrupted and uninterrupted runs differ: %s", cmp.Diff(d.run(rt), r))
		}
	})
	if held == 0 || pending == 0 {
		t.Errorf("interrupted %d times with a position and %d times with an order, want both", held, pending)
	}
}

// At every close the equity is the capital, plus what closed trades made, plus
// what the open one has made so far, its entry commission paid.
func TestRun_ConservesMoney(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		r := d.run(rt)
		c := r.Config
		scale := c.InitialCapital
		for _, x := range r.Equity {
			scale = max(scale, math.Abs(x))
		}
		made, k := 0.0, 0
		for i, got := range r.Equity {
			for k < len(r.Trades) && int(r.Trades[k].ExitBar) <= i {
				tr := r.Trades[k]
				if tr.Net != tr.Gross-tr.Costs || tr.Costs < 0 && c.CarryLong >= 0 && c.CarryShort >= 0 {
					rt.Fatalf("trade %d: net %v is not gross %v less costs %v", k, tr.Net, tr.Gross, tr.Costs)
				}
				made += tr.Net
				k++
			}
			want := c.InitialCapital + made
			if k < len(r.Trades) && int(r.Trades[k].EntryBar) <= i {
				tr := r.Trades[k]
				value := tr.Quantity * tr.EntryPrice
				want += float64(tr.Side)*(tr.Quantity*d.bars.Close[i]-value) - c.Commission*value
				want -= value * c.CarryFor(tr.Side, d.bars.Time[i]-tr.EntryTime)
			}
			if !near(got, want, 1e-12, scale*c.Leverage) {
				rt.Fatalf("equity at bar %d is %v; capital and trades make %v", i, got, want)
			}
		}
	})
}

// Prices, and with them units, are scaled by a power of two, which rounds
// nothing: every return and every figure must stay, to the bit.
func TestRun_DoesNotDependOnTheScaleOfPrices(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		d.cfg.LotSize = 0
		want := d.run(rt)
		scale := math.Ldexp(1, rapid.IntRange(-40, 40).Draw(rt, "k"))
		e := d
		e.bars = scaled(d.bars, scale)
		if d.cfg.SizeMode == Units {
			e.cfg.PositionSize /= scale
		}
		if e.cfg.PositionSize > maxCapital {
			rt.Skip("more units than a configuration allows")
		}
		got := e.run(rt)
		if diff := cmp.Diff(want.Metrics, got.Metrics); diff != "" {
			rt.Fatalf("figures differ by a scale of %v:\n%s", scale, diff)
		}
		if diff := cmp.Diff(want.Equity, got.Equity); diff != "" {
			rt.Fatalf("equity differs by a scale of %v:\n%s", scale, diff)
		}
	})
}

func scaled(b *market.Bars, by float64) *market.Bars {
	c := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	for i := range b.Len() {
		x := b.At(i)
		x.Open, x.High, x.Low, x.Close = x.Open*by, x.High*by, x.Low*by, x.Close*by
		c.Append(x)
	}
	return c
}

func TestRun_DoesNotDependOnTheDate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		want := d.run(rt)
		shift := rapid.Int64Range(-1e9, 1e9).Draw(rt, "seconds")
		moved := *d.bars
		moved.Time = nil
		for _, at := range d.bars.Time {
			moved.Time = append(moved.Time, at+shift)
		}
		e := d
		e.bars = &moved
		got := e.run(rt)
		for k := range got.Trades {
			got.Trades[k].EntryTime -= shift
			got.Trades[k].ExitTime -= shift
		}
		got.Time = want.Time
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("the result differs %d seconds later:\n%s", shift, diff)
		}
	})
}

// The whole package as a black box: what happens before a cut is the same
// whatever comes after it, and what happens at an open does not depend on the
// rest of that bar.
func TestRun_DoesNotSeeTheFuture(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(40, 120).Draw(rt, "bars")
		seed := rapid.Uint64().Draw(rt, "seed")
		cfg := configs(n).Draw(rt, "config")
		cut := rapid.IntRange(25, n-2).Draw(rt, "cut")
		run := func(b *market.Bars) (*Result, error) { return Backtest(b, momentum(b), cfg) }
		if err := CheckFills(run, walk(seed, n, 0.02), []int{cut}); err != nil {
			rt.Fatal(err)
		}
	})
}

// momentum is an honest decider: it follows the last close-to-close change.
func momentum(b *market.Bars) []Signal {
	s := make([]Signal, b.Len())
	for i := 1; i < len(s); i++ {
		switch {
		case b.Close[i] > b.Close[i-1]*1.005:
			s[i] = Buy
		case b.Close[i] < b.Close[i-1]*0.995:
			s[i] = Sell
		}
	}
	return s
}
