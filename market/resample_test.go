package market

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func instant(y int, m time.Month, d, h, minute int) int64 {
	return time.Date(y, m, d, h, minute, 0, 0, time.UTC).Unix()
}

func TestResample_FollowsTheCalendar(t *testing.T) {
	cases := []struct {
		name     string
		from, to Timeframe
		times    []int64 // bar i opens at i+1, goes to i+2 and down to i/2+1
		want     []int64
		cut      bool // Resample leaves the last one out
	}{
		{"hours into days", H1, D1, []int64{
			instant(2020, 2, 28, 22, 0), instant(2020, 2, 28, 23, 0), instant(2020, 2, 29, 0, 0),
			instant(2020, 2, 29, 23, 0),
		}, []int64{instant(2020, 2, 28, 0, 0), instant(2020, 2, 29, 0, 0)}, false},
		{
			"a day that is not over", H1, D1,
			[]int64{instant(2020, 2, 28, 23, 0), instant(2020, 2, 29, 0, 0), instant(2020, 2, 29, 22, 0)},
			[]int64{instant(2020, 2, 28, 0, 0), instant(2020, 2, 29, 0, 0)},
			true,
		},
		{
			"days into weeks from Monday", D1, W1,
			[]int64{instant(2020, 1, 4, 0, 0), instant(2020, 1, 5, 0, 0), instant(2020, 1, 6, 0, 0), instant(2020, 1, 12, 0, 0)},
			[]int64{instant(2019, 12, 30, 0, 0), instant(2020, 1, 6, 0, 0)},
			false,
		},
		{
			"days into months of any length", D1, Mo1,
			[]int64{instant(2020, 1, 31, 0, 0), instant(2020, 2, 1, 0, 0), instant(2020, 2, 29, 0, 0), instant(2020, 3, 1, 0, 0)},
			[]int64{instant(2020, 1, 1, 0, 0), instant(2020, 2, 1, 0, 0), instant(2020, 3, 1, 0, 0)},
			true,
		},
		{"minutes into quarters before 1970", M1, M15, []int64{-900, -60, 0, 840}, []int64{-900, 0}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := &Bars{Symbol: "X", Timeframe: c.from}
			for i, x := range c.times {
				f := float64(i)
				b.Append(Bar{x, f + 1, f + 2, f/2 + 1, f + 1.5, 10, 0})
			}
			all, err := ResampleAll(b, c.to)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, all.Time); diff != "" {
				t.Error(diff)
			}
			complete, err := Resample(b, c.to)
			if err != nil {
				t.Fatal(err)
			}
			want := all
			if c.cut {
				want = all.Slice(0, all.Len()-1)
			}
			if diff := cmp.Diff(want, complete); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResample_RefusesWhatDoesNotFit(t *testing.T) {
	half := &Bars{Symbol: "X", Timeframe: H1}
	half.Append(Bar{instant(2020, 1, 2, 23, 30), 1, 1, 1, 1, 1, 0})
	cases := []struct {
		name string
		b    *Bars
		to   Timeframe
		want string
	}{
		{"shorter", Synth(SynthConfig{Bars: 5}), M15, "bars of 15m cannot be made of whole bars of 1h"},
		{"weeks into months", &Bars{Timeframe: W1}, Mo1, "bars of 1M cannot be made"},
		{"months into anything", &Bars{Timeframe: Mo1}, W1, "bars of 1w cannot be made"},
		{"no timeframe", &Bars{Timeframe: H1}, "3h", `timeframe "3h" is not one of`},
		{"bars across midnight", half, D1, "the 1h bar at 2020-01-02 23:30:00 reaches across 2020-01-03 00:00:00, where a 1d bar ends"},
	}
	for _, c := range cases {
		if _, err := Resample(c.b, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: err = %v, want %q", c.name, err, c.want)
		}
	}
	same := Synth(SynthConfig{Bars: 5})
	if got, err := Resample(same, H1); err != nil || got != same {
		t.Errorf("to its own timeframe: %v", err)
	}
}

// higherFrames are what hourly bars can become.
var higherFrames = []Timeframe{H2, H4, D1, W1, Mo1}

// TestResample_KeepsWhatMatters compares with the definition, bar by bar.
func TestResample_KeepsWhatMatters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := Synth(SynthConfig{
			Bars: rapid.IntRange(1, 900).Draw(rt, "bars"), Seed: rapid.Uint64().Draw(rt, "seed"),
			Start: time.Unix(rapid.Int64Range(0, 1e9).Draw(rt, "start"), 0),
		})
		tf := rapid.SampledFrom(higherFrames).Draw(rt, "timeframe")
		r, err := ResampleAll(b, tf)
		if err != nil {
			rt.Fatal(err)
		}
		used := 0
		for i := range r.Len() {
			x := r.At(i)
			want := b.At(used)
			want.Time = tf.Start(want.Time)
			for used++; used < b.Len() && b.Time[used] < tf.End(x.Time); used++ {
				y := b.At(used)
				want.High, want.Low, want.Close, want.Volume = max(want.High, y.High), min(want.Low, y.Low), y.Close, want.Volume+y.Volume
			}
			if x != want {
				rt.Fatalf("bar %d is %v, want %v", i, x, want)
			}
		}
		if used != b.Len() {
			rt.Fatalf("%d of %d bars used", used, b.Len())
		}
	})
}
