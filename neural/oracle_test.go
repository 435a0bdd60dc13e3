package neural

import (
	"fmt"
	"math"
	"testing"
)

// The oracle is a network and its loss in float64, written from the definitions
// with plain loops: no padding, no batches, no derivative. Differences of its loss
// are what the gradients are held against.
type oracle struct {
	spec Spec
	loss LossSpec
	w    map[string][]float64
}

func newOracle(n *Net, l LossSpec) oracle {
	o := oracle{spec: n.spec, loss: l.withDefaults(), w: map[string][]float64{}}
	for _, p := range n.Params() {
		for _, x := range p.Data {
			o.w[p.Name] = append(o.w[p.Name], float64(x))
		}
	}
	return o
}

// linear is x W^T + b.
func (o oracle) linear(weight, bias string, x []float64) []float64 {
	w, b := o.w[weight], o.w[bias]
	y := make([]float64, len(b))
	for i := range y {
		y[i] = b[i]
		for j, v := range x {
			y[i] += w[i*len(x)+j] * v
		}
	}
	return y
}

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (o oracle) activate(x float64) float64 {
	switch o.spec.Activation {
	case Tanh:
		return math.Tanh(x)
	case Sigmoid:
		return sigmoid64(x)
	case LeakyReLU:
		return max(x, leakySlope*x)
	}
	return max(x, 0)
}

// outputs of the window of rows that ends with one.
func (o oracle) outputs(d *Dataset, row int) []float64 {
	var seq [][]float64
	for r := row - o.spec.Window() + 1; r <= row; r++ {
		var x []float64
		for _, v := range d.Row(r) {
			x = append(x, float64(v))
		}
		seq = append(seq, x)
	}
	if o.spec.Recurrent() {
		for l := range o.spec.Layers {
			seq = o.layer(l, seq)
		}
		return o.linear("fc.weight", "fc.bias", seq[len(seq)-1])
	}
	x := seq[0]
	for i := range o.spec.Hidden {
		x = o.linear(fmt.Sprintf("%d.weight", 2*i), fmt.Sprintf("%d.bias", 2*i), x)
		for j := range x {
			x[j] = o.activate(x[j])
		}
	}
	last := 2 * len(o.spec.Hidden)
	return o.linear(fmt.Sprintf("%d.weight", last), fmt.Sprintf("%d.bias", last), x)
}

func (o oracle) layer(l int, seq [][]float64) (out [][]float64) {
	n := o.spec.HiddenSize
	h, c := make([]float64, n), make([]float64, n)
	for _, x := range seq {
		zi := o.linear(fmt.Sprintf("rnn.weight_ih_l%d", l), fmt.Sprintf("rnn.bias_ih_l%d", l), x)
		zh := o.linear(fmt.Sprintf("rnn.weight_hh_l%d", l), fmt.Sprintf("rnn.bias_hh_l%d", l), h)
		next := make([]float64, n)
		for j := range n {
			sum := func(gate int) float64 { return zi[gate*n+j] + zh[gate*n+j] }
			if o.spec.Type == LSTM {
				c[j] = sigmoid64(sum(1))*c[j] + sigmoid64(sum(0))*math.Tanh(sum(2))
				next[j] = sigmoid64(sum(3)) * math.Tanh(c[j])
				continue
			}
			z := sigmoid64(sum(1))
			fresh := math.Tanh(zi[2*n+j] + sigmoid64(sum(0))*zh[2*n+j])
			next[j] = (1-z)*fresh + z*h[j]
		}
		h = next
		out = append(out, h)
	}
	return out
}

