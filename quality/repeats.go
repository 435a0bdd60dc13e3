package quality

import (
	"math"
	"math/bits"

	"github.com/ktrdr/ktrdr/num"
)

const (
	// repeatBits is how much the moves and ranges of a repeated day must say. A
	// day of two or three ticks repeats itself by chance.
	repeatBits   = 45.0
	repeatSevere = 60.0
	repeatBars   = 4 // bars of a day that is compared
	repeatLong   = 5 // bars in a row that are compared where a bar is a day or longer
)

// mix adds the prices of a bar to a hash.
func mix(h uint64, o, hi, lo, c float64) uint64 {
	x := math.Float64bits(o)*0x9e3779b97f4a7c15 + math.Float64bits(hi)*0xc2b2ae3d27d4eb4f +
		math.Float64bits(lo)*0x165667b19e3779f9 + math.Float64bits(c)*0xd6e8feb86659fd93
	return (bits.RotateLeft64(h, 23) ^ x ^ x>>29) * 0xff51afd7ed558ccd
}

// repeats finds days whose bars are those of another day, and where a bar is a
// day or longer, five bars in a row that are those of an earlier time.
func (j *judge) repeats() {
	if !j.intraday() {
		j.repeatedBars()
		return
	}
	seen := map[uint64]int{}
	for k, d := range j.eachDay() {
		if d.to-d.from < repeatBars {
			continue
		}
		if was, ok := seen[d.hash]; ok && j.equal(j.days[was].from, d.from, d.to-d.from) {
			j.repeat(j.days[was].from, d.from, d.to-d.from)
			continue
		}
		seen[d.hash] = k
	}
}

func (j *judge) repeatedBars() {
	b := j.bars
	seen := map[uint64]int{}
	for i := 0; i+repeatLong <= b.Len(); i++ {
		var h uint64
		for k := i; k < i+repeatLong; k++ {
			h = mix(h, b.Open[k], b.High[k], b.Low[k], b.Close[k])
		}
		if was, ok := seen[h]; ok && was+repeatLong <= i && j.equal(was, i, repeatLong) {
			n := repeatLong
			for i+n < b.Len() && was+n < i && j.equal(was+n, i+n, 1) {
				n++
			}
			j.repeat(was, i, n)
			i += n - 1
			continue
		}
		if _, ok := seen[h]; !ok {
			seen[h] = i
		}
	}
}

// equal tells whether n bars from x on have the prices of those from y on.
func (j *judge) equal(x, y, n int) bool {
	b := j.bars
	if x+n > b.Len() || y+n > b.Len() {
		return false
	}
	for k := range n {
		if b.Open[x+k] != b.Open[y+k] || b.High[x+k] != b.High[y+k] || b.Low[x+k] != b.Low[y+k] || b.Close[x+k] != b.Close[y+k] {
			return false
		}
	}
	return true
}

// repeat notes that n bars from y on repeat those from x on, if that is no chance.
func (j *judge) repeat(x, y, n int) {
	b := j.bars
	tick := j.scale.tick
	if tick == 0 {
		return
	}
	said := 0.0
	for k := y; k < y+n; k++ {
		said += num.Log(1+(b.High[k]-b.Low[k])/tick) / math.Ln2
		if k > y {
			said += num.Log(1+math.Abs(b.Close[k]-b.Close[k-1])/tick) / math.Ln2
		}
	}
	if said < repeatBits {
		return
	}
	severity := Warning
	if said >= repeatSevere {
		severity = Severe
	}
	j.notes.add(RepeatedDay, severity, b.Time[y], b.Time[y+n-1], said, "the %d bars from %s to %s are those from %s to %s",
		n, when(b.Time[y]), when(b.Time[y+n-1]), when(b.Time[x]), when(b.Time[x+n-1]))
}
