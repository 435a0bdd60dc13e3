package quality

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

const (
	sharedBars     = 30    // fewer shared bars say nothing of a market
	otherReturns   = 0.5   // correlation of returns below which a file is of another market
	shiftedReturns = 0.9   // correlation at another hour at which it is the same market, shifted
	constantRatio  = 0.002 // spread of the ratio of prices that are those before times a factor
	revisedMost    = 0.05  // share of shared bars that differ, from which on a revision is severe
	revisedMoves   = 1.0   // and how many usual moves the median difference then is
	sameRatio      = 0.01  // a factor closer to 1 is rounding
	mostShift      = 14    // hours that a clock may be off
)

// Compare says what is doubtful in bars that come after others under one name:
// another market, another unit or clock, and bars that were revised. Both are
// compared where they share times. Bars from sealed on, unless it is zero, are
// those of the holdout: what is said of them is counted and not told.
func Compare(old, now *market.Bars, sealed time.Time) []ContentFinding {
	if !sealed.IsZero() {
		if found := Compare(before(old, sealed), before(now, sealed), time.Time{}); len(found) > 0 {
			return found
		}
	}
	s := share(old, now, 0)
	if len(s.at) == 0 {
		return nil
	}
	n := notes{sealed: sealedFrom(sealed)}
	first, last := old.Time[s.at[0][0]], old.Time[s.at[len(s.at)-1][0]]
	if len(s.at) >= sharedBars && s.otherSeries(&n, old, now, first, last) {
		return n.findings()
	}
	s.revisions(&n, old, now)
	return n.findings()
}

// before is the bars that open before t.
func before(b *market.Bars, t time.Time) *market.Bars {
	n, _ := slices.BinarySearch(b.Time, t.Unix())
	return b.Slice(0, n)
}

// shared is the places of the bars of two series that open at one time.
type shared struct{ at [][2]int }

// share pairs the bars of old with those of now that open by seconds later.
func share(old, now *market.Bars, by int64) shared {
	var s shared
	k := 0
	for i, t := range old.Time {
		for k < now.Len() && now.Time[k] < t+by {
			k++
		}
		if k < now.Len() && now.Time[k] == t+by {
			s.at = append(s.at, [2]int{i, k})
		}
	}
	return s
}

// otherSeries tells whether the new bars are not those of the old market, unit or clock.
func (s shared) otherSeries(n *notes, old, now *market.Bars, first, last int64) bool {
	ratio, spread := s.ratio(old, now)
	factor := num.Exp(ratio)
	if math.Abs(ratio) > sameRatio && spread < constantRatio {
		text := fmt.Sprintf("the new prices are %.6g times the ones of the same time before", factor)
		if k := powerOfTen(factor); k != 0 {
			n.add(UnitJump, Severe, first, last, 1, "%s: they are in another unit", text)
		} else {
			n.add(AdjustedJoined, Severe, first, last, 1, "%s: one of them is adjusted", text)
		}
		n.all[0].Count = len(s.at)
		return true
	}
	r := s.correlation(old, now)
	if r >= otherReturns {
		return false
	}
	for h := int64(1); h <= mostShift; h++ {
		for _, by := range []int64{h * 3600, -h * 3600} {
			moved := share(old, now, by)
			if len(moved.at) >= sharedBars && moved.correlation(old, now) >= shiftedReturns {
				n.add(ShiftedClock, Severe, first, last, 1,
					"the new bars are those before with times shifted by %+d h: they were read in another zone", by/3600)
				n.all[0].Count = len(s.at)
				return true
			}
		}
	}
	n.add(OtherMarket, Severe, first, last, 1,
		"the returns of %d bars that both have correlate %.2f: the new prices are of another market", len(s.at), r)
	n.all[0].Count = len(s.at)
	return true
}

// ratio is the median of the logarithm of new prices to old, and half the
// distance between its quartiles.
func (s shared) ratio(old, now *market.Bars) (middle, spread float64) {
	x := make([]float64, 0, volumeSamples)
	stride := max(1, len(s.at)/2000)
	for i := 0; i < len(s.at); i += stride {
		p := s.at[i]
		x = append(x, num.Log(now.Close[p[1]]/old.Close[p[0]]))
	}
	low, high := nth(x, len(x)/4), nth(x, len(x)*3/4)
	return median(x), (high - low) / 2
}

// correlation is that of the returns from one shared bar to the next.
func (s shared) correlation(old, now *market.Bars) float64 {
	var xx, yy, xy float64
	for i := 1; i < len(s.at); i++ {
		p, q := s.at[i-1], s.at[i]
		x := old.Close[q[0]]/old.Close[p[0]] - 1
		y := now.Close[q[1]]/now.Close[p[1]] - 1
		xx, yy, xy = xx+float64(x*x), yy+float64(y*y), xy+float64(x*y)
	}
	if xx == 0 || yy == 0 {
		return 1 // what does not move is like everything
	}
	return xy / math.Sqrt(float64(xx*yy))
}

// revisions notes shared bars whose prices differ.
func (s shared) revisions(n *notes, old, now *market.Bars) {
	count, largest, worst := 0, 0.0, int64(0)
	first, last := int64(0), int64(0)
	var moves, differences []float64
	stride := max(1, len(s.at)/2000)
	for i, p := range s.at {
		d := max(size(old.Close[p[0]], now.Close[p[1]]), size(old.Open[p[0]], now.Open[p[1]]),
			size(old.High[p[0]], now.High[p[1]]), size(old.Low[p[0]], now.Low[p[1]]))
		t := old.Time[p[0]]
		if i > 0 && i%stride == 0 {
			moves = append(moves, size(old.Close[p[0]], old.Close[s.at[i-1][0]]))
		}
		if d < 1e-9 {
			continue
		}
		if count == 0 {
			first = t
		}
		count, last = count+1, t
		differences = append(differences, d)
		if d > largest {
			largest, worst = d, t
		}
	}
	if count == 0 {
		return
	}
	typical := median(differences)
	severity := Warning
	switch {
	case float64(count) >= revisedMost*float64(len(s.at)) && len(s.at) >= sharedBars && typical >= revisedMoves*median(moves):
		severity = Severe
	case count == 1 && last == old.Time[old.Len()-1]:
		severity = Info // the last bar was not complete
	}
	n.add(Revised, severity, first, last, 1,
		"%d of %d bars differ from those before, by %.3g %% in the median and %.3g %% at most, at %s",
		count, len(s.at), 100*typical, 100*largest, when(worst))
	n.all[0].Count = count
}
