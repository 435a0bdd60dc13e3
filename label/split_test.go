package label_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/label"
)

var usual = label.Fractions{Train: 0.7, Validation: 0.15, Test: 0.15}

func TestSplit_NoLabelReachesTheNextPartWhateverTheSource(t *testing.T) {
	for name, src := range every {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				const bars = 800
				s := labels(t, src, walk(bars, rapid.Uint64().Draw(rt, "seed")))
				embargo := rapid.SampledFrom([]float64{0, 0.01, 0.05}).Draw(rt, "embargo")
				train, val, test, err := label.Split(s, bars, usual, embargo)
				if err != nil {
					rt.Skip("a part is empty")
				}
				gap := int32(embargo * bars)
				for _, border := range []struct{ before, after []int32 }{{train, val}, {val, test}} {
					begin := s.Row[border.after[0]]
					for _, i := range border.before {
						if s.End[i] >= begin-gap {
							rt.Fatalf("bar %d: its label ends at %d, the next part begins at %d", s.Row[i], s.End[i], begin)
						}
					}
				}
				if last := test[len(test)-1]; int(last) != s.Len()-1 {
					rt.Fatalf("the last test sample is %d of %d", last, s.Len())
				}
			})
		})
	}
}

func TestSplit_KeepsValidationAndTestAsLargeAsAsked(t *testing.T) {
	s := labels(t, label.ForwardReturn{Horizon: 5}, walk(1005, 1))
	train, val, test, err := label.Split(s, 1005, usual, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(train) != 695 || len(val) != 145 || len(test) != 150 {
		t.Errorf("parts of %d, %d, %d samples, want 695, 145, 150: 5 purged at each border", len(train), len(val), len(test))
	}
	_, val, test, err = label.Split(s, 1005, label.Fractions{Train: 0.8, Validation: 0.2}, 0)
	if err != nil || len(val) != 200 || len(test) != 0 {
		t.Errorf("without a test part: %d and %d samples, err %v", len(val), len(test), err)
	}
}

func TestSplit_RefusesWhatLeavesAPartEmpty(t *testing.T) {
	s := labels(t, label.ForwardReturn{Horizon: 90}, walk(120, 1))
	for name, c := range map[string]struct {
		f       label.Fractions
		embargo float64
		says    string
	}{
		"labels longer than the parts":  {usual, 0.01, "no training samples are left"},
		"fractions that are not whole":  {label.Fractions{Train: 0.7, Validation: 0.1, Test: 0.1}, 0, "the sum 1"},
		"no training part":              {label.Fractions{Test: 1}, 0, "train must be above 0"},
		"an embargo of everything":      {usual, 1, "embargo is 1"},
		"an embargo longer than a part": {usual, 0.5, "embargo of 60 bars"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := label.Split(s, 120, c.f, c.embargo)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestSet_SelectKeepsEveryColumnAligned(t *testing.T) {
	s := labels(t, label.TripleBarrier{Target: 2, Stop: 1.5, Holding: 20, Span: 20, Weights: true}, walk(300, 2))
	odd := s.Select(func(i int) bool { return s.Row[i]%2 == 1 })
	k := 0
	for i, row := range s.Row {
		if row%2 == 0 {
			continue
		}
		if odd.Row[k] != row || odd.Class[k] != s.Class[i] || odd.End[k] != s.End[i] || odd.Weight[k] != s.Weight[i] {
			t.Fatalf("sample %d is not bar %d", k, row)
		}
		k++
	}
	if odd.Len() != k || len(odd.Weight) != k || odd.Classes != 3 {
		t.Errorf("selected %d samples with %d weights, want %d", odd.Len(), len(odd.Weight), k)
	}
	counts := odd.Counts()
	if counts[0]+counts[1]+counts[2] != k {
		t.Errorf("counts %v do not sum to %d", counts, k)
	}
}
