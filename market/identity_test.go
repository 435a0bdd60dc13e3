package market

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/num"
)

// from2015 makes a synthetic market from 2015 on.
func from2015(tf Timeframe, bars int, seed uint64) *Bars {
	return Synth(SynthConfig{Timeframe: tf, Bars: bars, Seed: seed})
}

// altered copies a series, with what change makes of the times and the closes.
// A time of 0 leaves the bar out.
func altered(b *Bars, change func(i int, t int64, c float64) (int64, float64)) *Bars {
	out := &Bars{Symbol: "COPY", Timeframe: b.Timeframe}
	for i, t := range b.Time {
		if t, c := change(i, t, b.Close[i]); t != 0 {
			out.Append(Bar{t, c, c, c, c, 1, 0})
		}
	}
	return out
}

// moved copies a series with its times moved.
func moved(b *Bars, by func(t int64) time.Duration) *Bars {
	return altered(b, func(_ int, t int64, c float64) (int64, float64) { return t + int64(by(t)/time.Second), c })
}

// by moves every time alike.
func by(d time.Duration) func(int64) time.Duration { return func(int64) time.Duration { return d } }

// summer adds an hour in the summer of a zone that the rules were not taken
// from, to hold them to the time zone database.
func summer(t *testing.T, zone string) func(int64) time.Duration {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Skipf("the time zone database is missing: %v", err)
	}
	return func(at int64) time.Duration {
		_, offset := time.Unix(at, 0).In(where).Zone()
		return time.Duration(offset) * time.Second
	}
}

// noisy copies a series with noise of the given basis points on each close.
func noisy(b *Bars, points float64, seed uint64) *Bars {
	r := num.NewRand(seed)
	return altered(b, func(_ int, t int64, c float64) (int64, float64) {
		return t, c * num.Exp(points*1e-4*r.Norm())
	})
}

// correlated makes a market whose returns correlate with those of b.
func correlated(b *Bars, with float64, seed uint64) *Bars {
	other := from2015(b.Timeframe, b.Len(), seed)
	level := 1.0
	return altered(b, func(i int, t int64, c float64) (int64, float64) {
		if i > 0 {
			level *= num.Exp(with*num.Log(c/b.Close[i-1]) + math.Sqrt(1-with*with)*num.Log(other.Close[i]/other.Close[i-1]))
		}
		return t, level
	})
}

