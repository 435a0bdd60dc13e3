package neural

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The vectors of testdata/torch were made with PyTorch 1.13 on one CPU thread.
// They were chosen so that float32 rounding in another order moves them by less
// than tolerance.
const tolerance = 1e-6

type goldenTensor struct {
	Shape []int     `json:"shape"`
	Data  []float32 `json:"data"`
}

type goldenTensors map[string]goldenTensor

func (g goldenTensors) params() []Param {
	var ps []Param
	for name, t := range g {
		ps = append(ps, Param{Name: name, Shape: t.Shape, Data: t.Data})
	}
	return ps
}

func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "torch", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	worst, at := 0.0, 0
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Errorf("%s: value %d is %g, want %g: off by %.3g, allowed %g", what, at, got[at], want[at], worst, tolerance)
	}
}

func nearParams(t *testing.T, what string, got []Param, want goldenTensors) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d tensors, want %d", what, len(got), len(want))
	}
	for _, p := range got {
		near(t, what+" "+p.Name, p.Data, want[p.Name].Data)
	}
}

// eachKernel runs a test on every kernel of this CPU.
func eachKernel(t *testing.T, f func(t *testing.T, k Kernel)) {
	t.Helper()
	for _, k := range Kernels() {
		t.Run(k.Name(), func(t *testing.T) { f(t, k) })
	}
}

func all(rows int) []int32 {
	r := make([]int32, rows)
	for i := range r {
		r[i] = int32(i)
	}
	return r
}

type goldenMLP struct {
	Init         goldenTensors `json:"init"`
	X            goldenTensor  `json:"x"`
	Y            []int8        `json:"y"`
	ClassWeights []float32     `json:"class_weights"`
}

func (g goldenMLP) data() *Dataset {
	return &Dataset{Rows: g.X.Shape[0], Inputs: g.X.Shape[1], Stride: g.X.Shape[1], X: g.X.Data, Class: g.Y}
}

func (g goldenMLP) trainer(t *testing.T, k Kernel, weighted bool, o OptimSpec) *Trainer {
	t.Helper()
	n, err := New(Spec{Type: MLP, Inputs: 9, Outputs: 3, Hidden: []int{64, 32}}, 1, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.SetParams(g.Init.params()); err != nil {
		t.Fatal(err)
	}
	spec := TrainSpec{Batch: 64, Optim: o}
	if weighted {
		spec.Loss.ClassWeights = g.ClassWeights
	}
	tr, err := NewTrainer(n, spec)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestMLPGradientsAreTorchs(t *testing.T) {
	var g goldenMLP
	readGolden(t, "mlp", &g)
	eachKernel(t, func(t *testing.T, k Kernel) {
		for _, loss := range []string{"ce", "wce"} {
			var want struct {
				Logits   goldenTensor  `json:"logits"`
				Loss     float64       `json:"loss"`
				Grad     goldenTensors `json:"grad"`
				GradNorm float64       `json:"grad_norm"`
			}
			readGolden(t, "mlp_grad_"+loss, &want)
			tr := g.trainer(t, k, loss == "wce", OptimSpec{})
			d, out := g.data(), make([]float32, 64*3)
			if _, err := tr.Evaluate(d, all(64), out); err != nil {
				t.Fatal(err)
			}
			near(t, loss+" logits", out, want.Logits.Data)
			s, err := tr.Step(d, all(64))
			if err != nil {
				t.Fatal(err)
			}
			near(t, loss+" loss and norm", []float32{float32(s.Loss), float32(s.Norm)}, []float32{float32(want.Loss), float32(want.GradNorm)})
			nearParams(t, loss+" gradient", gradients(tr), want.Grad)
		}
	})
}

func TestAdamIsTorchs(t *testing.T) {
	var g goldenMLP
	readGolden(t, "mlp", &g)
	eachKernel(t, func(t *testing.T, k Kernel) {
		for _, loss := range []string{"ce", "wce"} {
			for _, decay := range []float64{0, 0.0001} {
				for _, clip := range []float64{0, 1} {
					name := fmt.Sprintf("mlp_adam_%s_wd%g_noclip", loss, decay)
					if clip > 0 {
						name = fmt.Sprintf("mlp_adam_%s_wd%g_clip1", loss, decay)
					}
					adamRun(t, name, g, g.trainer(t, k, loss == "wce", OptimSpec{WeightDecay: decay, Clip: clip}))
				}
			}
		}
	})
}

func adamRun(t *testing.T, name string, g goldenMLP, tr *Trainer) {
	t.Helper()
	var want struct {
		Losses    []float32                `json:"losses"`
		FinalLoss float32                  `json:"final_loss"`
		GradNorms []float32                `json:"grad_norms"`
		Weights   map[string]goldenTensors `json:"weights"`
	}
	readGolden(t, name, &want)
	d := g.data()
	var losses, norms []float32
	for step := 1; step <= 100; step++ {
		s, err := tr.Step(d, all(64))
		if err != nil {
			t.Fatal(err)
		}
		losses, norms = append(losses, float32(s.Loss)), append(norms, float32(s.Norm))
		if w, ok := want.Weights[fmt.Sprint(step)]; ok {
			nearParams(t, fmt.Sprintf("%s: weights after %d steps", name, step), tr.Net().Params(), w)
		}
	}
	if len(want.Weights) != 3 {
		t.Fatalf("%s holds weights after %d steps, want 3", name, len(want.Weights))
	}
	s, err := tr.Evaluate(d, all(64), nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, name+" losses", append(losses, float32(s.Loss)), append(slices.Clone(want.Losses), want.FinalLoss))
	near(t, name+" norms", norms, want.GradNorms)
}