// of is the mean loss of rows.
func (o oracle) of(d *Dataset, rows []int32) float64 {
	sum, total := 0.0, 0.0
	for _, r := range rows {
		y, w := o.outputs(d, int(r)), float64(d.Weight[r])
		switch o.loss.Name {
		case MSE:
			e := y[0] - float64(d.Target[r])
			sum, total = sum+w*e*e, total+w
		case Huber:
			l, e := 0.0, math.Abs(y[0]-float64(d.Target[r]))
			if l = e * e / 2; e > o.loss.Delta {
				l = o.loss.Delta * (e - o.loss.Delta/2)
			}
			sum, total = sum+w*l, total+w
		default:
			cw, norm := 1.0, 0.0
			if len(o.loss.ClassWeights) > 0 {
				cw = float64(o.loss.ClassWeights[d.Class[r]])
			}
			for _, v := range y {
				norm += math.Exp(v)
			}
			p := math.Exp(y[d.Class[r]]) / norm
			if o.loss.Name == Focal {
				sum, total = sum-w*cw*math.Pow(1-p, o.loss.Gamma)*math.Log(p), total+w
			} else {
				sum, total = sum-w*cw*math.Log(p), total+w*cw
			}
		}
	}
	return sum / total
}

func TestGradientsAreThoseOfDifferences(t *testing.T) {
	mlp := func(act string) Spec {
		return Spec{Type: MLP, Inputs: 5, Outputs: 3, Hidden: []int{7, 4}, Activation: act}
	}
	one := Spec{Type: MLP, Inputs: 5, Outputs: 1, Hidden: []int{7}, Activation: Tanh}
	lstm := Spec{Type: LSTM, Inputs: 5, Outputs: 3, HiddenSize: 6, Layers: 2, SequenceLength: 4}
	gru := lstm
	gru.Type = GRU
	weights := []float32{0.5, 1, 2}
	for name, c := range map[string]struct {
		spec Spec
		loss LossSpec
	}{
		"relu":                   {mlp(ReLU), LossSpec{}},
		"leaky relu":             {mlp(LeakyReLU), LossSpec{}},
		"tanh":                   {mlp(Tanh), LossSpec{}},
		"sigmoid":                {mlp(Sigmoid), LossSpec{}},
		"no hidden layer":        {Spec{Type: MLP, Inputs: 5, Outputs: 3}, LossSpec{}},
		"lstm":                   {lstm, LossSpec{}},
		"gru":                    {gru, LossSpec{}},
		"class weights":          {mlp(Tanh), LossSpec{ClassWeights: weights}},
		"focal":                  {mlp(Tanh), LossSpec{Name: Focal, Gamma: 2}},
		"focal, class weights":   {mlp(Tanh), LossSpec{Name: Focal, Gamma: 1.5, ClassWeights: weights}},
		"focal with a low gamma": {mlp(Tanh), LossSpec{Name: Focal, Gamma: 0.5}},
		"mse":                    {one, LossSpec{Name: MSE}},
		"huber":                  {one, LossSpec{Name: Huber, Delta: 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			eachKernel(t, func(t *testing.T, k Kernel) { gradientsMatch(t, c.spec, c.loss, k) })
		})
	}
}

func gradientsMatch(t *testing.T, s Spec, l LossSpec, k Kernel) {
	t.Helper()
	d := randomData(14, s.Inputs, max(s.Outputs, 2), 11)
	rows := []int32{4, 13, 7, 9, 5} // not a multiple of 4
	tr := newTrainer(t, s, TrainSpec{Loss: l}, k)
	o := newOracle(tr.net, l)
	score, err := tr.Step(d, rows)
	if err != nil {
		t.Fatal(err)
	}
	if want := o.of(d, rows); !(math.Abs(score.Loss-want) <= 1e-6) {
		t.Errorf("loss %g, want %g", score.Loss, want)
	}
	for _, p := range gradients(tr) {
		w := o.w[p.Name]
		for i, got := range p.Data {
			const h = 1e-5
			at := w[i]
			w[i] = at + h
			up := o.of(d, rows)
			w[i] = at - h
			down := o.of(d, rows)
			w[i] = at
			if want := (up - down) / (2 * h); !(math.Abs(float64(got)-want) <= 2e-6) {
				t.Errorf("gradient of %s[%d] is %g, want %g", p.Name, i, got, want)
			}
		}
	}
}