// resampled is Resample of a test.
func resampled(t testing.TB, b *Bars, tf Timeframe) *Bars {
	t.Helper()
	out, err := Resample(b, tf)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// walk is a market without nights and weekends: a random walk with fat tails.
func walk(tf Timeframe, bars int, seed uint64) *Bars {
	r := num.NewRand(seed)
	b := &Bars{Symbol: "WALK", Timeframe: tf}
	level, at := 100.0, instant(2019, 3, 1, 0, 0)
	for range bars {
		level *= num.Exp(0.002 * r.Norm() * num.Exp(0.5*r.Norm()))
		b.Append(Bar{at, level, level, level, level, 1, 0})
		at = tf.End(at)
	}
	return b
}

// likenessCase is a situation and what is to be decided in it.
type likenessCase struct {
	name   string
	a, b   *Bars
	want   Identity
	offset time.Duration // where it must be found
	tf     Timeframe     // of the returns that must show it; "" for any
}

func (c likenessCase) run(t *testing.T) {
	t.Helper()
	l := Compare(NewPrices(c.a), NewPrices(c.b))
	t.Logf("%v: %v", l.Identity(), l)
	if l.Identity() != c.want {
		t.Errorf("identity %v, want %v: %v", l.Identity(), c.want, l)
	}
	if c.want == Same && l.Timeframe != W1 && l.Offset != c.offset {
		t.Errorf("offset %v, want %v", l.Offset, c.offset)
	}
	if c.tf != "" && l.Timeframe != c.tf {
		t.Errorf("shown by %s returns, want %s", l.Timeframe, c.tf)
	}
}

func TestCompare_RecognisesCopies(t *testing.T) {
	base := from2015(H1, 30_000, 1)
	crypto := walk(H1, 20_000, 2)
	drop := num.NewRand(3)
	cases := []likenessCase{
		{name: "renamed", a: base, b: base, want: Same},
		{name: "one bar shorter", a: base, b: base.Slice(0, base.Len()-1), want: Same},
		{name: "times 1.0001", a: base, b: altered(base, func(_ int, t int64, c float64) (int64, float64) { return t, c * 1.0001 }), want: Same},
		{name: "in cents, rounded", a: base, b: altered(base,
			func(_ int, t int64, c float64) (int64, float64) { return t, math.Round(c*1e4) / 100 }), want: Same},
		{name: "inverted", a: base, b: altered(base, func(_ int, t int64, c float64) (int64, float64) { return t, 1 / c }), want: Same},
		{name: "a tenth of the bars missing", a: base, b: altered(base, func(_ int, t int64, c float64) (int64, float64) {
			if drop.Float64() < 0.1 {
				t = 0
			}
			return t, c
		}), want: Same},
		{name: "a year missing", a: base, b: altered(base, func(i int, t int64, c float64) (int64, float64) {
			if i > 8000 && i < 14_000 {
				t = 0
			}
			return t, c
		}), want: Same},
		{name: "twenty prices with a wrong decimal point", a: base, b: altered(base, func(i int, t int64, c float64) (int64, float64) {
			if i%1500 == 700 {
				c *= 100
			}
			return t, c
		}), want: Same, tf: H1},
		{name: "0.2 basis points of noise", a: base, b: noisy(base, 0.2, 4), want: Same},
		{name: "open at night and on weekends", a: crypto, b: crypto.Slice(100, 15_000), want: Same},
		{name: "short and exact", a: base, b: base.Slice(2000, 2031), want: Same},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestCompare_CompoundsTheFinerSeries(t *testing.T) {
	minutes, base, crypto := from2015(M1, 200_000, 5), from2015(H1, 60_000, 1), walk(H1, 60_000, 2)
	days := func(b *Bars, cut time.Duration) *Bars { return resampled(t, moved(b, by(cut)), D1) }
	cases := []likenessCase{
		{name: "1h and 4h", a: base, b: resampled(t, base, H4), want: Same},
		{name: "1h and 1d", a: base, b: resampled(t, base, D1), want: Same},
		{name: "31 days", a: base.Slice(0, 31*24+12), b: resampled(t, base.Slice(0, 31*24+12), D1), want: Same},
		{name: "1h and 1w", a: base, b: resampled(t, base, W1), want: Same},
		{name: "4h and 1d", a: resampled(t, base, H4), b: resampled(t, base, D1), want: Same},
		{name: "1m and 1h", a: minutes, b: resampled(t, minutes, H1), want: Same},
		{name: "1m and 15m", a: minutes, b: resampled(t, minutes, M15), want: Same},
		{name: "1h and days cut by a broker's clock", a: base, b: days(base, 2*time.Hour), want: Same, offset: -2 * time.Hour},
		{name: "the same in UTC", a: base, b: moved(days(base, 2*time.Hour), by(-2*time.Hour)), want: Same},
		{
			name: "1h and days cut in New York, inverted", a: base,
			b: altered(days(base, -5*time.Hour), func(_ int, t int64, c float64) (int64, float64) { return t, 1 / c }), want: Same,
			offset: 5 * time.Hour,
		},
		{name: "days cut at different hours", a: days(base, 0), b: days(base, 3*time.Hour), want: Same},
		{name: "4 hours cut at different hours", a: resampled(t, base, H4), b: resampled(t, moved(base, by(2*time.Hour)), H4), want: Same},
		{name: "days cut at different hours, with noise", a: days(base, 0), b: days(noisy(base, 5, 6), 3*time.Hour), want: Ask},
		{name: "days cut at different hours, open on weekends", a: days(crypto, 0), b: days(crypto, 3*time.Hour), want: Ask},
		{name: "1m and a copy with 0.2 basis points of noise", a: minutes, b: noisy(minutes, 0.2, 7), want: Same},
		{name: "1m and a copy with 1 basis point of noise", a: minutes, b: noisy(minutes, 1, 7), want: Same, tf: H1},
		{name: "1m and a short copy with 0.2 basis points of noise", a: minutes, b: noisy(minutes.Slice(50_000, 51_000), 0.2, 7), want: Ask},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestCompare_FindsTheClock(t *testing.T) {
	base, quarters, minutes := from2015(H1, 20_000, 1), from2015(M15, 60_000, 8), from2015(M1, 100_000, 9)
	few := minutes.Slice(0, 5000)
	europe, us, sydney := summer(t, "Europe/Athens"), summer(t, "America/New_York"), summer(t, "Australia/Sydney")
	cases := []likenessCase{
		{name: "14 hours ahead", a: base, b: moved(base, by(14*time.Hour)), offset: -14 * time.Hour},
		{name: "14 hours behind", a: base, b: moved(base, by(-14*time.Hour)), offset: 14 * time.Hour},
		{name: "Calcutta", a: base, b: moved(base, by(5*time.Hour+30*time.Minute)), offset: -5*time.Hour - 30*time.Minute},
		{name: "Kathmandu by quarters", a: quarters, b: moved(quarters, by(5*time.Hour+45*time.Minute)), offset: -5*time.Hour - 45*time.Minute},
		{name: "European summer time", a: base, b: moved(base, europe), offset: -2 * time.Hour},
		{name: "US summer time", a: moved(base, us), b: base, offset: -5 * time.Hour},
		{name: "European against US summer time", a: moved(base, europe), b: moved(base, us), offset: 7 * time.Hour},
		{name: "Australian summer time", a: base, b: moved(base, sydney), offset: -10 * time.Hour},
		{name: "European summer time by minutes", a: minutes, b: moved(minutes, europe), offset: -2 * time.Hour},
		{name: "days by European summer time", a: resampled(t, moved(base, europe), D1), b: base, offset: 2 * time.Hour},
		{
			name: "minutes that carry the time of their close", a: minutes, b: moved(minutes, by(3*time.Hour+time.Minute)),
			offset: -3*time.Hour - time.Minute,
		},
		{name: "a few of them", a: few, b: moved(few, by(time.Minute)), offset: -time.Minute},
		{
			name: "5 minutes that carry the time of their close", a: resampled(t, minutes, M5),
			b: moved(resampled(t, minutes, M5), by(5*time.Minute)), offset: -5 * time.Minute,
		},
		{name: "hours that carry the time of their close", a: base, b: moved(base, by(time.Hour)), offset: -time.Hour},
		{
			name: "days that carry the time of their close", a: resampled(t, base, D1), b: moved(resampled(t, base, D1), by(24*time.Hour)),
			offset: -24 * time.Hour,
		},
		{
			name: "days that carry the time of their close against hours", a: base, b: moved(resampled(t, base, D1), by(26*time.Hour)),
			offset: -26 * time.Hour,
		},
	}
	for _, c := range cases {
		c.want = Same
		t.Run(c.name, c.run)
	}
}

func TestCompare_KeepsMarketsApart(t *testing.T) {
	base, minutes := from2015(H1, 60_000, 1), from2015(M1, 60_000, 5)
	crash := func(b *Bars, at int) *Bars {
		return altered(b, func(i int, t int64, c float64) (int64, float64) {
			if i >= at {
				c *= 0.5
			}
			return t, c
		})
	}
	cases := []likenessCase{
		{name: "independent", a: base, b: from2015(H1, 60_000, 2), want: Different},
		{name: "independent by minutes", a: minutes, b: from2015(M1, 60_000, 6), want: Different},
		{name: "independent, by the hour and the day", a: resampled(t, base, D1), b: from2015(H1, 60_000, 2), want: Different},
		{name: "alike at 0.8", a: base, b: correlated(base, 0.8, 3), want: Different},
		{name: "alike at 0.9, and at 0.98 for some months", a: base, b: correlated(base, 0.9, 3), want: Ask},
		{name: "alike at 0.97, and at 0.995 for some months", a: base, b: correlated(base, 0.97, 3), want: Ask},
		{name: "alike at 0.97 by the day", a: resampled(t, base, D1), b: correlated(base, 0.97, 3), want: Different},
		{name: "alike at 0.99", a: base, b: correlated(base, 0.99, 3), want: Same},
		{name: "the same crash", a: crash(base, 5000).Slice(4000, 7000), b: crash(correlated(base, 0.5, 4), 5000), want: Different},
		{name: "alike at 0.97 over few returns", a: base, b: correlated(base.Slice(100, 1600), 0.97, 3), want: Ask},
		{name: "alike at 0.99 over few returns", a: base, b: correlated(base.Slice(100, 1600), 0.99, 3), want: Ask},
		{name: "alike at 0.9 over few returns", a: base, b: correlated(base.Slice(100, 1600), 0.9, 3), want: Different},
		{name: "a rough copy of 150 bars", a: base, b: noisy(base.Slice(100, 250), 1, 9), want: Ask},
		{name: "a rough copy of 80 bars", a: base, b: noisy(base.Slice(100, 180), 1, 9), want: Different},
		{name: "a copy of 30 bars", a: base, b: base.Slice(100, 130), want: Different},
		{name: "before and after", a: base.Slice(0, 10_000), b: base.Slice(12_000, 30_000), want: Different},
		{
			name: "prices that never move", a: base, b: altered(base, func(_ int, t int64, _ float64) (int64, float64) { return t, 1 }),
			want: Different,
		},
		{name: "no bars", a: base, b: &Bars{Timeframe: H1}, want: Different},
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// TestCompare_IsTheSameBothWays also holds it to any copy at any offset.
func TestCompare_IsTheSameBothWays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tf := rapid.SampledFrom([]Timeframe{M5, M15, H1, H4}).Draw(rt, "timeframe")
		b := from2015(tf, rapid.IntRange(2200, 4000).Draw(rt, "bars"), rapid.Uint64().Draw(rt, "seed"))
		quarters := rapid.Int64Range(-56, 56).Draw(rt, "quarters of an hour")
		scale := rapid.Float64Range(0.01, 100).Draw(rt, "scale")
		power := rapid.SampledFrom([]float64{1, -1}).Draw(rt, "power")
		other := NewPrices(altered(b, func(_ int, t int64, c float64) (int64, float64) {
			return t + quarters*offsetStep, scale * num.Pow(c, power)
		}))
		p := NewPrices(b)
		l, back := Compare(p, other), Compare(other, p)
		back.Offset = -back.Offset
		if l != back {
			rt.Fatalf("%v one way and %v the other", l, back)
		}
		if want := time.Duration(-quarters) * 15 * time.Minute; l.Identity() != Same || l.Offset != want ||
			math.Signbit(l.Correlation) != (power < 0) {
			rt.Fatalf("%v, want the same market at %v", l, want)
		}
	})
}

// TestCompare_IndependentMarketsAreNeverAlike draws pairs of all timeframes.
func TestCompare_IndependentMarketsAreNeverAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, kind uint64) *Prices {
			tf := rapid.SampledFrom(Timeframes[:8]).Draw(rt, name)
			seed := 2*rapid.Uint64Range(0, 1e6).Draw(rt, name+" seed") + kind
			return NewPrices(from2015(tf, rapid.IntRange(1, 3000).Draw(rt, name+" bars"), seed))
		}
		if l := Compare(draw("a", 0), draw("b", 1)); l.Identity() != Different {
			rt.Fatal(l)
		}
	})
}

