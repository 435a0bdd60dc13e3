package neural

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWhatIsSaidOfARowDoesNotDependOnItsCompany(t *testing.T) {
	eachKernel(t, func(t *testing.T, k Kernel) {
		rapid.Check(t, func(rt *rapid.T) {
			s := drawSpec(rt, 20)
			n, err := New(s, 3, k)
			if err != nil {
				rt.Fatal(err)
			}
			d := randomData(s.Window()+30, s.Inputs, s.Outputs, 9)
			rows := all(d.Rows)[s.Window()-1:]
			together := make([]float32, len(rows)*s.Outputs)
			if err := NewPredictor(n, rapid.IntRange(0, 40).Draw(rt, "at once")).Predict(d, rows, together); err != nil {
				rt.Fatal(err)
			}
			i := rapid.IntRange(0, len(rows)-1).Draw(rt, "row")
			alone := make([]float32, s.Outputs)
			if err := NewPredictor(n, 1).Predict(d, rows[i:i+1], alone); err != nil {
				rt.Fatal(err)
			}
			for j, x := range alone {
				if math.Float32bits(x) != math.Float32bits(together[i*s.Outputs+j]) {
					rt.Fatalf("output %d of row %d is %x alone and %x in company", j, rows[i], x, together[i*s.Outputs+j])
				}
			}
		})
	})
}

func TestPredictSaysWhatEvaluateSays(t *testing.T) {
	s := Spec{Type: MLP, Inputs: 6, Outputs: 3, Hidden: []int{12}, Dropout: 0.3}
	d := randomData(50, 6, 3, 1)
	tr := newTrainer(t, s, TrainSpec{}, Kernel{})
	epoch(t, tr, d, 32)
	want, got := make([]float32, 150), make([]float32, 150)
	if _, err := tr.Evaluate(d, all(50), want); err != nil {
		t.Fatal(err)
	}
	if err := NewPredictor(tr.Net(), 0).Predict(d, all(50), got); err != nil {
		t.Fatal(err)
	}
	sameBits(t, "outputs", got, want)
}

func TestPredictNamesTheInputThatIsNotANumber(t *testing.T) {
	s := Spec{Type: GRU, Inputs: 6, Outputs: 3, HiddenSize: 8, Layers: 1, SequenceLength: 3}
	n, err := New(s, 3, Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	d := randomData(50, 6, 3, 1)
	d.Row(20)[4] = float32(math.NaN())
	out := make([]float32, 48*3)
	err = NewPredictor(n, 0).Predict(d, all(50)[2:], out)
	if err == nil || !strings.Contains(err.Error(), "NaN of row 20: input 4 of row 20 is NaN") {
		t.Errorf("error %v, want one that names row 20 and input 4", err)
	}
}

func TestSoftmax(t *testing.T) {
	x := []float32{1, 2, 3, -100, 0, 100}
	Softmax(x, 3)
	near(t, "probabilities", x, []float32{0.09003057, 0.24472847, 0.66524096, 0, 0, 1})
}
