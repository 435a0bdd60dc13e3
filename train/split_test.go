package train

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// drawSamples makes samples over n bars with holes in time, some bars left out,
// with labels that look up to reach bars ahead.
func drawSamples(rt *rapid.T, n, reach int, offset int32, begin int64) labelled {
	r := num.NewRand(rapid.Uint64().Draw(rt, "seed of the samples"))
	l := labelled{set: &label.Set{}, offset: offset, time: make([]int64, n)}
	for i, at := 0, begin; i < n; i++ {
		l.time[i] = at
		at += 3600 * int64(1+r.Uint64n(3))
		if r.Uint64n(5) == 0 {
			continue
		}
		l.set.Row = append(l.set.Row, int32(i))
		l.set.End = append(l.set.End, int32(min(i+1+int(r.Uint64n(uint64(reach))), n-1)))
	}
	return l
}

// byCount divides the samples of one symbol by their number, as the fractions
// say it, and names the bars of those that are not purged.
func byCount(l labelled, f strategy.Fractions, embargo float64) (parts [3][]int32) {
	total, gap, from := l.set.Len(), int32(embargo*float64(len(l.time))), 0
	for p, share := range []float64{f.Train, f.Train + f.Validation, 1} {
		to := int(share*float64(total) + 0.5)
		if p == 1 && f.Test == 0 {
			to = total
		}
		for i := from; i < to; i++ {
			if to == total || l.set.End[i] < l.set.Row[to]-gap {
				parts[p] = append(parts[p], l.set.Row[i])
			}
		}
		from = to
	}
	return parts
}

func TestDivide_CountsTheSamplesOfOneSymbol(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawSamples(rt, rapid.IntRange(60, 120).Draw(rt, "bars"), 5, 0, 1000)
		f := rapid.SampledFrom([]strategy.Fractions{
			{Train: 0.7, Validation: 0.15, Test: 0.15}, {Train: 0.8, Validation: 0.2}, {Train: 0.6, Test: 0.4}, {Train: 1},
		}).Draw(rt, "fractions")
		embargo := rapid.SampledFrom([]float64{0, 0.01, 0.03, 0.4}).Draw(rt, "embargo")
		s, err := instants([]labelled{l}, f)
		if err != nil {
			rt.Fatal(err)
		}
		parts := divide([]labelled{l}, s, embargo, nil)
		for p, want := range byCount(l, f, embargo) {
			if !slices.Equal(parts[p].rows, want) {
				rt.Errorf("%s rows are %v, want %v", partNames[p], parts[p].rows, want)
			}
		}
	})
}

func TestDivide_KeepsValidationAndTestAsLargeAsAsked(t *testing.T) {
	l := labelled{set: &label.Set{}}
	for i := range int32(1005) {
		l.time = append(l.time, 3600*int64(i))
		if end := i + 5; end < 1005 {
			l.set.Row, l.set.End = append(l.set.Row, i), append(l.set.End, end)
		}
	}
	for f, want := range map[strategy.Fractions][3]int{
		{Train: 0.7, Validation: 0.15, Test: 0.15}: {695, 145, 150}, // 5 purged at each border
		{Train: 0.8, Validation: 0.2}:              {795, 200, 0},
	} {
		s, err := instants([]labelled{l}, f)
		if err != nil {
			t.Fatal(err)
		}
		for p, part := range divide([]labelled{l}, s, 0, nil) {
			if len(part.rows) != want[p] {
				t.Errorf("%v: %d %s samples, want %d", f, len(part.rows), partNames[p], want[p])
			}
		}
	}
}

// TestDivide_KeepsTimeAcrossSymbols demands of several symbols that every label
// of a part is known before the next part begins, whatever symbol either is of.
func TestDivide_KeepsTimeAcrossSymbols(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var symbols []labelled
		offset := int32(0)
		for range rapid.IntRange(2, 4).Draw(rt, "symbols") {
			n := rapid.IntRange(20, 80).Draw(rt, "bars")
			l := drawSamples(rt, n, 8, offset, int64(1000+3600*rapid.IntRange(0, 60).Draw(rt, "begin")))
			symbols, offset = append(symbols, l), offset+int32(n)
		}
		s, err := instants(symbols, strategy.Fractions{Train: 0.5, Validation: 0.25, Test: 0.25})
		if err != nil {
			rt.Skip("no samples")
		}
		parts := divide(symbols, s, 0.02, nil)
		kept := 0
		for p, border := range []int64{s.Validation, s.Test} {
			for _, row := range parts[p].rows {
				l := symbols[0]
				for _, x := range symbols {
					if row >= x.offset {
						l = x
					}
				}
				i, _ := slices.BinarySearch(l.set.Row, row-l.offset)
				if end := l.time[l.set.End[i]]; end >= border {
					rt.Errorf("the label of a %s sample ends at %d, and the next part begins at %d", partNames[p], end, border)
				}
			}
		}
		total := 0
		for _, p := range parts {
			kept += len(p.rows) + p.purged
		}
		for _, l := range symbols {
			total += l.set.Len()
		}
		if kept != total {
			rt.Errorf("%d samples are in a part or purged, of %d", kept, total)
		}
	})
}

func TestInstants_RefusesNoSamples(t *testing.T) {
	_, err := instants([]labelled{{set: &label.Set{}}}, strategy.Fractions{Train: 1})
	if err == nil || !strings.Contains(err.Error(), "no bar has both features and a label") {
		t.Errorf("err = %v", err)
	}
}