func TestDecide(t *testing.T) {
	all, other := from2015(H1, 20_000, 1), from2015(H1, 20_000, 2)
	prices := func(b *Bars) func() (*Prices, error) {
		return func() (*Prices, error) { return NewPrices(b), nil }
	}
	known := []Known{
		{"m1", "EARLY 1h", prices(all.Slice(0, 8000))},
		{"m2", "LATE 4h", prices(resampled(t, all.Slice(10_000, 20_000), H4))},
		{"m3", "OTHER 1d", prices(resampled(t, other, D1))},
		{"m3", "OTHER 1h", prices(other)},
		{"m3", "OTHER 4h", prices(from2015(H4, 5000, 9))},
	}
	for _, c := range []struct {
		name      string
		series    *Bars
		same, ask []string
		sentence  string
	}{
		{
			"one market", all.Slice(0, 9000),
			[]string{"m1"},
			nil,
			"same market as EARLY 1h: returns correlate 1.0000 over 7,999 shared 1h returns",
		},
		{
			"a bridge", all,
			[]string{"m1", "m2"},
			nil,
			"same market as EARLY 1h: returns correlate 1.0000 over 7,999 shared 1h returns; it shows that EARLY 1h and LATE 4h are one market",
		},
		{
			"a short overlap", noisy(all.Slice(7500, 9900), 2, 1), nil,
			[]string{"m1"},
			"possibly the same market as EARLY 1h: returns correlate 0.9",
		},
		{"the finest series of a market decides", noisy(other, 1, 1), []string{"m3"}, nil, "same market as OTHER 1h: "},
		{"a new market", from2015(H1, 20_000, 3), nil, nil, "new market: no known series has returns like these"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := Decide(NewPrices(c.series), known)
			if err != nil {
				t.Fatal(err)
			}
			if same, ask := marketsOf(d.Same), marketsOf(d.Ask); !slices.Equal(same, c.same) || !slices.Equal(ask, c.ask) {
				t.Errorf("same %v and ask %v, want %v and %v", same, ask, c.same, c.ask)
			}
			if !strings.HasPrefix(d.String(), c.sentence) {
				t.Errorf("it says %q, want %q", d, c.sentence)
			}
		})
	}
}

