package quality

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/market"
)

const (
	decimalBars   = 32 // closes that are looked at, of each part
	mostDecimals  = 9  // closes with more have no fixed number
	moreDecimals  = 2  // a change by one is a broker that quotes finer
	rawDecimals   = 4  // shares are quoted with no more
	partsOnASide  = 2  // parts on each side of a change that have their number
	decimalsParts = 4096
)

// precision finds bars from which prices have another number of decimals: what
// was multiplied by a factor has many, what an exchange quotes has few.
func (j *judge) precision() {
	j.joint = map[int]bool{}
	b := j.bars
	length := max(decimalBars, (b.Len()+decimalsParts-1)/decimalsParts)
	parts := b.Len() / length
	digits := make([]int, parts)
	for at := range b.Places(0, parts*length, length) {
		digits[at/length] = decimalsOf(b.Close[at:at+length], max(1, length/decimalBars))
	}
	for k := 1; k < parts; k++ {
		if !changed(digits, k) {
			continue
		}
		lo := min(digits[k-1], digits[k])
		i := joint(b, max(1, (k-1)*length), min(b.Len(), (k+1)*length), lo, digits[k] > digits[k-1])
		j.joint[i] = true
		at := b.Time[i]
		j.notes.add(Precision, Info, at, at, float64(digits[k]),
			"prices have %s decimals until %s and %s from there", named(digits[k-1]), when(at), named(digits[k]))
	}
}

// changed tells whether the number of decimals steps at part k, and stays on both sides.
func changed(digits []int, k int) bool {
	was, is := digits[k-1], digits[k]
	if min(was, is) > rawDecimals || max(was, is)-min(was, is) < moreDecimals {
		return false
	}
	far := func(x, y int) bool { return max(x, y)-min(x, y) >= moreDecimals }
	for d := 1; d < partsOnASide; d++ {
		if k-1-d >= 0 && far(digits[k-1-d], was) || k+d < len(digits) && far(digits[k+d], is) {
			return false
		}
	}
	return true
}

// joint is the bar between from and to that divides closes of at most lo
// decimals best from the others.
func joint(b *market.Bars, from, to, lo int, more bool) int {
	right := 0 // how many closes stand on their side, if the joint is at from
	for i := from; i < to; i++ {
		if (decimals(b.Close[i]) > lo) == more {
			right++
		}
	}
	best, at := right, from
	for i := from; i < to-1; i++ {
		if (decimals(b.Close[i]) > lo) == more {
			right--
		} else {
			right++
		}
		if right > best {
			best, at = right, i+1
		}
	}
	return at
}

// decimalsOf is the number of decimals that nine closes in ten get along with.
func decimalsOf(closes []float64, stride int) int {
	var all []int
	for i := 0; i < len(closes); i += stride {
		all = append(all, decimals(closes[i]))
	}
	slices.Sort(all)
	return all[len(all)*9/10]
}

func decimals(x float64) int {
	unit := 1.0
	for d := range mostDecimals {
		if y := x * unit; math.Abs(y-math.Round(y)) < 1e-6+float64(y*1e-12) {
			return d
		}
		unit *= 10
	}
	return mostDecimals
}

func named(digits int) string {
	if digits == mostDecimals {
		return "many"
	}
	return fmt.Sprint(digits)
}
