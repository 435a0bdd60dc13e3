package factory_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// moves are the log-returns of a series, from its second bar on.
func moves(b *market.Bars) []float64 {
	var r []float64
	for i := 1; i < b.Len(); i++ {
		r = append(r, math.Log(b.Close[i]/b.Close[i-1]))
	}
	return r
}

func shape(b *market.Bars, i int) [4]float64 {
	was := b.Close[i-1]
	return [4]float64{math.Log(b.Open[i] / was), math.Log(b.High[i] / was), math.Log(b.Low[i] / was), math.Log(b.Close[i] / was)}
}

func near(a, b [4]float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-12 {
			return false
		}
	}
	return true
}

func copied(t *testing.T, null research.Null, seed uint64, series ...*market.Bars) []*market.Bars {
	t.Helper()
	out, err := factory.Copy(series, null, seed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCopy_FlipsMirrorEachBarAtItsPlace(t *testing.T) {
	b := synth("EURUSD", 3000, 1, 0.5)
	c := copied(t, research.Flips, 7, b)[0]
	flipped := 0
	for i := 1; i < b.Len(); i++ {
		was, is := shape(b, i), shape(c, i)
		mirror := [4]float64{-was[0], -was[2], -was[1], -was[3]}
		switch {
		case near(is, was):
		case near(is, mirror):
			flipped++
		default:
			t.Fatalf("bar %d: %v is neither %v nor its mirror", i, is, was)
		}
		if c.Time[i] != b.Time[i] || c.Volume[i] != b.Volume[i] || c.High[i] < max(c.Open[i], c.Close[i]) || c.Low[i] > min(c.Open[i],
			c.Close[i]) {
			t.Fatalf("bar %d is %+v, was %+v", i, c.At(i), b.At(i))
		}
	}
	if flipped < 1350 || flipped > 1650 {
		t.Errorf("%d of 2999 bars are mirrored, want about half", flipped)
	}
}

// Every week of a copy is a week of the original with bars at the same hours, and each is there once.
func TestCopy_BlocksAreWeeksWithTheSameHours(t *testing.T) {
	b := synth("EURUSD", 6000, 1, 0)
	c := copied(t, research.Blocks, 7, b)[0]
	weeks := func(b *market.Bars) map[string][]string {
		found := map[string][]string{}
		for from := 1; from < b.Len(); {
			year, n := time.Unix(b.Time[from], 0).UTC().ISOWeek()
			hours, text := "", ""
			to := from
			for ; to < b.Len(); to++ {
				at := time.Unix(b.Time[to], 0).UTC()
				if y, w := at.ISOWeek(); y != year || w != n {
					break
				}
				hours += at.Format("Mon15 ")
				for _, x := range shape(b, to) {
					text += fmt.Sprintf("%.9f ", x)
				}
			}
			if from > 1 { // the first bar has no close before it
				found[hours] = append(found[hours], text)
			}
			from = to
		}
		for _, list := range found {
			slices.Sort(list)
		}
		return found
	}
	was, is := weeks(b), weeks(c)
	moved := 0
	for hours, list := range was {
		missing := 0
		for _, text := range list {
			if !slices.Contains(is[hours], text) {
				missing++
			}
		}
		if missing > 1 || len(is[hours]) != len(list) { // one may have come from the first week, which is not compared
			t.Errorf("%d of %d weeks with the same hours are not in the copy", missing, len(list))
		}
		if len(list) > 1 {
			moved += len(list)
		}
	}
	if slices.Equal(moves(b), moves(c)) || moved < 10 {
		t.Errorf("nothing moved: %d weeks could", moved)
	}
}

func TestCopy_IsAFunctionOfItsSeed(t *testing.T) {
	b := synth("EURUSD", 2000, 1, 0)
	for _, null := range research.Nulls {
		one, again, other := copied(t, null, 1, b)[0], copied(t, null, 1, b)[0], copied(t, null, 2, b)[0]
		if one.Hash() != again.Hash() || one.Hash() == other.Hash() || one.Hash() == b.Hash() {
			t.Errorf("%s: copies of seeds 1, 1 and 2 are %x, %x and %x", null, one.Hash(), again.Hash(), other.Hash())
		}
	}
}

// Two symbols that move together still do, and a longer timeframe is made of the shorter.
func TestCopy_KeepsSymbolsAndTimeframesTogether(t *testing.T) {
	b := synth("EURUSD", 4000, 1, 0)
	twin := *b
	twin.Symbol = "TWIN"
	long, err := market.Resample(b, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	for _, null := range research.Nulls {
		out := copied(t, null, 5, b, long, &twin)
		if !slices.Equal(out[0].Close, out[2].Close) {
			t.Errorf("%s: the copies of two equal symbols differ", null)
		}
		want, err := market.Resample(out[0], market.H4)
		if err != nil {
			t.Fatal(err)
		}
		if out[1].Hash() != want.Hash() {
			t.Errorf("%s: the 4-hour bars are not those of the hourly copy", null)
		}
	}
	if _, err := factory.Copy([]*market.Bars{b}, "coins", 1); err == nil {
		t.Error("a null that does not exist was accepted")
	}
}

// The planted reversal is gone after flips: what follows a stretched close says nothing.
func TestCopy_FlipsBreakAnEdge(t *testing.T) {
	b := synth("EURUSD", 20_000, 1, 1)
	after := func(b *market.Bars) float64 { // mean move after a stretched close, against it, in standard errors
		var sum, squares, n float64
		for i := market.SynthWindow; i < b.Len()-1; i++ {
			var mean, variance float64
			for _, x := range b.Close[i-market.SynthWindow+1 : i+1] {
				mean += x / market.SynthWindow
			}
			for _, x := range b.Close[i-market.SynthWindow+1 : i+1] {
				variance += (x - mean) * (x - mean) / market.SynthWindow
			}
			if far := (b.Close[i] - mean) / math.Sqrt(variance); math.Abs(far) > market.SynthStretch {
				x := -math.Copysign(1, far) * math.Log(b.Close[i+1]/b.Close[i])
				sum, squares, n = sum+x, squares+x*x, n+1
			}
		}
		return sum / math.Sqrt(squares)
	}
	if z := after(b); z < 10 {
		t.Fatalf("the edge has a z-value of %.1f: the test shows nothing", z)
	}
	for seed := range uint64(3) {
		if z := after(copied(t, research.Flips, seed, b)[0]); math.Abs(z) > 4 {
			t.Errorf("copy %d: the edge has a z-value of %.1f", seed, z)
		}
	}
}
