package quality

import (
	"math"

	"github.com/ktrdr/ktrdr/num"
)

const (
	volumeStep    = 1.3 // power of ten that volumes change by: 20 times
	volumeLike    = 0.7 // power of ten that volumes of one unit differ by
	volumeSamples = 256 // bars that decide the volume of a part
	volumeDaily   = 10  // daily and longer bars of a part
)

// volumes finds steps of the volume from one part of the series to the next,
// each a week or ten longer bars, by the medians of their volumes.
func (j *judge) volumes() {
	starts, level := j.volumeParts()
	at := func(k int) float64 { return level[min(max(k, 0), len(level)-1)] }
	for k := 1; k < len(level); k++ {
		step := level[k] - level[k-1]
		if math.Abs(step) < volumeStep || math.Abs(at(k+1)-level[k]) > volumeLike || math.Abs(at(k-2)-level[k-1]) > volumeLike {
			continue
		}
		t := j.bars.Time[starts[k]]
		times := num.Exp(math.Abs(step) * math.Ln10)
		way := "rise to"
		if step < 0 {
			way = "fall to 1 in"
		}
		j.notes.add(VolumeUnit, Warning, t, t, math.Abs(step),
			"volumes %s %.3g of what they were, from about %s, and stay there: the unit may be another", way, times, when(t))
	}
}

// volumeParts cuts the series into parts and returns where those with volumes
// begin and the power of ten of their median.
func (j *judge) volumeParts() (starts []int, level []float64) {
	b := j.bars
	part := func(from, to int) {
		var x []float64
		for i := from; i < to; i += max(1, (to-from)/volumeSamples) {
			if v := b.Volume[i]; v > 0 {
				x = append(x, v)
			}
		}
		if 2*len(x) >= min(to-from, volumeSamples) && len(x) > 2 {
			starts, level = append(starts, from), append(level, num.Log(median(x))/math.Ln10)
		}
	}
	from := 0
	if !j.intraday() {
		for ; from < b.Len(); from += volumeDaily {
			part(from, min(b.Len(), from+volumeDaily))
		}
		return starts, level
	}
	for k, d := range j.eachDay() {
		if k > 0 && ofWeek(d.date*daySeconds) < ofWeek(j.days[k-1].date*daySeconds) {
			part(from, d.from)
			from = d.from
		}
	}
	part(from, b.Len())
	return starts, level
}
