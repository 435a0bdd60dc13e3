package train

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/num"
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

func TestDivide_IsLabelSplitForOneSymbol(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(60, 120).Draw(rt, "bars")
		l := drawSamples(rt, n, 5, 0, 1000)
		f := rapid.SampledFrom([]label.Fractions{
			{Train: 0.7, Validation: 0.15, Test: 0.15}, {Train: 0.8, Validation: 0.2}, {Train: 0.6, Test: 0.4}, {Train: 1},
		}).Draw(rt, "fractions")
		embargo := rapid.SampledFrom([]float64{0, 0.01, 0.03}).Draw(rt, "embargo")
		train, val, test, err := label.Split(l.set, n, f, embargo)
		if err != nil {
			rt.Skip("too few samples for a split")
		}
		s, err := instants([]labelled{l}, f)
		if err != nil {
			rt.Fatal(err)
		}
		parts := divide([]labelled{l}, s, embargo, nil)
		for p, want := range [][]int32{train, val, test} {
			var rows []int32
			for _, i := range want {
				rows = append(rows, l.set.Row[i])
			}
			if !slices.Equal(parts[p].rows, rows) {
				rt.Errorf("%s rows are %v, label.Split says %v", partNames[p], parts[p].rows, rows)
			}
		}
	})
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
		s, err := instants(symbols, label.Fractions{Train: 0.5, Validation: 0.25, Test: 0.25})
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
	_, err := instants([]labelled{{set: &label.Set{}}}, label.Fractions{Train: 1})
	if err == nil || !strings.Contains(err.Error(), "no bar has both features and a label") {
		t.Errorf("err = %v", err)
	}
}
