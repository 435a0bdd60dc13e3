package market

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAlign_SeesNothingThatHasNotClosed checks the definition for each bar, and
// that what comes later changes nothing.
func TestAlign_SeesNothingThatHasNotClosed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base := Synth(SynthConfig{Bars: rapid.IntRange(1, 900).Draw(rt, "bars"), Seed: rapid.Uint64().Draw(rt, "seed")})
		tf := rapid.SampledFrom(higherFrames).Draw(rt, "timeframe")
		higher, err := ResampleAll(base, tf)
		if err != nil {
			rt.Fatal(err)
		}
		at := Align(base, higher)
		for i, j := range at {
			end := base.Timeframe.End(base.Time[i])
			if j >= 0 && tf.End(higher.Time[j]) > end {
				rt.Fatalf("bar %d, which closes at %s, sees bar %d, which closes at %s", i, clock(end), j, clock(tf.End(higher.Time[j])))
			}
			if n := int(j) + 1; n < higher.Len() && tf.End(higher.Time[n]) <= end { // made of the base, none is too old
				rt.Fatalf("bar %d does not see bar %d, which has closed", i, n)
			}
		}
		cut := rapid.IntRange(0, base.Len()).Draw(rt, "cut")
		known, err := ResampleAll(base.Slice(0, cut), tf)
		if err != nil {
			rt.Fatal(err)
		}
		early := Align(base.Slice(0, cut), known)
		if diff := cmp.Diff(at[:cut], early); diff != "" {
			rt.Fatal(diff)
		}
		for i, j := range early {
			if j >= 0 && known.At(int(j)) != higher.At(int(j)) {
				rt.Fatalf("bar %d saw a bar %d that was still changing", i, j)
			}
		}
	})
}

func TestAlign_HasNothingBeforeTheFirstClose(t *testing.T) {
	base := Synth(SynthConfig{Bars: 30})
	daily, err := ResampleAll(base, D1)
	if err != nil {
		t.Fatal(err)
	}
	at := Align(base, daily)
	for i, want := range map[int]int32{0: -1, 22: -1, 23: 0, 24: 0, 29: 0} {
		if at[i] != want {
			t.Errorf("bar %d sees %d, want %d", i, at[i], want)
		}
	}
	if got := Align(base, &Bars{Timeframe: D1}); got[29] != -1 {
		t.Error("a bar of an empty series was seen")
	}
}

func TestAlign_DoesNotSeeWhatIsOutOfDate(t *testing.T) {
	base := Synth(SynthConfig{Bars: 400}) // from a Monday on, over weekends
	higher, err := Resample(base, H4)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Align(base, higher)[3:] {
		if k < 0 {
			t.Fatal("a bar made of the base is out of date: weekends count")
		}
	}
	at := Align(base, higher.Slice(0, 10))
	closed := 0
	for i, k := range at {
		if base.Timeframe.End(base.Time[i]) > H4.End(higher.Time[9]) {
			closed++
		}
		if closed > 0 && (k == 9) != (closed <= 8) {
			t.Fatalf("%d bars after the last 4h bar it is seen as %d, want it seen for 8", closed, k)
		}
	}
}

func TestAlign_DoesNotSeeAcrossAHole(t *testing.T) {
	all := Synth(SynthConfig{Bars: 2000})
	for name, c := range map[string]struct {
		days int
		seen bool
	}{
		"a long holiday": {10, true},
		"a lost month":   {30, false},
	} {
		t.Run(name, func(t *testing.T) {
			base := *all.Slice(0, all.Len())
			base.Time = slices.Clone(base.Time)
			for i := 1000; i < len(base.Time); i++ {
				base.Time[i] += int64(c.days) * day
			}
			higher, err := Resample(&base, D1)
			if err != nil {
				t.Fatal(err)
			}
			if got := Align(&base, higher)[1000] >= 0; got != c.seen {
				t.Errorf("the first bar behind it sees the day before: %v, want %v", got, c.seen)
			}
		})
	}
}

func TestMaxAge_IsTwoLengthsInBaseBars(t *testing.T) {
	for _, c := range []struct {
		base, higher Timeframe
		want         int
	}{{H1, H4, 8}, {H1, D1, 48}, {M15, H1, 8}, {D1, W1, 14}, {D1, Mo1, 62}} {
		if got := MaxAge(c.base, c.higher); got != c.want {
			t.Errorf("%s beside %s: %d, want %d", c.higher, c.base, got, c.want)
		}
	}
}

func TestCover_MeasuresWhatIsMissingAndWhatIsApart(t *testing.T) {
	base := Synth(SynthConfig{Bars: 1000})
	higher, err := Resample(base, H4)
	if err != nil {
		t.Fatal(err)
	}
	if c := Cover(base, higher, 0, 0); c.Rows != 1000 || c.Bare != 0 || c.Apart != 0 {
		t.Errorf("bars made of the base: %+v, want all covered and nothing apart", c)
	}
	if c := Cover(base, higher.Slice(0, higher.Len()/2), 0, 0); c.Share() < 0.45 || c.Share() > 0.55 {
		t.Errorf("half of them: %v bare, want about half", c.Share())
	}
	if c := Cover(base, higher.Slice(0, higher.Len()/2), 0, base.Time[400]); c.Bare != 0 || c.Rows != 400 {
		t.Errorf("half of them, within their time: %+v", c)
	}
	if c := Cover(base, higher.Slice(higher.Len()/2, higher.Len()), base.Time[600], 0); c.Bare != 0 || c.Rows != 400 {
		t.Errorf("the other half, within its time: %+v", c)
	}
	other := Synth(SynthConfig{Timeframe: H4, Bars: 300, Start: time.Unix(base.Time[0], 0)})
	for i := range other.Close {
		other.Close[i] *= 100
	}
	if c := Cover(base, other, 0, 0); c.Apart < 0.9 {
		t.Errorf("another market: %+v, want the closes far apart", c)
	}
}
