package label_test

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
)

// golden reads the reference system's bars and labels, by column; an empty
// cell is NaN.
func golden(t *testing.T) (*market.Bars, map[string][]float64) {
	t.Helper()
	f, err := os.Open("testdata/labels.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string][]float64{}
	for i, name := range rows[0] {
		for _, row := range rows[1:] {
			v := math.NaN()
			if row[i] != "" {
				if v, err = strconv.ParseFloat(row[i], 64); err != nil {
					t.Fatal(err)
				}
			}
			columns[name] = append(columns[name], v)
		}
	}
	b := &market.Bars{Symbol: "GOLDEN", Timeframe: market.H1}
	for i := range columns["close"] {
		b.Append(market.Bar{
			Time: int64(i) * 3600, Open: columns["open"][i], High: columns["high"][i],
			Low: columns["low"][i], Close: columns["close"][i],
		})
	}
	return b, columns
}

func TestZigzag_EqualsTheReferenceUpToTheLastKnownPivot(t *testing.T) {
	b, want := golden(t)
	s := labels(t, label.Zigzag{Threshold: 0.01}, b)
	for i, row := range s.Row {
		if got := float64(s.Class[i]); got != want["zigzag_0.01"][row] {
			t.Errorf("bar %d: class %v, want %v", row, got, want["zigzag_0.01"][row])
		}
	}
	// The reference labels the unfinished last leg too; we leave it out.
	if s.Len() < 2900 || int(s.Row[s.Len()-1]) != s.Len()-1 {
		t.Errorf("%d samples up to bar %d, want every bar up to the last known pivot", s.Len(), s.Row[s.Len()-1])
	}
}

func TestForwardReturn_EqualsTheReference(t *testing.T) {
	b, want := golden(t)
	s := labels(t, label.ForwardReturn{Horizon: 20}, b)
	if s.Len() != b.Len()-20 {
		t.Fatalf("%d samples, want %d", s.Len(), b.Len()-20)
	}
	for i, row := range s.Row {
		if got := s.Value[i]; got != want["forward_return_20"][row] {
			t.Errorf("bar %d: %v, want %v", row, got, want["forward_return_20"][row])
		}
	}
}

func TestTripleBarrier_EqualsTheReferenceWithHoldingTimesAndWeights(t *testing.T) {
	b, want := golden(t)
	s := labels(t, label.TripleBarrier{Target: 2, Stop: 1.5, Holding: 50, Span: 50, Weights: true}, b)
	if s.Len() != b.Len()-50 {
		t.Fatalf("%d samples, want %d", s.Len(), b.Len()-50)
	}
	heaviest := 0.0
	for _, w := range want["triple_barrier_weight"] {
		if w > heaviest {
			heaviest = w
		}
	}
	for i, row := range s.Row {
		if got := 1 - float64(s.Class[i]); got != want["triple_barrier"][row] {
			t.Errorf("bar %d: outcome %v, want %v", row, got, want["triple_barrier"][row])
		}
		if got := float64(s.End[i] - row); got != want["triple_barrier_hold"][row] {
			t.Errorf("bar %d: held %v, want %v", row, got, want["triple_barrier_hold"][row])
		}
		// Weights are kept as float32, which is what they are used as.
		if got := want["triple_barrier_weight"][row]; math.Abs(float64(s.Weight[i])-got) > 1e-7*heaviest {
			t.Errorf("bar %d: weight %v, want %v", row, s.Weight[i], got)
		}
	}
}

func labels(t testing.TB, src label.Source, b *market.Bars) *label.Set {
	t.Helper()
	s, err := src.Label(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
