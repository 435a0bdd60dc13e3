package quality_test

import (
	"math"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

func TestJudge_DoesNotReportWhatIsKnown(t *testing.T) {
	split := daily.make(3)
	times(0.25, 1800, all)(split)
	saturdays := daily.make(3)
	weekends(9, false)(saturdays)
	for _, c := range []struct {
		name string
		bars *market.Bars
		rule quality.ContentRule
		opt  quality.Options
	}{
		{"a split", split, quality.SplitMissed, quality.Options{
			Splits: []quality.Split{{At: time.Unix(split.Time[1800], 0), Ratio: 4}},
		}},
		{"trading on weekends", saturdays, quality.WeekendBars, quality.Options{
			Open: []quality.OpenSpan{{From: time.Unix(0, 0), Until: time.Unix(saturdays.Time[saturdays.Len()-1]+1, 0)}},
		}},
		{"a market without splits", split, quality.SplitMissed, quality.Options{Class: quality.Currency}},
		{"a market that never closes", saturdays, quality.WeekendBars, quality.Options{Class: quality.Crypto}},
	} {
		if !found(quality.Judge(c.bars, quality.Options{}), c.rule, quality.Warning) {
			t.Errorf("%s: not found where it is not known", c.name)
		}
		if found(quality.Judge(c.bars, c.opt), c.rule, quality.Warning) {
			t.Errorf("%s: found where it is known", c.name)
		}
	}
}

// A coin may have the name of a share. Its bars on weekends say that it is a coin.
func TestJudge_TakesNoMarketOfWeekendsForAShare(t *testing.T) {
	b := coin.make(3)
	times(0.25, 9000, all)(b)
	got := quality.Judge(b, quality.Options{Named: quality.Stock})
	if found(got, quality.SplitMissed, quality.Info) || !found(got, quality.LevelJump, quality.Warning) {
		t.Errorf("got %v, want a jump of the level", got)
	}
}

func TestJudge_FindsBarsAtTimesAtWhichTheVenueIsClosed(t *testing.T) {
	b := share.make(3)
	for limit, want := range map[int]quality.Severity{0: "", 20: quality.Warning, 600: quality.Severe} {
		closed := map[int64]bool{}
		for _, at := range b.Time[:limit] {
			closed[at] = true
		}
		var got quality.Severity
		for _, f := range quality.Judge(b, quality.Options{Trades: func(t time.Time) bool { return !closed[t.Unix()] }}) {
			if f.Rule == quality.ClosedHours {
				got = f.Severity
			}
		}
		if got != want {
			t.Errorf("%d bars of %d at closed hours: %q, want %q", limit, b.Len(), got, want)
		}
	}
}

func TestJudge_TakesVolumesThatAreMissing(t *testing.T) {
	b := daily.make(4)
	for i := range b.Volume {
		if i%3 > 0 {
			b.Volume[i] = math.NaN()
		}
	}
	if got := quality.Judge(b, quality.Options{}); len(got) > 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestJudge_TakesSeriesOfAnyLength(t *testing.T) {
	for _, w := range clean {
		long := w.make(9)
		for n := range 60 {
			if got := quality.Worst(quality.Judge(long.Slice(0, n), quality.Options{})); got == quality.Severe {
				t.Errorf("%s, %d bars: a severe finding", w.tf, n)
			}
			quality.Compare(long.Slice(0, n), long.Slice(n/2, n), time.Time{})
		}
	}
}

func TestRules_AreDescribed(t *testing.T) {
	for _, d := range quality.Rules {
		if d.Meaning == "" || d.Do == "" || !quality.Known(d.Rule) {
			t.Errorf("%s is not described", d.Rule)
		}
	}
	if quality.Known("typo") {
		t.Error("typo is known as a rule")
	}
}

func TestCompare_SaysNothingOfBarsThatAreTheSame(t *testing.T) {
	old := fx.make(5)
	if got := quality.Compare(old.Slice(0, 5000), old, time.Time{}); len(got) > 0 {
		t.Errorf("got %v, want nothing", got)
	}
}

// The bar at which a spike ends opens far from the last close. That is the other half of the spike.
func TestJudge_TakesTheEndOfASpikeForNoJump(t *testing.T) {
	for name, c := range map[string]struct {
		in    world
		times float64
		bars  int
	}{
		"a currency":        {fx, 1.05, 1},
		"two hours":         {fx, 1.2, 2},
		"daily shares":      {daily, 0.5, 1},
		"half-hourly share": {share, 0.5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []int{1500, 3000, 3999} {
				if at+10 > c.in.bars {
					continue
				}
				b := c.in.make(1)
				times(c.times, at, at+c.bars)(b)
				for _, f := range quality.Judge(b, quality.Options{}) {
					if f.Rule != quality.Spike {
						t.Errorf("bar %d: %s %s: %s", at, f.Severity, f.Rule, f.Text)
					}
				}
			}
		})
	}
}