func TestDecide_NeedsPrices(t *testing.T) {
	b, lost := from2015(H1, 3000, 1), errors.New("lost")
	known := []Known{
		{"m1", "A 1h", func() (*Prices, error) { return NewPrices(b), nil }},
		{"m1", "B 1h", func() (*Prices, error) { return nil, lost }}, // not needed: the market is known by then
	}
	if d, err := Decide(NewPrices(b), known); err != nil || len(d.Same) != 1 {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := Decide(NewPrices(from2015(H1, 3000, 2)), known); !errors.Is(err, lost) {
		t.Errorf("error %v, want that prices are lost", err)
	}
}

func marketsOf(list []Match) []string {
	var ids []string
	for _, m := range list {
		ids = append(ids, m.Market)
	}
	return ids
}

func TestMatch_Sentences(t *testing.T) {
	for _, c := range []struct {
		l    Likeness
		want string
	}{
		{Likeness{14_399, -0.98009, H4, 0, "", 0, 0}, "same market as X 1h: returns correlate -0.9800 over 14,399 shared 4h returns"},
		{
			Likeness{2100, 0.99, H1, -150 * time.Minute, clocks{1, 0}.String(), 0, 0},
			"same market as X 1h: returns correlate 0.9900 over 2,100 shared 1h returns with times shifted by -2h30m (one clock keeps European " +
				"summer time)",
		},
		{
			Likeness{812, 0.9712, H1, 2 * time.Hour, "", 0, 0},
			"possibly the same market as X 1h: returns correlate 0.9712 over 812 shared 1h returns with times shifted by +2h, too few to decide " +
				"(2,000 are needed)",
		},
		{
			Likeness{5000, 0.97999, M1, time.Minute, clocks{1, 2}.String(), 0, 0},
			"not the same market as X 1h: returns correlate 0.9799 over 5,000 shared 1m returns",
		},
		{
			Likeness{5000, 0.98999, M1, time.Minute, clocks{1, 2}.String(), 0, 0},
			"same market as X 1h: returns correlate 0.9899 over 5,000 shared 1m returns with times shifted by +1m (one clock keeps European " +
				"summer time and the other US summer time)",
		},
		{
			Likeness{5000, 0.5, H1, 0, "", 2010, 0.99991},
			"same market as X 1h: returns correlate 0.5000 over 5,000 shared 1h returns and 0.9999 over 2,010 of them in a row",
		},
		{
			Likeness{5000, 0.5, H1, 0, "", 2010, -0.985},
			"possibly the same market as X 1h: returns correlate 0.5000 over 5,000 shared 1h returns and -0.9850 over 2,010 of them in a row, " +
				"which may be a copy in part",
		},
		{Likeness{5000, 0.5, H1, 0, "", 2010, 0.9799}, "not the same market as X 1h: returns correlate 0.5000 over 5,000 shared 1h returns"},
		{Likeness{}, "not the same market as X 1h: they share no returns"},
	} {
		if got := (Match{"m", "X 1h", c.l}).String(); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}
